package executor

import (
	"context"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/output"
)

const (
	// watchFor is how long output is sent after each request.
	watchFor = 15 * time.Second
	// frameEvery bounds how often it is sent; what a fast program prints meanwhile goes into one frame, or is left to
	// be read from where it is stored.
	frameEvery = 30 * time.Millisecond
)

// live is what an attempt's watchers get. The zero value is ready.
type live struct {
	mu       sync.Mutex
	until    time.Time // of the watch
	watching bool
	ended    bool
	again    chan struct{} // holds one: another user watches, and needs the recent output
	ctx      context.Context
	cancel   context.CancelFunc
}

// over returns a context that ends with the program.
func (l *live) over() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancel(context.Background())
		if l.ended {
			l.cancel()
		}
	}
	return l.ctx
}

func (l *live) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.cancel != nil {
		l.cancel()
	}
}

// watch sends the output for a while, from what is in memory on.
func (a *attempt) watch() {
	over := a.live.over()
	l := &a.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	if l.again == nil {
		l.again = make(chan struct{}, 1)
	}
	l.until = time.Now().Add(watchFor)
	if l.watching {
		select {
		case l.again <- struct{}{}:
		default: // asked for already
		}
		return
	}
	l.watching = true
	a.beside.Go(func() { a.show(over) })
}

// show sends the output until the watch or the program is over.
func (a *attempt) show(over context.Context) {
	l := &a.live
	out := a.output
	offset, marked := a.recent(out), int64(0) // the first frame has all marks
	for {
		data, at, end := out.From(offset)
		if len(data) > 0 || end {
			frame := engine.LogFrame{Run: a.task.Run, Attempt: a.task.Attempt, Offset: at, Data: data, End: end, Marks: out.Marks(marked)}
			if err := a.e.queue.LogFrame(frame); err != nil {
				a.e.log.Debug("a piece of live output was not sent", keyRun, a.task.Run, keyError, err)
			}
		}
		offset = at + int64(len(data))
		marked = offset
		if end {
			return
		}
		l.mu.Lock()
		left := time.Until(l.until)
		if left <= 0 {
			l.watching = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		// The end is shown in the same way as what comes before it.
		waited(over, min(frameEvery, left))
		timer := time.NewTimer(left)
		select {
		case <-l.again:
			offset, marked = a.recent(out), 0
		case <-out.Changed(offset):
		case <-timer.C:
		}
		timer.Stop()
	}
}

// recent returns the offset of what is in memory, and makes what came before it readable where it is stored.
func (a *attempt) recent(out *output.Capture) int64 {
	size := out.Size()
	if size > output.Keep {
		a.log.sync(out.Marks(0), a.e.log)
	}
	return max(0, size-output.Keep)
}
