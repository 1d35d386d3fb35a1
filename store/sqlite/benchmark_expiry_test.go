package sqlite_test

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// BenchmarkCommitBesideExpiry is how long one small commit takes while nothing else runs, and while old history is
// removed without a pause, unlike in production: so this is the most that a commit waits for it.
//
//	go test -run '^$' -bench CommitBesideExpiry -benchtime 1000x ./store/sqlite
func BenchmarkCommitBesideExpiry(b *testing.B) {
	for _, mode := range []struct {
		name   string
		expire bool
	}{{"alone", false}, {"beside", true}} {
		b.Run(mode.name, func(b *testing.B) {
			const old = 200_000
			store := open(b, filepath.Join(b.TempDir(), "bench.db"))
			defer closeStore(b, store)
			jobs := benchJobs(1000)
			for at := 0; at < old; at += 2000 {
				batch := &engine.Batch{}
				for i := at; i < at+2000; i++ {
					ended := life(jobs[i*7919%len(jobs)], benchStart.Add(time.Duration(i)*time.Second), engine.StatusSucceeded)[3]
					ended.Revision = 1
					batch.Runs = append(batch.Runs, ended)
				}
				commit(b, store, batch)
			}
			expiring, stop := context.WithCancel(b.Context())
			var removed int
			var group sync.WaitGroup
			if mode.expire {
				group.Go(func() {
					for expiring.Err() == nil {
						some, err := store.ExpireRuns(expiring, allShards, engine.Expiry{Before: benchStart.Add(1000 * time.Hour)}, 500)
						if err != nil || some.Count == 0 {
							return
						}
						removed += some.Count
					}
				})
			}
			var took []time.Duration
			now := benchStart.Add(10_000 * time.Hour)
			for i := 0; b.Loop(); i++ {
				began := time.Now()
				commit(b, store, &engine.Batch{Runs: []engine.Run{life(jobs[i%len(jobs)], now.Add(time.Duration(i)*time.Second), engine.StatusSucceeded)[0]}})
				took = append(took, time.Since(began))
			}
			stop()
			group.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(removed)/b.Elapsed().Seconds(), "removed/s")
		})
	}
}
