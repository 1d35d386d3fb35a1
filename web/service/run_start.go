package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Start asks for a run by hand.
type Start struct {
	By      string
	Payload json.RawMessage   // any JSON value; nil: the definition's
	Args    map[string]string // added to the program's environment
	Key     string            // idempotency key: the same key is the same run, and must ask for the same; "" draws one
	At      time.Time         // not before; zero: now
}

// MaxPayload is the largest payload, in bytes.
const MaxPayload = 1 << 20

// StartRun makes a run of a job by hand. Asked twice with one key it gives the first run, with existed true; asked with
// it for something else it refuses.
func (s *Service) StartRun(ctx context.Context, namespace, name string, start Start) (run engine.Run, existed bool, err error) {
	job, err := s.Job(ctx, namespace, name)
	if err != nil {
		return engine.Run{}, false, err
	}
	if err := start.check(); err != nil {
		return engine.Run{}, false, err
	}
	if _, err := s.ResolveBinary(ctx, namespace, &job.Spec); err != nil {
		return engine.Run{}, false, err
	}
	key := start.Key
	if key == "" {
		key = NewUID()
	}
	run = engine.Run{
		ID: engine.ManualRunID(job.UID, key), Revision: 1, Namespace: namespace, JobUID: job.UID, Job: name,
		Shard: job.Shard, Trigger: engine.TriggerManual, By: start.By, Status: engine.StatusScheduled,
		Tier: job.Spec.Tier, Class: job.Spec.Class, RunsOn: job.Spec.RunsOn, Binary: job.Spec.Binary,
		Payload: start.Payload, Args: start.Args, CreatedAt: s.now(),
	}
	if start.At.After(run.CreatedAt) {
		run.NotBefore = start.At.UTC().Truncate(time.Millisecond)
	}
	err = s.store.InsertRun(ctx, run)
	if errors.Is(err, engine.ErrExists) {
		run, err = s.store.Run(ctx, run.ID)
		if err != nil {
			return engine.Run{}, false, fmt.Errorf("read run %s: %w", run.ID, err)
		}
		if part := start.differs(&run); part != "" {
			return engine.Run{}, false, keyReused("run "+run.ID, part)
		}
		existed = true
	} else if err != nil {
		return engine.Run{}, false, fmt.Errorf("insert run: %w", err)
	}
	if run.Status == engine.StatusScheduled {
		err = s.command(ctx, engine.Command{ID: run.ID + "-start", Kind: engine.CommandStart, RunID: run.ID, JobUID: job.UID, By: start.By})
	}
	return run, existed, err
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
	command.Shard = engine.ShardOf(command.JobUID)
	command.At = s.now()
	if err := s.store.PutCommand(ctx, command); err != nil {
		return fmt.Errorf("leave command %s for the engine: %w", command.Kind, err)
	}
	s.wake(ctx, engine.Wake{Shard: command.Shard, Kind: engine.WakeCommand})
	return nil
}
