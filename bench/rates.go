package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/mongo"
)

// rates measures what a run costs at some rates: as many jobs as runs a second, each due every second, for so long. The CPU
// is that of all roles, which are in this process; a server of MongoDB is not. What is written is counted on MongoDB only.
func (b *bench) rates(ctx context.Context, d time.Duration) error {
	var text strings.Builder
	for _, rate := range []int{10, 100, 1000} {
		line, err := b.rate(ctx, rate, d)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "\n    %4d runs/s: %s", rate, line)
	}
	b.print(fmt.Sprintf("the engine path by rates, each for %v, all roles in one process, on %s", d, b.storeName()),
		strings.TrimPrefix(text.String(), "\n    "), "at 1000 runs/s on MongoDB: 2.5 documents a run")
	return nil
}

func (b *bench) rate(ctx context.Context, rate int, d time.Duration) (line string, err error) {
	counter, traffic := &finishCounter{want: -1}, &traffic{}
	err = b.inProcess(ctx, roles{
		slots: 2 * rate, observer: counter, sent: traffic.count,
		register: func(ctx context.Context, store engineStore) error {
			return createJobs(ctx, store, rate, func(i int) spec.Job {
				return spec.Job{
					Name: "each-" + strconv.Itoa(i), Binary: "sha256:" + digestOfNothing, Schedule: spec.Strings{"* * * * * *"},
					Overlap: spec.OverlapAllow,
				}
			})
		},
		measure: func(ctx context.Context, _ engineStore, failed <-chan error) error {
			if err := untilBusy(ctx, counter, 5*rate, failed); err != nil {
				return err
			}
			before, began, runs, sent := usage(), time.Now(), counter.count(), traffic.sum()
			if err := sleepUntil(ctx, began.Add(d)); err != nil {
				return err
			}
			took, cpu, n := time.Since(began), usage()-before, counter.count()-runs
			line = fmt.Sprintf("%.0f runs/s, CPU %.0f µs a run", float64(n)/took.Seconds(), micros(cpu, n))
			if b.mongodb != "" {
				line += ", " + traffic.sum().since(sent, n)
			}
			return nil
		},
	})
	return line, err
}

// untilBusy waits until so many runs have ended.
func untilBusy(ctx context.Context, counter *finishCounter, runs int, failed <-chan error) error {
	for ticker := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case <-ticker.C:
			if counter.count() >= runs {
				ticker.Stop()
				return nil
			}
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// traffic counts what is written to MongoDB.
type traffic struct {
	mu  sync.Mutex
	now written
}

// written is what commands that insert or replace documents have written.
type written struct {
	journal, documents int // documents: in other collections than the journal
	bytes              int // of these commands
	commands           int // of all kinds
}

func (t *traffic) count(c mongo.Command) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.commands++
	if c.Documents == 0 {
		return
	}
	t.now.bytes += c.Bytes
	if c.Collection == "journal" {
		t.now.journal += c.Documents
	} else {
		t.now.documents += c.Documents
	}
}

func (t *traffic) sum() written {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// since reports what was written for each of n runs since an earlier sum.
func (w written) since(before written, n int) string {
	each := func(now, then int) float64 { return float64(now-then) / float64(max(n, 1)) }
	journal, documents := each(w.journal, before.journal), each(w.documents, before.documents)
	return fmt.Sprintf("%.2f documents a run (%.2f of them in the journal), %.0f bytes, %.2f commands",
		journal+documents, journal, each(w.bytes, before.bytes), each(w.commands, before.commands))
}
