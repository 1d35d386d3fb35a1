package mongotest_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/storetest"
)

// findLog is a log handler that keeps the find and delete commands which the store has sent.
type findLog struct {
	slog.Handler
	mutex sync.Mutex
	sent  []string
}

func (l *findLog) Enabled(context.Context, slog.Level) bool { return true }

func (l *findLog) Handle(_ context.Context, record slog.Record) error {
	record.Attrs(func(attribute slog.Attr) bool {
		text := attribute.Value.String()
		if attribute.Key == "command" && strings.Contains(record.Message, "started") &&
			(strings.HasPrefix(text, `{"find"`) || strings.HasPrefix(text, `{"delete"`)) {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			l.sent = append(l.sent, text)
		}
		return true
	})
	return nil
}

func (l *findLog) take() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	defer func() { l.sent = nil }()
	return l.sent
}

// TestEveryReadFollowsAnIndex explains what the store really sends: with a history of many thousand runs nothing may
// look at more documents than it needs.
func TestEveryReadFollowsAnIndex(t *testing.T) {
	uri := startServer(t).URI()
	readsFollowIndexes(t, uri, connect(t, uri).Database("explained"))
}

func readsFollowIndexes(t *testing.T, uri string, database *driver.Database) {
	log := &findLog{Handler: slog.DiscardHandler}
	// What trims the journal meanwhile sends several deletes at once, which explain refuses.
	config := mongo.Config{Database: database.Name(), Logger: slog.New(log), PrimaryOnly: true, TrimInterval: time.Hour}
	store, err := mongo.Open(t.Context(), uri, config)
	if err != nil {
		t.Fatal(err)
	}
	closing(t, store)
	const many = 4000
	now := time.UnixMilli(1_800_000_000_000).UTC()
	batch := &engine.Batch{}
	for i := range many {
		uid := fmt.Sprintf("job%013d", i%20)
		at := now.Add(time.Duration(i) * time.Second)
		run := engine.Run{
			ID: engine.SlotRunID(uid, at), Revision: 1, Namespace: "default", JobUID: uid, Job: "name" + uid, Shard: engine.ShardOf(uid),
			Status: engine.StatusSucceeded, Tier: spec.TierLight, CreatedAt: at, FinishedAt: at,
		}
		if i%400 == 0 {
			run.Status, run.FinishedAt = engine.StatusRunning, time.Time{}
		}
		if i%500 == 1 {
			run.Status = engine.StatusFailed
		}
		batch.Runs = append(batch.Runs, run)
		batch.Tasks = append(batch.Tasks, engine.ScheduledTask{
			ID: fmt.Sprintf("task%d", i), Shard: engine.ShardOf(fmt.Sprintf("task%d", i)), Slot: at, RunAt: at, Revision: 1, Namespace: "default", Job: run.Job,
		})
		batch.Slots = append(batch.Slots, engine.SlotRange{ID: run.ID, JobUID: uid, Namespace: "default", From: at, To: at, Count: 1})
		batch.DeadLetters = append(batch.DeadLetters, engine.DeadLetter{RunID: run.ID, Namespace: "default", At: at})
	}
	if err := storetest.Write(t.Context(), store, *batch); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		name := fmt.Sprintf("job%d", i)
		job := engine.Job{UID: strings.ToLower(rand.Text()[:16]), Namespace: "default", Name: name, Revision: 1, Generation: 1, Shard: i % engine.Shards, Pending: i == 7}
		if err := store.Jobs().Create(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		command := engine.Command{ID: name, Shard: i % engine.Shards, At: now}
		if err := store.PutCommand(t.Context(), command); err != nil {
			t.Fatal(err)
		}
	}
	const dag = "dag0000000000000"
	for i := range 1000 {
		effect := engine.RunEffect{Run: batch.Runs[i/2].ID, Key: "charge", Namespace: "default", Revision: 1, State: engine.EffectOpen, CreatedAt: now.Add(time.Duration(i) * time.Millisecond), OpenedAt: now}
		if i%2 == 1 {
			effect.Key = "other"
		}
		if err := store.InsertEffect(t.Context(), effect); err != nil {
			t.Fatal(err)
		}
	}
	waves := &engine.Batch{}
	for i := range 400 {
		at := now.Add(time.Duration(i) * time.Second)
		wave := engine.Wave{
			ID: engine.WaveID(dag, int64(i+1)), Revision: 1, Namespace: "default", DAGUID: dag, DAG: "etl", Shard: engine.ShardOf(dag), Epoch: int64(i + 1),
			Status: engine.StatusSucceeded, CreatedAt: at, FinishedAt: at,
		}
		if i == 399 {
			wave.Status, wave.FinishedAt = engine.StatusRunning, time.Time{}
		}
		waves.Waves = append(waves.Waves, wave)
		for _, task := range []string{"fetch", "join", "report"} {
			waves.Runs = append(waves.Runs, engine.Run{
				ID: engine.TaskRunID(wave.ID, task), Revision: 1, Namespace: "default", JobUID: dag, DAG: "etl", Wave: wave.ID, Epoch: wave.Epoch, Task: task,
				Shard: wave.Shard, Status: engine.StatusSucceeded, Tier: spec.TierLight, CreatedAt: at, FinishedAt: at,
			})
		}
	}
	if err := storetest.Write(t.Context(), store, *waves); err != nil {
		t.Fatal(err)
	}
	log.take()
	shards := make([]int, engine.Shards)
	for i := range shards {
		shards[i] = i
	}
	ctx, uid := t.Context(), batch.Runs[0].JobUID
	var next string
	for _, read := range []struct {
		name string
		most int // documents to be looked at
		do   func() error
	}{
		{"due tasks", 11, func() error { _, err := store.DueTasks(ctx, shards, now, now.Add(10*time.Second)); return err }},
		{"upcoming", 11, func() error { _, err := store.Upcoming(ctx, "default", 10); return err }},
		{"active runs", 10, func() error { _, err := store.ActiveRuns(ctx, shards, "", 100); return err }},
		{"ids of active runs", 10, func() error { _, err := store.ActiveRunIDs(ctx, shards, "", 100); return err }},
		{"active runs of a job", 10, func() error { _, err := store.ActiveRunsOf(ctx, []string{uid}); return err }},
		{"pending jobs", 1, func() error { _, err := store.PendingJobs(ctx, shards, 100); return err }},
		{"jobs by uid", 1, func() error { _, err := store.JobsByUID(ctx, []string{uid}); return err }},
		{"commands", 200, func() error { _, err := store.Commands(ctx, shards, 1000); return err }},
		{"commands of a shard", 4, func() error { _, err := store.Commands(ctx, shards[:1], 1000); return err }},
		{"history", 12, func() (err error) {
			_, next, err = store.Runs(ctx, engine.RunFilter{Namespace: "default", Limit: 10})
			return err
		}},
		{"history, next page", 13, func() error {
			_, _, err := store.Runs(ctx, engine.RunFilter{Namespace: "default", Limit: 10, Cursor: next})
			return err
		}},
		{"history of a job", 12, func() error {
			_, _, err := store.Runs(ctx, engine.RunFilter{Namespace: "default", JobUID: uid, Limit: 10})
			return err
		}},
		{"history of a name", 12, func() error {
			_, _, err := store.Runs(ctx, engine.RunFilter{Namespace: "default", Job: "name" + uid, Limit: 10})
			return err
		}},
		{"the few that failed", 12, func() error {
			_, _, err := store.Runs(ctx, engine.RunFilter{Namespace: "default", Statuses: []engine.Status{engine.StatusFailed}, Limit: 10})
			return err
		}},
		{"the few that run", 12, func() error {
			_, _, err := store.Runs(ctx, engine.RunFilter{Namespace: "default", Statuses: []engine.Status{engine.StatusRunning}, Limit: 10})
			return err
		}},
		{"slots of a job", 12, func() error { _, _, err := store.Slots(ctx, engine.SlotFilter{JobUID: uid, Limit: 10}); return err }},
		{"dead letters", 12, func() error { _, _, err := store.DeadLetters(ctx, "default", "", 10); return err }},
		{"jobs by name", 12, func() error {
			_, _, err := store.Jobs().List(ctx, engine.DefinitionFilter{Namespace: "default", Limit: 10})
			return err
		}},
		{"a generation", 1, func() error { _, err := store.Jobs().Generations(ctx, uid, 5, 10); return err }},
		{"open waves", 1, func() error { _, err := store.OpenWaves(ctx, shards, "", 100); return err }},
		{"open waves of a DAG", 1, func() error { _, err := store.OpenWavesOf(ctx, []string{dag}); return err }},
		{"the last epoch", 1, func() error { _, err := store.LastEpochs(ctx, []string{dag}); return err }},
		{"runs of a wave", 3, func() error { _, err := store.RunsOfWave(ctx, engine.WaveID(dag, 7), "", 100); return err }},
		{"waves of a DAG", 12, func() error { _, _, err := store.Waves(ctx, engine.WaveFilter{DAGUID: dag, Limit: 10}); return err }},
		{"waves", 12, func() error {
			_, _, err := store.Waves(ctx, engine.WaveFilter{Namespace: "default", Limit: 10})
			return err
		}},
		{"history of a DAG", 12, func() error {
			_, _, err := store.Runs(ctx, engine.RunFilter{Namespace: "default", DAGUID: dag, Limit: 10})
			return err
		}},
		{"history of a DAG's name", 12, func() error {
			_, _, err := store.Runs(ctx, engine.RunFilter{Namespace: "default", DAG: "etl", Limit: 10})
			return err
		}},
		{"history of a task", 12, func() error {
			_, _, err := store.Runs(ctx, engine.RunFilter{DAGUID: dag, Task: "join", Limit: 10})
			return err
		}},
		{"edits of other programs", 1, func() error { _, err := store.Edits().Adopt(ctx); return err }},
		{"pending DAGs", 0, func() error { _, err := store.PendingDAGs(ctx, shards, 100); return err }},
		{"waves to expire", 399, func() error {
			_, err := store.ExpireWaves(ctx, engine.Expiry{Before: now.Add(time.Hour)}, 10)
			return err
		}},
		{"waves of a DAG to expire", 12, func() error {
			_, err := store.ExpireWavesOf(ctx, dag, engine.OwnExpiry{Newest: 1000}, 10)
			return err
		}},
		{"runs of a job to expire", 12, func() error {
			_, err := store.ExpireRunsOf(ctx, uid, engine.OwnExpiry{Newest: 10, Settled: now.Add(-time.Hour)}, 10)
			return err
		}},
		{"jobs with a retention of their own", 0, func() error {
			_, _, err := store.Jobs().List(ctx, engine.DefinitionFilter{Retaining: true, Limit: 10})
			return err
		}},
		{"runs to expire", 10, func() error {
			_, err := store.ExpireRuns(ctx, []int{engine.ShardOf(uid)}, engine.Expiry{Before: now.Add(time.Hour)}, 10)
			return err
		}},
		{"effects of a run", 3, func() error { _, _, err := store.Effects(ctx, batch.Runs[7].ID, "", 10); return err }},
		{"an effect", 1, func() error { _, err := store.Effect(ctx, batch.Runs[7].ID, "charge"); return err }},
		{"effects to expire", 11, func() error { _, err := store.ExpireEffects(ctx, now.Add(time.Hour), 10); return err }},
		{"slots to expire", 10, func() error {
			_, err := store.ExpireSlots(ctx, engine.Expiry{Before: now.Add(time.Hour)}, 10)
			return err
		}},
	} {
		if err := read.do(); err != nil {
			t.Fatalf("%s: %v", read.name, err)
		}
		sent := log.take()
		if len(sent) == 0 {
			t.Errorf("%s: no command was seen", read.name)
		}
		for _, text := range sent {
			examined, scan := explained(t, database, text)
			if scan || examined > read.most {
				t.Errorf("%s: looks at %d documents (at most %d are needed), whole collection: %v: %s", read.name, examined, read.most, scan, text)
			}
		}
	}
}

// explained runs a logged command under explain.
func explained(t *testing.T, database *driver.Database, text string) (examined int, scan bool) {
	t.Helper()
	var logged, asked bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &logged); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for _, element := range logged {
		switch element.Key {
		case "find", "filter", "sort", "limit", "projection", "delete", "deletes":
			asked = append(asked, element)
		}
	}
	var answer struct {
		Planner bson.Raw `bson:"queryPlanner"`
		Stats   struct {
			Examined int `bson:"totalDocsExamined"`
		} `bson:"executionStats"`
	}
	command := bson.D{{Key: "explain", Value: asked}, {Key: "verbosity", Value: "executionStats"}}
	if err := database.RunCommand(t.Context(), command).Decode(&answer); err != nil {
		t.Fatalf("explain %s: %v", text, err)
	}
	winning, _ := answer.Planner.Lookup("winningPlan").DocumentOK()
	return answer.Stats.Examined, strings.Contains(winning.String(), "COLLSCAN")
}
