package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
)

const (
	// fullDisk is below what free space, in bytes, a disk counts as full: before the parts that stand on it fail one by one,
	// each in its own way. It counts so until leastFree is free.
	fullDisk = 16 << 20
	// diskEvery is how often the disk is looked at.
	diskEvery = time.Second
	// fullAtLeast is how long a disk counts as full after a part could not write, whatever is free then.
	fullAtLeast = 10 * time.Second
)

// errDiskFull is the one condition: what the log, /readyz, the API, the overview and the doctor name.
var errDiskFull = errors.New("the server's disk is full")

// disk knows whether the disk of the data folder is full. While it is, the embedded parts cannot be relied on: the engine
// is suspended as if it were away, so that slots are judged as in any other outage of it. Its methods may be called by
// any goroutine.
type disk struct {
	dir  string
	free func(dir string) (int64, error)
	log  *slog.Logger

	mu      sync.Mutex
	left    int64         // bytes that were free when it was looked at last
	isFull  bool          //
	until   time.Time     // it counts as full until then at least
	stuck   bool          // a part cannot write until the server restarts
	changed chan struct{} // closed at the next change of isFull
}

func newDisk(dir string, log *slog.Logger) *disk {
	return &disk{dir: dir, free: freeSpace, log: log, changed: make(chan struct{})}
}

// full reports that the disk is full, and what to do; nil if it is not.
func (d *disk) full() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.isFull {
		return nil
	}
	return fmt.Errorf("%w (%s free in %s): nothing starts until %s are free", errDiskFull, bytesOf(d.left), d.dir, bytesOf(leastFree))
}

// refused reports that a part could not write for want of space; for good if it has to restart before it can.
func (d *disk) refused(what string, forGood bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stuck = d.stuck || forGood
	d.until = time.Now().Add(fullAtLeast)
	d.left, _ = d.free(d.dir) // 0 if that is not known either
	d.set(true, what)
}

// look asks how much is free.
func (d *disk) look() {
	left, err := d.free(d.dir)
	if err != nil {
		return // it is asked again in a moment
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = left
	switch {
	case left < fullDisk:
		d.set(true, "")
	case left >= leastFree && !d.stuck && !time.Now().Before(d.until):
		d.set(false, "")
	}
}

func (d *disk) set(full bool, why string) {
	if d.isFull == full {
		return
	}
	d.isFull = full
	close(d.changed)
	d.changed = make(chan struct{})
	if full {
		d.log.Error("the disk is full: nothing starts until there is space", "folder", d.dir, "free", d.left, "needed", leastFree, "refused", why)
	} else {
		d.log.Info("there is space on the disk again", "folder", d.dir, "free", d.left)
	}
}

// state reports whether the disk is full, and a channel that is closed when that changes.
func (d *disk) state() (bool, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.isFull, d.changed
}

// watch looks at the disk until ctx ends.
func (d *disk) watch(ctx context.Context) {
	ticker := time.NewTicker(diskEvery)
	defer ticker.Stop()
	for {
		d.look()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// hold waits until there is space, and calls run. It ends run when the disk is full, with errDiskFull.
func (d *disk) hold(ctx context.Context, run func(context.Context) error) error {
	for {
		full, changed := d.state()
		if !full {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	watch.Go(func() {
		for {
			full, changed := d.state()
			if full {
				cancel(errDiskFull)
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	})
	err := run(ctx)
	if errors.Is(context.Cause(ctx), errDiskFull) {
		return errDiskFull
	}
	return err
}

// tellingStore notifies the disk of commits that failed for want of space.
type tellingStore struct {
	shard.Store
	disk *disk
}

// Commit passes commits on.
func (s tellingStore) Commit(ctx context.Context, commits []engine.ShardCommit) []error {
	answers := s.Store.Commit(ctx, commits)
	if slices.ContainsFunc(answers, func(err error) bool { return errors.Is(err, engine.ErrFull) }) {
		s.disk.refused("the database", false)
	}
	return answers
}
