package mongotest_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/mongo"
)

// BenchmarkCommit writes the whole life of runs, in batches as the engine makes them: the insert of a run with the move
// of its scheduled task, then three more revisions. One operation is one run, that is five writes. Server and client
// share the machine, and this server keeps nothing on a disk: it measures the adapter and the protocol.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			server := startServer(b)
			store := closing(b, openStore(b, server.URI(), mongo.Config{}))
			uids := make([]string, size)
			for i := range uids {
				uids[i] = strings.ToLower(rand.Text()[:16])
			}
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; done += size {
				slot := done/size + 1
				at := faultNoon.Add(time.Duration(slot) * time.Second)
				batches := make([]engine.Batch, 4)
				for i := range min(size, b.N-done) {
					for step, write := range life(uids[i], at) {
						batches[step].Runs = append(batches[step].Runs, write)
					}
					batches[0].Tasks = append(batches[0].Tasks, engine.TaskWrite{Task: engine.ScheduledTask{
						ID: uids[i], Shard: engine.ShardOf(uids[i]), Slot: at, RunAt: at, Revision: int64(slot), Namespace: "default",
					}})
				}
				for i := range batches {
					if conflicts, err := store.Commit(b.Context(), &batches[i]); err != nil || len(conflicts) > 0 {
						b.Fatal(conflicts, err)
					}
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

// BenchmarkCommitShards is BenchmarkCommit on the journal, with all that is projected in the end: the runs of a batch are
// those of one shard, in four commits.
func BenchmarkCommitShards(b *testing.B) {
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
				decisions := make([]engine.Decision, 4)
				for i := range min(size, b.N-done) {
					for step, write := range life(uids[i], at) {
						decisions[step].Runs = append(decisions[step].Runs, write.Run)
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
