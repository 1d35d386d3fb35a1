package mongotest_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

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
			// What waits in the sockets' buffers would be under way although nobody waits for it any more.
			_ = from.(*net.TCPConn).SetReadBuffer(8 << 10)
			context.AfterFunc(ctx, func() { _, _ = from.Close(), to.Close() })
			work.Go(func() { carry(from, to, perSecond) })
			work.Go(func() { carry(to, from, 0) })
		}
	})
	return fmt.Sprintf("mongodb://%s/?directConnection=true", listener.Addr())
}

// manyRuns is a batch of new runs, each with its scheduled task.
func manyRuns(n int) *engine.Batch {
	batch := &engine.Batch{}
	for i := range n {
		uid := fmt.Sprintf("job%05d", i)
		batch.Runs = append(batch.Runs, life(uid, faultNoon)[0])
		batch.Tasks = append(batch.Tasks, engine.TaskWrite{Task: engine.ScheduledTask{
			ID: uid, Shard: engine.ShardOf(uid), Slot: faultNoon, RunAt: faultNoon, Generation: 1, Revision: 1, Namespace: "default", Job: uid,
		}})
	}
	return batch
}

// A command of all its runs takes longer than a command may, and the whole batch many times that. It is written
// nevertheless, by smaller commands and more tries, none of which lasts much longer than a command may.
func TestABatchIsWrittenOverASlowLine(t *testing.T) {
	t.Parallel() // what takes time is the line
	server := startServer(t)
	direct := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
	const runs = 400
	slow := closing(t, openStore(t, slowLine(t, server, 300<<10), mongo.Config{PrimaryOnly: true, OperationTimeout: 500 * time.Millisecond}))
	began := time.Now()
	batch := manyRuns(runs)
	conflicts, err := slow.Commit(t.Context(), batch)
	tries := 1
	for ; err != nil && tries < 20; tries++ {
		conflicts, err = slow.Commit(t.Context(), batch)
	}
	if err != nil || len(conflicts) > 0 {
		t.Fatalf("after %s: conflicts %v, %v", time.Since(began), conflicts, err)
	}
	t.Logf("%d runs took %s and %d tries", runs, time.Since(began), tries)
	all := make([]int, engine.Shards)
	for i := range all {
		all[i] = i
	}
	active, err := direct.ActiveRuns(t.Context(), all, "", 2*runs)
	if err != nil || len(active) != runs {
		t.Errorf("%d of %d runs are there, %v", len(active), runs, err)
	}
	due, err := direct.DueTasks(t.Context(), all, time.Time{}, faultNoon)
	if err != nil || len(due) != runs {
		t.Errorf("%d of %d scheduled tasks are there, %v", len(due), runs, err)
	}
}

// What a commit has done before it fails is not sent again by the next try.
func TestWhatACommitHasDoneIsNotSentAgain(t *testing.T) {
	var sent atomic.Int64 // commands that write runs
	var failing atomic.Bool
	var server *mongotest.Server
	server, err := mongotest.Start(context.WithoutCancel(t.Context()), mongotest.Config{Logger: logger(t), Observe: func(_ string, command []byte) {
		first, err := bson.Raw(command).IndexErr(0)
		if err != nil {
			return
		}
		collection, _ := first.Value().StringValueOK()
		switch name := first.Key(); {
		case collection == "runs" && name != "find" && name != "getMore":
			sent.Add(1)
		case strings.HasPrefix(collection, "scheduled_tasks") && failing.Load():
			server.Faults().DropBeforeWrite(1) // each time that the driver tries again by itself
		}
	}})
	must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	store := closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true, Attempts: 1, OperationTimeout: 500 * time.Millisecond}))
	batch := manyRuns(10)
	batch.Runs = append(batch.Runs, life("job00003", faultNoon.Add(time.Second))[0])
	already := life("job00003", faultNoon.Add(time.Second))[0]
	already.Run.Job = "another"
	if conflicts, err := store.Commit(t.Context(), &engine.Batch{Runs: []engine.RunWrite{already}}); err != nil || len(conflicts) > 0 {
		t.Fatal(conflicts, err)
	}
	before := sent.Load()
	failing.Store(true)
	if _, err := store.Commit(t.Context(), batch); err == nil {
		t.Fatal("the fault was not met")
	}
	once := sent.Load()
	if once == before {
		t.Fatal("no runs were written")
	}
	failing.Store(false)
	server.Faults().DropBeforeWrite(0)
	conflicts, err := store.Commit(t.Context(), batch)
	if err != nil || len(conflicts) != 1 || conflicts[0].ID != already.Run.ID {
		t.Errorf("the next try: conflicts %v, %v; it was refused that run %s is there", conflicts, err, already.Run.ID)
	}
	if again := sent.Load() - once; again > 0 {
		t.Errorf("runs were written by %d more commands", again)
	}
}
