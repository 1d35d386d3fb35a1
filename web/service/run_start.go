package service

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/engine"
)

// Start triggers a run.
type Start struct {
	By      string
	Payload json.RawMessage   // any JSON value; nil: the definition's
	Args    map[string]string // added to the program's environment
	Key     string            // idempotency key: the same key is the same run, and must ask for the same; "" draws one
	At      time.Time         // not before; zero: now
	// Event means that an event asks, by its key: it is the same event whatever comes with it.
	Event bool
}

// MaxPayload is the largest payload, in bytes.
const MaxPayload = 1 << 20

// StartRun asks the engine for a run of a job, and returns the run as it is while the engine has not acted. Asked twice with
// one key it returns the first run, with existed true; asked with it for something else it refuses.
func (s *Service) StartRun(ctx context.Context, namespace, name string, start Start) (run engine.Run, existed bool, err error) {
	job, err := s.Jobs.Get(ctx, namespace, name)
	if err != nil {
		return engine.Run{}, false, err
	}
	if err := start.check(); err != nil {
		return engine.Run{}, false, err
	}
	if _, err := s.ResolveBinary(ctx, namespace, &job.Spec); err != nil {
		return engine.Run{}, false, err
	}
	if err := s.hasRoom(ctx, job.Spec.Tier); err != nil {
		return engine.Run{}, false, err
	}
	if err := s.maySubmit(ctx, namespace, waitsNow(!start.At.After(s.now()))); err != nil {
		return engine.Run{}, false, err
	}
	key := start.Key
	if key == "" {
		key = NewUID()
	}
	run = engine.Run{
		ID: engine.ManualRunID(job.UID, key), Namespace: namespace, JobUID: job.UID, Job: name,
		Shard: job.Shard, Trigger: start.trigger(), By: start.By, Status: engine.StatusScheduled,
		Tier: job.Spec.Tier, Class: job.Spec.Class, RunsOn: job.Spec.RunsOn, Binary: job.Spec.Binary,
		Payload: start.Payload, Args: start.Args, CreatedAt: s.now(),
	}
	if start.At.After(run.CreatedAt) {
		run.NotBefore = start.At.UTC().Truncate(time.Millisecond)
	}
	command := engine.Command{
		ID: engine.StartCommand(run.ID), Kind: engine.CommandStart, RunID: run.ID, JobUID: job.UID, By: start.By, At: run.CreatedAt, Run: &run,
	}
	stored, existed, err := s.runs().start(ctx, s, command, start.Key != "")
	if err != nil {
		return engine.Run{}, false, fmt.Errorf("start run %s: %w", run.ID, err)
	}
	if part := start.differs(&stored); part != "" && !start.Event {
		return engine.Run{}, false, keyReused("run "+run.ID, part)
	}
	return stored, existed, nil
}

// trigger is what the run or wave was asked for by.
func (s *Start) trigger() engine.Trigger {
	if s.Event {
		return engine.TriggerEvent
	}
	return engine.TriggerManual
}

func validEnvironmentName(name string) bool {
	if name == "" || len(name) > 255 || (len(name) >= 10 && name[:10] == "TIDEWHEEL_") {
		return false
	}
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// command leaves an intent for the engine and wakes it.
func (s *Service) command(ctx context.Context, command engine.Command) error {
	if err := s.leave(ctx, command); err != nil {
		return err
	}
	s.wake(ctx, engine.Wake{Shard: engine.ShardOf(command.JobUID), Kind: engine.WakeCommand})
	return nil
}

// leave leaves an intent for the engine, which finds it within a second. Without At it is of now.
func (s *Service) leave(ctx context.Context, command engine.Command) error {
	command.Shard = engine.ShardOf(command.JobUID)
	if command.At.IsZero() {
		command.At = s.now()
	}
	if err := s.store.PutCommand(ctx, command); err != nil {
		return fmt.Errorf("leave command %s for the engine: %w", command.Kind, err)
	}
	audit.Describe(ctx, "", auditedCommand(&command))
	return nil
}

// after is now, but later than an instant: the engine acts on the commands of a job in the order of their instants, and
// not all servers have the same time.
func (s *Service) after(earlier time.Time) time.Time {
	now := s.now()
	if next := earlier.UTC().Truncate(time.Millisecond).Add(time.Millisecond); now.Before(next) {
		return next
	}
	return now
}

// auditedCommand says in the audit log what was asked of the engine.
func auditedCommand(command *engine.Command) audit.Change {
	noun := "run "
	if command.Kind.AboutWave() {
		noun = "wave "
	}
	asked := string(command.Kind)
	switch command.Kind {
	case engine.CommandStart, engine.CommandStartWave:
		asked = "start"
	case engine.CommandCancelWave:
		asked = "cancel"
	case engine.CommandResumeWave:
		asked = "resume"
	case engine.CommandMarkTask:
		asked = "mark task " + command.Task + " as " + command.Mark.String()
	case engine.CommandClearTask:
		asked = "clear task " + command.Task
		if command.Item != nil {
			asked += fmt.Sprintf(", item %d", *command.Item)
		}
		if command.Alone {
			asked += " alone"
		}
	case engine.CommandBackfill:
		return audit.Change{What: "backfill", After: command.From.Format(time.RFC3339) + " to " + command.To.Format(time.RFC3339)}
	case engine.CommandCancel, engine.CommandRetry:
	}
	return audit.Change{What: noun + command.RunID, After: asked}
}
