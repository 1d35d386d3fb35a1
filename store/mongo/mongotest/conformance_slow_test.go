package mongotest_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

// slowLine is a proxy whose connections carry that many bytes a second to the server. The answer is its connection string.
func slowLine(t *testing.T, server *mongotest.Server, perSecond int) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var work sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		work.Wait()
	})
	carry := func(from, to net.Conn, perSecond int) {
		defer to.Close()
		defer from.Close()
		piece := make([]byte, 4<<10)
		for ctx.Err() == nil {
			n, err := from.Read(piece)
			if n > 0 && perSecond > 0 {
				select {
				case <-time.After(time.Duration(n) * time.Second / time.Duration(perSecond)):
				case <-ctx.Done():
				}
			}
			if _, failed := to.Write(piece[:n]); failed != nil || err != nil {
				return
			}
		}
	}
	work.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", server.Address())
			if err != nil {
				_ = from.Close()
				continue
			}
			// What waits in the sockets' buffers would be under way although no caller waits for it any more.
			_ = from.(*net.TCPConn).SetReadBuffer(8 << 10)
			context.AfterFunc(ctx, func() { _, _ = from.Close(), to.Close() })
			work.Go(func() { carry(from, to, perSecond) })
			work.Go(func() { carry(to, from, 0) })
		}
	})
	return fmt.Sprintf("mongodb://%s/?directConnection=true", listener.Addr())
}

// A commit of all its runs takes longer than a command may. It is written nevertheless, in parts and by more tries, and so
// is what it is projected to.
func TestACommitIsWrittenOverASlowLine(t *testing.T) {
	t.Parallel() // what takes time is the line
	server := startServer(t)
	direct := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
	const runs = 400
	slow := closing(t, openStore(t, slowLine(t, server, 300<<10), mongo.Config{
		PrimaryOnly: true, OperationTimeout: 500 * time.Millisecond, EntrySize: 40 << 10,
	}))
	var batch engine.Batch
	for _, uid := range uidsOf(7, runs) {
		batch.Runs = append(batch.Runs, life(uid, faultNoon)[0])
		batch.Tasks = append(batch.Tasks, engine.ScheduledTask{
			ID: uid, Shard: 7, Slot: faultNoon, RunAt: faultNoon, Generation: 1, Revision: 1, Namespace: "default", Job: uid,
		})
	}
	commit := take(t, slow, 7, "owner").next(batch)
	began := time.Now()
	err := slow.Commit(t.Context(), []engine.ShardCommit{commit})[0]
	tries := 1
	for ; err != nil && tries < 20; tries++ {
		err = slow.Commit(t.Context(), []engine.ShardCommit{commit})[0]
	}
	must(t, err)
	for err = slow.CatchUp(t.Context()); err != nil && tries < 20; tries++ {
		err = slow.CatchUp(t.Context())
	}
	must(t, err)
	t.Logf("%d runs took %s and %d tries", runs, time.Since(began), tries)
	active, err := direct.ActiveRuns(t.Context(), []int{7}, "", 2*runs)
	if err != nil || len(active) != runs {
		t.Errorf("%d of %d runs are there, %v", len(active), runs, err)
	}
	due, err := direct.DueTasks(t.Context(), []int{7}, time.Time{}, faultNoon)
	if err != nil || len(due) != runs {
		t.Errorf("%d of %d scheduled tasks are there, %v", len(due), runs, err)
	}
}
