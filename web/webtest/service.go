package webtest

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/notify"
	"github.com/tidewheel/tidewheel/secret"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
	"github.com/tidewheel/tidewheel/store/storetest"
	"github.com/tidewheel/tidewheel/web/service"
)

// World is a service and everything below it.
type World struct {
	*service.Service
	Store *Store
	Blobs *Blobs
	Queue *Queue
	Log   *slog.Logger
	Now   time.Time
	// Notify keeps the notification targets of the Service. Test answers in place of targets to which a test is sent.
	Notify *notify.Book
	Test   func(target string) (answer string, err error)
}

// Start is the time at which a World begins, and stands still.
var Start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// RootToken opens everything in a World.
const RootToken = "tw_0123456789abcdefghijklmnop"

// New makes a World with nothing in it.
func New(t testing.TB, configs ...service.Config) *World {
	t.Helper()
	w := &World{
		Store: &Store{Store: memory.New()}, Blobs: NewBlobs(), Queue: NewQueue(), Now: Start,
		Test: func(string) (string, error) { return "200 OK", nil },
		Log:  slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	var err error
	config := service.Config{
		Now: func() time.Time { return w.Now }, RootToken: RootToken,
		Backup: func(context.Context, io.Writer, service.BackupParts) error { return nil },
	}
	for _, given := range configs {
		if given.Now != nil {
			config.Now = given.Now
		}
		config.MaxBinary, config.Backup, config.NoBackup = given.MaxBinary, given.Backup, given.NoBackup
		config.Alone, config.DiskFull, config.MaxBacklog, config.MayWatch = given.Alone, given.DiskFull, given.MaxBacklog, given.MayWatch
	}
	if config.Secrets, err = vault(t, w.Store); err != nil {
		t.Fatal(err)
	}
	w.Notify = notify.NewBook(w.Store, config.Secrets, config.Now)
	config.Notifications = service.Notifications{
		Book: w.Notify, Test: func(_ context.Context, _, target string) (string, error) { return w.Test(target) },
	}
	for _, given := range configs {
		config.Notifications.Mail, config.Notifications.Unable = given.Notifications.Mail, given.Notifications.Unable
		config.Notifications.Installation = given.Notifications.Installation
	}
	w.Service = service.New(w.Store, w.Blobs, w.Queue, w.Log, config)
	return w
}

// vault makes a vault with a key of its own.
func vault(t testing.TB, store *Store) (*secret.Vault, error) {
	key, err := secret.NewKey()
	if err != nil {
		return nil, err
	}
	ring, err := secret.NewRing(t.Context(), func(context.Context) ([]byte, error) { return key.Text(), nil })
	if err != nil {
		return nil, err
	}
	made := secret.NewVault(store, ring, func() time.Time { return Start })
	_, err = made.Establish(t.Context())
	return made, err
}

// Store is a memory store that can be made to fail.
type Store struct {
	*memory.Store
	mu      sync.Mutex
	down    error
	records error // of writes of records alone
}

// FailRecords makes writes of records fail with an error; nil mends them.
func (s *Store) FailRecords(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = err
}

// InsertRecord fails while the test makes the store fail.
func (s *Store) InsertRecord(ctx context.Context, record engine.Record) error {
	s.mu.Lock()
	err := s.records
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.Store.InsertRecord(ctx, record)
}

// Record fails while the test makes the store fail.
func (s *Store) Record(ctx context.Context, kind, key string) (engine.Record, error) {
	if err := s.fault(); err != nil {
		return engine.Record{}, err
	}
	return s.Store.Record(ctx, kind, key)
}

// Fail makes the store answer with an error; nil mends it.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = err
}

func (s *Store) fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

// Ping fails while the test makes the store fail.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.fault(); err != nil {
		return err
	}
	return s.Store.Ping(ctx)
}

// Jobs keeps jobs, and fails to read one while the test makes the store fail.
func (s *Store) Jobs() engine.Definitions[spec.Job] { return jobs{s.Store.Jobs(), s} }

