package mongotest_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func TestOneWinnerOfEachRace(t *testing.T) {
	_, database := start(t)
	ctx, c := t.Context(), database.Collection("c")
	_, err := c.InsertOne(ctx, d("_id", "lease", "round", 0))
	must(t, err)
	const rounds, contenders = 20, 100
	for round := range rounds {
		var winners, insertWinners atomic.Int64
		var group sync.WaitGroup
		for contender := range contenders {
			group.Go(func() {
				result, err := c.UpdateOne(ctx, d("_id", "lease", "round", round),
					d("$set", d("round", round+1, "owner", contender), "$inc", d("sum", 1)))
				if err != nil {
					t.Error(err)
					return
				}
				winners.Add(result.ModifiedCount)
				switch _, err := c.InsertOne(ctx, d("_id", fmt.Sprint("run", round), "by", contender)); {
				case err == nil:
					insertWinners.Add(1)
				case !mongo.IsDuplicateKeyError(err):
					t.Error(err)
				}
			})
		}
		group.Wait()
		if winners.Load() != 1 || insertWinners.Load() != 1 {
			t.Fatalf("round %d: %d updates and %d inserts won", round, winners.Load(), insertWinners.Load())
		}
	}
	if document := one(t, c, "lease"); document["sum"] != int32(rounds) {
		t.Errorf("document %v", document)
	}
}

func TestBulkOfTenThousandUpdates(t *testing.T) {
	_, database := start(t)
	ctx, c := t.Context(), database.Collection("c")
	const count = 10_000
	documents := make([]any, count)
	models := make([]mongo.WriteModel, count)
	for i := range count {
		documents[i] = d("_id", fmt.Sprint("r", i), "n", 0, "text", string(make([]byte, 1800))) // 18 MB: more than one message
		models[i] = mongo.NewUpdateOneModel().SetFilter(d("_id", fmt.Sprint("r", i), "n", 0)).SetUpdate(d("$inc", d("n", 1)))
	}
	_, err := c.InsertMany(ctx, documents)
	must(t, err)
	unordered := options.BulkWrite().SetOrdered(false)
	for _, want := range []int64{count, 0} {
		result, err := c.BulkWrite(ctx, models, unordered)
		must(t, err)
		if result.ModifiedCount != want {
			t.Errorf("modified %d, want %d", result.ModifiedCount, want)
		}
	}
}

func TestALostAnswerIsNotDoneTwice(t *testing.T) {
	server, database := start(t)
	ctx, c := t.Context(), database.Collection("c")
	_, err := c.InsertOne(ctx, d("_id", "a", "n", 0))
	must(t, err)
	for range 2 {
		server.Faults().DropAfterWrite(1)
		result, err := c.UpdateOne(ctx, d("_id", "a"), d("$inc", d("n", 1)))
		must(t, err)
		if result.ModifiedCount != 1 {
			t.Errorf("result %+v", result)
		}
	}
	server.Faults().DropBeforeWrite(1)
	_, err = c.UpdateOne(ctx, d("_id", "a"), d("$inc", d("n", 1)))
	must(t, err)
	server.Faults().DropAfterWrite(1)
	_, err = c.InsertMany(ctx, []any{d("_id", "b"), d("_id", "c")})
	must(t, err)
	if document := one(t, c, "a"); document["n"] != int32(3) {
		t.Errorf("document %v", document)
	}
	wantIDs(t, c, d(), "a", "b", "c")
}

func TestDoneButReportedFailed(t *testing.T) {
	server, database := start(t, func(choices *options.ClientOptions) { choices.SetRetryWrites(false) })
	ctx, c := t.Context(), database.Collection("c")
	_, err := c.InsertOne(ctx, d("_id", "a", "n", 0))
	must(t, err)
	server.Faults().DropAfterWrite(1)
	if _, err := c.UpdateOne(ctx, d("_id", "a"), d("$inc", d("n", 1))); err == nil {
		t.Error("a dropped write without retries was reported as done")
	}
	server.Faults().ErrorAfterWrite(1)
	_, err = c.UpdateOne(ctx, d("_id", "a"), d("$inc", d("n", 1)))
	wantCode(t, err, 1)
	server.Faults().DropBeforeWrite(1)
	if _, err := c.UpdateOne(ctx, d("_id", "a"), d("$inc", d("n", 100))); err == nil {
		t.Error("a lost write was reported as done")
	}
	server.Faults().DeadlockOnDuplicate(1)
	_, err = c.InsertOne(ctx, d("_id", "a"))
	wantCode(t, err, 1)
	if mongo.IsDuplicateKeyError(err) {
		t.Errorf("the deadlock looks like a duplicate: %v", err)
	}
	_, err = c.InsertOne(ctx, d("_id", "a"))
	wantCode(t, err, 11000)
	if document := one(t, c, "a"); document["n"] != int32(2) {
		t.Errorf("document %v", document)
	}
}

