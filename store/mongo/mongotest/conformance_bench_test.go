package mongotest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/mongo"
)

// BenchmarkCommit writes lives of runs as the engine does: the runs of a batch are those of one shard, in four commits, with
// all that is projected in the end. One operation is one run. Server and client share the machine, and this server keeps
// nothing on a disk: it measures the adapter and the protocol.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			server := startServer(b)
			store := openStore(b, server.URI(), mongo.Config{})
			owner := take(b, store, 7, "owner")
			uids := uidsOf(7, size)
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; done += size {
				slot := done/size + 1
				at := faultNoon.Add(time.Duration(slot) * time.Second)
				decisions := make([]engine.Batch, 4)
				for i := range min(size, b.N-done) {
					for step, write := range life(uids[i], at) {
						decisions[step].Runs = append(decisions[step].Runs, write)
					}
					decisions[0].Tasks = append(decisions[0].Tasks, engine.ScheduledTask{
						ID: uids[i], Shard: 7, Slot: at, RunAt: at, Revision: int64(slot), Namespace: "default",
					})
				}
				owner.commit(b, decisions...)
			}
			must(b, store.Close(b.Context()))
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

// BenchmarkExpiry removes runs of a shard that ended long ago, 5,000 at a time as a server does, and reports how fast such runs are
// committed and projected before. One operation is one run. The server keeps nothing on a disk.
func BenchmarkExpiry(b *testing.B) {
	const batch = 1000
	server := startServer(b)
	store := openStore(b, server.URI(), mongo.Config{PrimaryOnly: true})
	owner := take(b, store, 7, "owner")
	uids := uidsOf(7, batch)
	began := time.Now()
	for done := 0; done < b.N; done += batch {
		var ended engine.Batch
		for i := range min(batch, b.N-done) {
			run := life(uids[i], faultNoon.Add(time.Duration(done)*time.Second))[3]
			ended.Runs = append(ended.Runs, run)
		}
		owner.commit(b, ended)
	}
	must(b, store.CatchUp(b.Context()))
	written := float64(b.N) / time.Since(began).Seconds()
	b.ResetTimer()
	for removed := 0; removed < b.N; {
		expired, err := store.ExpireRuns(b.Context(), []int{7}, engine.Expiry{Before: faultNoon.Add(1000 * time.Hour)}, 5000)
		if must(b, err); expired.Count == 0 {
			b.Fatalf("%d of %d runs were removed", removed, b.N)
		}
		removed += expired.Count
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "removed/s")
	b.ReportMetric(written, "written/s")
	must(b, store.Close(b.Context()))
}
