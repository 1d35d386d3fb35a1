package service

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// followEvery is how often a follower makes sure that it has missed nothing and that the attempt has not ended unheard.
const followEvery = time.Second

const (
	// startEvery is how often it is asked whether an attempt has begun: before that no executor knows of it, and a watch
	// would be asked for in vain.
	startEvery = 200 * time.Millisecond
	// endEvery is how often it is asked once the program's last word has come: its verdict is a moment away.
	endEvery = 50 * time.Millisecond
	// gapEvery is how often the store is asked for what is missing before a live piece, at most.
	gapEvery = 200 * time.Millisecond
)

// LogPiece is a piece of an output that is followed.
type LogPiece struct {
	Offset int64
	Data   []byte
	Marks  []engine.OutputMark // what is known so far of this and of what came before
}

// FollowLog calls write with the output of an attempt from offset on, as it comes, without a gap, and returns when
// the attempt has ended and everything was written; attempt 0 is the latest, or the first where none has begun. write
// must not keep the piece, and may be called without data to ask whether anybody is there. FollowLog holds up nobody but
// itself while write takes its time.
func (s *Service) FollowLog(ctx context.Context, namespace, id string, attempt int, offset int64, write func(LogPiece) error) error {
	log, err := s.OpenLog(ctx, namespace, id, attempt)
	if err != nil {
		return err
	}
	follower := &follower{service: s, namespace: namespace, run: id, attempt: max(log.Attempt, 1), position: offset, write: write}
	if err := follower.catchUp(ctx, log); err != nil || log.Complete {
		return err
	}
	if err := follower.awaitStart(ctx, &log.Run); err != nil {
		return err
	}

	watch, stop := context.WithCancel(ctx)
	frames := make(chan engine.LogFrame, 256)
	watched := make(chan error, 1)
	go func() {
		watched <- s.queue.WatchLog(watch, id, follower.attempt, func(f engine.LogFrame) {
			select {
			case frames <- f:
			case <-watch.Done():
			}
		})
	}()
	ended := false
	defer func() {
		stop()
		if !ended {
			<-watched
		}
	}()

	check := time.NewTicker(followEvery)
	defer check.Stop()
	for {
		var complete bool
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-watched:
			// Without live lines the store is enough: what is stored is shown each second.
			ended = true
			if err != nil && ctx.Err() == nil {
				s.log.Warn("live output is not to be had: the stored output is followed instead", "run", id, "error", err)
			}
			watched = nil
		case frame := <-frames:
			if err = follower.take(ctx, frame); err == nil && frame.End {
				check.Reset(endEvery)
				complete, err = follower.look(ctx)
			}
		case <-check.C:
			complete, err = follower.look(ctx)
		}
		if err != nil || complete {
			return err
		}
	}
}

// follower writes the output of one attempt, each byte once.
type follower struct {
	service        *Service
	namespace, run string
	attempt        int
	position       int64 // what comes next
	write          func(LogPiece) error
	marks          []engine.OutputMark
	buffer         []byte
	looked         time.Time
}

// awaitStart returns once an executor has the attempt, or it has ended, or its run has without it.
func (f *follower) awaitStart(ctx context.Context, run *engine.Run) error {
	ticker := time.NewTicker(startEvery)
	defer ticker.Stop()
	for asked := time.Now(); !f.begun(run); {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		read, err := f.service.Run(ctx, f.namespace, f.run)
		if err != nil {
			return err
		}
		run = &read
		if time.Since(asked) >= followEvery {
			asked = time.Now()
			if err := f.piece(nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *follower) begun(run *engine.Run) bool {
	return run.Status.Terminal() || run.Attempt > f.attempt || run.Attempt == f.attempt && run.Current().Status != engine.StatusQueued
}

func (f *follower) piece(data []byte) error {
	return f.write(LogPiece{Offset: f.position, Data: data, Marks: f.marks})
}

// take writes a live piece, after what was stored before it if some was missed.
func (f *follower) take(ctx context.Context, frame engine.LogFrame) error {
	if marks := engine.DecodeOutputMarks(frame.Marks); len(marks) > 0 {
		known, _ := slices.BinarySearchFunc(f.marks, marks[0].Offset, func(m engine.OutputMark, offset int64) int { return cmp.Compare(m.Offset, offset) })
		f.marks = slices.Concat(f.marks[:known], marks) // who was given the others keeps them
	}
	if frame.Offset > f.position && time.Since(f.looked) >= gapEvery {
		if _, err := f.look(ctx); err != nil {
			return err
		}
	}
	end := frame.Offset + int64(len(frame.Data))
	if frame.Offset > f.position || end <= f.position {
		return nil // still a gap: the rest of it is not stored yet, and will be
	}
	if err := f.piece(frame.Data[f.position-frame.Offset:]); err != nil {
		return err
	}
	f.position = end
	return nil
}

// look writes what was stored meanwhile, and reports whether nothing can follow.
func (f *follower) look(ctx context.Context) (complete bool, err error) {
	f.looked = time.Now()
	log, err := f.service.OpenLog(ctx, f.namespace, f.run, f.attempt)
	var known *Error
	if errors.As(err, &known) && known.Code == "attempt_not_found" {
		// The attempt is waited for; a run may also end without one.
		run, err := f.service.Run(ctx, f.namespace, f.run)
		if err == nil {
			err = f.piece(nil)
		}
		return run.Status.Terminal(), err
	}
	if err != nil {
		return false, err
	}
	before := f.position
	if err := f.catchUp(ctx, log); err != nil {
		return false, err
	}
	if f.position == before {
		err = f.piece(nil)
	}
	return log.Complete, err
}

// catchUp writes what the log holds beyond the position.
func (f *follower) catchUp(ctx context.Context, log *Log) error {
	if n := len(log.Marks); n > 0 && (len(f.marks) == 0 || log.Marks[n-1].Offset >= f.marks[len(f.marks)-1].Offset) {
		f.marks = log.Marks // those of the store are behind what came live
	}
	if f.buffer == nil && f.position < log.Size {
		f.buffer = make([]byte, 64<<10)
	}
	for f.position < log.Size {
		n, err := log.ReadAt(ctx, f.buffer, f.position)
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		if err := f.piece(f.buffer[:n]); err != nil {
			return err
		}
		f.position += int64(n)
	}
	return nil
}