type jobs struct {
	engine.Definitions[spec.Job]
	store *Store
}

func (j jobs) Get(ctx context.Context, namespace, name string) (engine.Job, error) {
	if err := j.store.fault(); err != nil {
		return engine.Job{}, err
	}
	return j.Definitions.Get(ctx, namespace, name)
}

// Runs fails while the test makes the store fail.
func (s *Store) Runs(ctx context.Context, filter engine.RunFilter) ([]engine.Run, string, error) {
	if err := s.fault(); err != nil {
		return nil, "", err
	}
	return s.Store.Runs(ctx, filter)
}

// PutBinary uploads a script.
func (w *World) PutBinary(t testing.TB, name string, aliases ...string) engine.Binary {
	t.Helper()
	binary, _, _, err := w.UploadBinary(t.Context(), engine.DefaultNamespace, name, Script("echo "+name), service.Upload{By: "test", Aliases: aliases})
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// PutBinaryIn uploads a program to a namespace.
func (w *World) PutBinaryIn(t testing.TB, namespace, name string) {
	t.Helper()
	if _, _, _, err := w.UploadBinary(t.Context(), namespace, name, Script("echo "+name), service.Upload{By: "test"}); err != nil {
		t.Fatal(err)
	}
}

// PutJob saves a job of a JSON definition.
func (w *World) PutJob(t testing.TB, definition string) engine.Job {
	t.Helper()
	job, problems := spec.DecodeJob("", []byte(definition))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	saved, _, err := w.Jobs.Save(t.Context(), engine.DefaultNamespace, job, service.Save{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// PutNamespace makes a namespace.
func (w *World) PutNamespace(t testing.TB, name string) {
	t.Helper()
	if _, err := w.CreateNamespace(t.Context(), name, ""); err != nil {
		t.Fatal(err)
	}
}

// PutDAG saves a DAG of a YAML or JSON definition.
func (w *World) PutDAG(t testing.TB, definition string) engine.DAG {
	t.Helper()
	documents, problems := spec.Decode("dag.yaml", []byte(definition))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	saved, _, err := w.DAGs.Save(t.Context(), engine.DefaultNamespace, documents[0].DAG, service.Save{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// Write writes what the owners of shards would.
func (w *World) Write(t testing.TB, decision engine.Batch) {
	t.Helper()
	if err := storetest.Write(t.Context(), w.Store, decision); err != nil {
		t.Fatal(err)
	}
}

// PutWave writes a wave as its shard's owner would.
func (w *World) PutWave(t testing.TB, wave engine.Wave) {
	t.Helper()
	w.Write(t, engine.Batch{Waves: []engine.Wave{wave}})
}

// OpenWave returns the wave of an epoch that slots have opened, not yet stored.
func (w *World) OpenWave(dag engine.DAG, epoch int64, slot time.Time) engine.Wave {
	return engine.Wave{
		ID: engine.WaveID(dag.UID, epoch), Revision: 1, Namespace: dag.Namespace, DAGUID: dag.UID, DAG: dag.Name, Shard: dag.Shard, Epoch: epoch,
		Generation: dag.Generation, Trigger: engine.TriggerSchedule, Status: engine.StatusRunning, Slot: slot, CreatedAt: slot, StartedAt: slot,
	}
}

// EndWave returns the next revision of a wave, ended.
func EndWave(wave engine.Wave, status engine.Status) engine.Wave {
	wave.Revision++
	wave.Status, wave.FinishedAt = status, wave.StartedAt.Add(time.Minute)
	return wave
}

// TaskRun returns the run of a task in a wave, in its first attempt or ended, not yet stored.
func (w *World) TaskRun(wave engine.Wave, task string, status engine.Status) engine.Run {
	run := engine.Run{
		ID: engine.TaskRunID(wave.ID, task), Revision: 1, Namespace: wave.Namespace, JobUID: wave.DAGUID, Shard: wave.Shard, Generation: wave.Generation,
		DAG: wave.DAG, Wave: wave.ID, Epoch: wave.Epoch, Task: task, Trigger: engine.TriggerUpstream, Slot: wave.Slot, Status: status,
		Tier: spec.TierLight, Class: spec.ClassStandard, Binary: "report", CreatedAt: wave.StartedAt, QueuedAt: wave.StartedAt, StartedAt: wave.StartedAt,
		Attempt: 1, Attempts: []engine.Attempt{{N: 1, Status: status, Executor: "one", Token: 7, QueuedAt: wave.StartedAt, StartedAt: wave.StartedAt}},
	}
	if status.Terminal() {
		run.FinishedAt = run.StartedAt.Add(10 * time.Second)
	}
	return run
}

// PutRun writes a run as its shard's owner would.
func (w *World) PutRun(t testing.TB, run engine.Run) {
	t.Helper()
	w.Write(t, engine.Batch{Runs: []engine.Run{run}})
}

// Act does what the engine does with requests for runs and waves: it makes what they ask for, unless that is there already,
// and deletes their commands.
func (w *World) Act(t testing.TB) {
	t.Helper()
	var shards []int
	for shard := range engine.Shards {
		shards = append(shards, shard)
	}
	commands, err := w.Store.Commands(t.Context(), shards, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range commands {
		decision := engine.Batch{Done: []engine.CommandDone{{ID: command.ID, At: command.At}}}
		switch {
		case command.Run != nil:
			if _, err := w.Store.Run(t.Context(), command.RunID); err != nil {
				command.Run.Revision = 1
				decision.Runs = []engine.Run{*command.Run}
			}
		case command.Wave != nil:
			if _, err := w.Store.Wave(t.Context(), command.RunID); err != nil {
				command.Wave.Revision = 1
				decision.Waves = []engine.Wave{*command.Wave}
			}
		default:
			continue
		}
		w.Write(t, decision)
	}
}

// Running returns the run of a job's slot in its first attempt, not yet stored.
func (w *World) Running(job engine.Job, slot time.Time) engine.Run {
	return engine.Run{
		ID: engine.SlotRunID(job.UID, slot), Revision: 1, Namespace: job.Namespace, JobUID: job.UID, Job: job.Name, Shard: job.Shard,
		Generation: job.Generation, Trigger: engine.TriggerSchedule, Slot: slot, Status: engine.StatusRunning,
		Tier: job.Spec.Tier, Class: job.Spec.Class, Binary: job.Spec.Binary, CreatedAt: slot.Add(-250 * time.Millisecond),
		QueuedAt: slot, StartedAt: slot.Add(5 * time.Millisecond), Attempt: 1,
		Attempts: []engine.Attempt{{N: 1, Status: engine.StatusRunning, Executor: "one", Token: 7, QueuedAt: slot, StartedAt: slot.Add(5 * time.Millisecond)}},
	}
}

// Ended returns the next revision of a run, ended with what it printed.
func Ended(run engine.Run, status engine.Status, output string) engine.Run {
	run = run.Clone()
	run.Revision++
	run.Status = status
	run.FinishedAt = run.Slot.Add(time.Second)
	code := 0
	if status != engine.StatusSucceeded {
		code = 1
	}
	last := run.Current()
	last.Status, last.FinishedAt, last.ExitCode = status, run.FinishedAt, &code
	if status == engine.StatusDead {
		last.Status = engine.StatusFailed
	}
	last.Usage = &engine.Usage{CPU: 1250 * time.Millisecond, MaxRSS: 4 << 20}
	last.Output = &engine.Output{Size: int64(len(output)), Lines: lines(output), Tail: []byte(output)}
	return run
}

func lines(output string) (n int64) {
	for i := range len(output) {
		if output[i] == '\n' || i == len(output)-1 {
			n++
		}
	}
	return n
}

// UploadTo uploads a program with this content.
func (w *World) UploadTo(t testing.TB, name, content string) (engine.BinaryVersion, bool, error) {
	t.Helper()
	_, version, existed, err := w.UploadBinary(t.Context(), engine.DefaultNamespace, name, strings.NewReader(content), service.Upload{By: "test"})
	return version, existed, err
}
