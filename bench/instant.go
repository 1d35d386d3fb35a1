package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/queue/jetstream"
	"github.com/tidewheel/tidewheel/spec"
)

// registerFor is how long it may take at most to register the jobs of all instants and to plan them.
const registerFor = 20 * time.Second

// instant measures how long after their slot the tasks of n jobs that are due at one instant are delivered to an
// executor that has room for all of them: the wheel, the store's intents, the publishes and the pulls, but no start. It
// does so at several instants a second apart, each with jobs of its own, and lets the attempts of one continue once all of
// it are delivered.
func (b *bench) instant(ctx context.Context, n, instants int) error {
	slots := make([]time.Time, instants)
	due := make(map[time.Time]*delivered, instants)
	for i := range slots {
		slots[i] = time.Now().Truncate(time.Second).Add(registerFor + time.Duration(i)*time.Second).UTC()
		due[slots[i]] = &delivered{want: n, all: make(chan struct{})}
	}
	return b.inProcess(ctx, roles{
		slots:  2 * n,
		around: func(q *jetstream.Queue) executor.Queue { return &deliveryClock{q, due} },
		register: func(ctx context.Context, store engineStore) error {
			return createJobs(ctx, store, n*instants, func(i int) spec.Job {
				at := slots[i/n]
				return spec.Job{Name: "once-" + strconv.Itoa(i), Binary: "sha256:" + digestOfNothing, At: &at}
			})
		},
		measure: func(ctx context.Context, _ engineStore, failed <-chan error) error {
			if late := time.Since(slots[0]); late > 0 {
				return fmt.Errorf("the jobs of the first instant were registered %v after it: the machine is too busy", late)
			}
			var lags sample
			var cpu time.Duration // between a slot and its last delivery
			for _, slot := range slots {
				if err := sleepUntil(ctx, slot); err != nil {
					return err
				}
				before := usage()
				select {
				case <-due[slot].all:
					cpu += usage() - before
					lags = append(lags, due[slot].lags...)
				case err := <-failed:
					return err
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			b.print(fmt.Sprintf("slot to delivered, %d jobs at one instant, %d instants", n, instants),
				fmt.Sprintf("p50 %s, p90 %s, p99 %s, max %s (CPU %.0f µs a run from the slot to the last delivery)",
					milliseconds(lags.at(0.5)), milliseconds(lags.at(0.9)), milliseconds(lags.at(0.99)), milliseconds(lags.at(1)),
					micros(cpu, len(lags))),
				"p99 50.00 ms; design 25.00")
			return nil
		},
	})
}

// deliveryClock notes when a queue's tasks are delivered.
type deliveryClock struct {
	*jetstream.Queue
	due map[time.Time]*delivered // by slot
}

// delivered are the tasks of one instant.
type delivered struct {
	want int
	all  chan struct{} // closed when all are there

	mu   sync.Mutex
	lags sample
}

// Pull holds each task back until all of its instant are there: what is measured is the delivery, not how long the
// first of them keep the cores from delivering the others.
func (c *deliveryClock) Pull(ctx context.Context, config executor.PullConfig, handle func(executor.Delivery)) error {
	return c.Queue.Pull(ctx, config, func(d executor.Delivery) {
		now := time.Now()
		if task, err := d.Task(); err == nil && c.due[task.Slot.UTC()] != nil {
			instant := c.due[task.Slot.UTC()]
			instant.note(now.Sub(task.Slot))
			select {
			case <-instant.all:
			case <-ctx.Done():
			}
		}
		handle(d)
	})
}

func (d *delivered) note(lag time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lags = append(d.lags, lag); len(d.lags) == d.want {
		close(d.all)
	}
}