func TestPauseAndResume(t *testing.T) {
	server, database := start(t)
	ctx, c := t.Context(), database.Collection("c")
	_, err := c.InsertOne(ctx, d("_id", "a", "n", 0))
	must(t, err)
	server.Faults().Pause()
	hurried, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := c.FindOne(hurried, d("_id", "a")).Err(); err == nil {
		t.Error("a paused server answered")
	}
	answered := make(chan error, 1)
	go func() {
		_, err := c.UpdateOne(ctx, d("_id", "a"), d("$inc", d("n", 1)))
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Errorf("a paused server answered: %v", err)
	default:
	}
	server.Faults().Resume()
	must(t, <-answered)
	if document := one(t, c, "a"); document["n"] != int32(1) {
		t.Errorf("document %v", document)
	}
}

func TestReconnectAfterRefusal(t *testing.T) {
	server, database := start(t, func(choices *options.ClientOptions) { choices.SetServerSelectionTimeout(200 * time.Millisecond) })
	ctx, c := t.Context(), database.Collection("c")
	_, err := c.InsertOne(ctx, d("_id", "a"))
	must(t, err)
	server.Faults().Refuse()
	if err := c.FindOne(ctx, d("_id", "a")).Err(); err == nil {
		t.Error("a refusing server answered")
	}
	must(t, server.Faults().Accept())
	// The driver looks again at its own pace; another client sees that the data stayed.
	must(t, connect(t, server.URI()).Database("tidewheel").Collection("c").FindOne(ctx, d("_id", "a")).Err())
}

// The client of a server in another process uses the faults by a command.
func TestFaultCommand(t *testing.T) {
	_, database := start(t, func(choices *options.ClientOptions) { choices.SetRetryWrites(false) })
	ctx, c := t.Context(), database.Collection("c")
	admin := database.Client().Database("admin")
	must(t, admin.RunCommand(ctx, d("mongotestFault", "errorAfterWrite", "times", 1)).Err())
	_, err := c.InsertOne(ctx, d("_id", "a"))
	wantCode(t, err, 1)
	wantIDs(t, c, d(), "a")
	must(t, admin.RunCommand(ctx, d("mongotestFault", "pause", "milliseconds", 20)).Err())
	must(t, database.Client().Ping(ctx, nil))
	must(t, admin.RunCommand(ctx, d("mongotestFault", "slow", "milliseconds", 20)).Err())
	must(t, admin.RunCommand(ctx, d("mongotestFault", "refuse", "milliseconds", 20)).Err())
	wantIDs(t, c, d(), "a") // a read that the driver repeats
	wantCode(t, admin.RunCommand(ctx, d("mongotestFault", "explode", "milliseconds", 1)).Err(), 2)
}

func BenchmarkBulkUpdateByID(b *testing.B) {
	_, database := start(b)
	ctx, c := b.Context(), database.Collection("runs")
	_, err := c.Indexes().CreateMany(ctx, []mongo.IndexModel{{Keys: d("job", 1, "at", -1)}, {Keys: d("status", 1)}})
	must(b, err)
	const count, size = 100_000, 1000
	documents := make([]any, 0, count)
	for i := range count {
		documents = append(documents, d("_id", fmt.Sprintf("uid-s%d", i), "job", fmt.Sprint(i%1000), "status", "queued", "at", time.UnixMilli(int64(i)),
			"attempts", bson.A{d("n", 1, "status", "running", "at", time.UnixMilli(int64(i)))}, "output", "hello"))
	}
	_, err = c.InsertMany(ctx, documents)
	must(b, err)
	unordered := options.BulkWrite().SetOrdered(false)
	next := 0
	b.ResetTimer()
	for b.Loop() {
		models := make([]mongo.WriteModel, size)
		for i := range models {
			next = (next + 7919) % count
			models[i] = mongo.NewUpdateOneModel().SetFilter(d("_id", fmt.Sprintf("uid-s%d", next))).
				SetUpdate(d("$set", d("status", fmt.Sprint("s", next%5), "finished", time.UnixMilli(int64(next))), "$inc", d("version", 1)))
		}
		if _, err := c.BulkWrite(ctx, models, unordered); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*size/b.Elapsed().Seconds(), "updates/s")
}

func BenchmarkInsert(b *testing.B) {
	_, database := start(b)
	c, ctx := database.Collection("runs"), b.Context()
	const size = 1000
	next := 0
	for b.Loop() {
		documents := make([]any, size)
		for i := range documents {
			next++
			documents[i] = d("_id", fmt.Sprintf("uid-s%d", next), "job", fmt.Sprint(next%1000), "status", "queued")
		}
		if _, err := c.InsertMany(ctx, documents); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*size/b.Elapsed().Seconds(), "inserts/s")
}

func BenchmarkUpdateOne(b *testing.B) {
	_, database := start(b)
	c, ctx := database.Collection("runs"), b.Context()
	_, err := c.InsertOne(ctx, d("_id", "a"))
	must(b, err)
	for b.Loop() {
		if _, err := c.UpdateOne(ctx, d("_id", "a"), d("$inc", d("n", 1))); err != nil {
			b.Fatal(err)
		}
	}
}
