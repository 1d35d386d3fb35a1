package service

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// StartWave triggers a wave of a DAG: all roots start at once, at the time that is asked for or as soon as no other wave is open. Asked twice with
// one key it returns the first wave, with existed true; asked with it for something else it refuses.
func (s *Service) StartWave(ctx context.Context, namespace, name string, start Start) (wave engine.Wave, existed bool, err error) {
	dag, err := s.DAGs.Get(ctx, namespace, name)
	if err != nil {
		return engine.Wave{}, false, err
	}
	if err := start.check(); err != nil {
		return engine.Wave{}, false, err
	}
	faults, err := s.taskFaults(ctx, namespace, &dag.Spec)
	if err != nil {
		return engine.Wave{}, false, err
	}
	if len(faults) > 0 {
		return engine.Wave{}, false, conflict(faults[0].code, "DAG %q cannot run: %s", name, faults[0].Message)
	}
	if err := s.hasRoomForDAG(ctx, &dag.Spec); err != nil {
		return engine.Wave{}, false, err
	}
	if err := s.maySubmit(ctx, namespace, waitsNow(!start.At.After(s.now()))); err != nil {
		return engine.Wave{}, false, err
	}
	key := start.Key
	if key == "" {
		key = NewUID()
	}
	wave = s.newWave(&dag, key, start.trigger(), start.By)
	wave.Payload, wave.Args = start.Payload, start.Args
	if start.At.After(wave.CreatedAt) {
		wave.NotBefore = start.At.UTC().Truncate(time.Millisecond)
	}
	stored, existed, err := s.waves().start(ctx, s, startWave(&wave), start.Key != "")
	if err != nil {
		return engine.Wave{}, false, fmt.Errorf("start wave %s: %w", wave.ID, err)
	}
	if part := start.differsFromWave(&stored); part != "" && !start.Event {
		return engine.Wave{}, false, keyReused("wave "+wave.ID, part)
	}
	return stored, existed, nil
}

// newWave makes a wave that waits for its turn.
func (s *Service) newWave(dag *engine.DAG, key string, trigger engine.Trigger, by string) engine.Wave {
	return engine.Wave{
		ID: engine.ManualWaveID(dag.UID, key), Namespace: dag.Namespace, DAGUID: dag.UID, DAG: dag.Name, Shard: dag.Shard,
		Trigger: trigger, By: by, Status: engine.StatusScheduled, CreatedAt: s.now(),
	}
}

// startWave returns the command that makes a wave.
func startWave(wave *engine.Wave) engine.Command {
	return engine.Command{
		ID: engine.StartCommand(wave.ID), Kind: engine.CommandStartWave, RunID: wave.ID, JobUID: wave.DAGUID,
		By: wave.By, At: wave.CreatedAt, Wave: wave,
	}
}

// differsFromWave is differs for a wave.
func (s *Start) differsFromWave(wave *engine.Wave) string {
	switch {
	case wave.Trigger != engine.TriggerManual:
		return "trigger"
	case !sameJSON(s.Payload, wave.Payload):
		return "payload"
	case !maps.Equal(s.Args, wave.Args):
		return "args"
	case s.atDiffers(wave.CreatedAt, wave.NotBefore):
		return "at"
	}
	return ""
}

// check reports whether what is given to a program can be.
func (s *Start) check() error {
	if len(s.Payload) > MaxPayload {
		return field("payload_too_large", "body.payload", "the payload is %d bytes: at most %d are passed; put bigger data where the program can fetch it", len(s.Payload), MaxPayload)
	}
	if len(s.Payload) > 0 && !json.Valid(s.Payload) {
		return field("payload_not_json", "body.payload", "the payload is not JSON: a text needs quotes, as in \"text\"")
	}
	for key := range s.Args {
		if !validEnvironmentName(key) {
			return field("invalid_argument", "body.args", "%q cannot be an environment variable: use letters, digits and _, not TIDEWHEEL_…, and no digit first", key)
		}
	}
	return nil
}
