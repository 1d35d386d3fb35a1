package mongo

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// commandDocument is a document of commands.
type commandDocument struct {
	ID      string        `bson:"_id"`
	Shard   int           `bson:"shard"`
	Kind    string        `bson:"kind"`
	JobUID  string        `bson:"job_uid"`
	RunID   string        `bson:"run_id,omitempty"`
	Task    string        `bson:"task,omitempty"`
	Mark    string        `bson:"mark,omitempty"`
	Item    *int          `bson:"item,omitempty"`
	Alone   bool          `bson:"alone,omitempty"`
	Args    bson.D        `bson:"args,omitempty"`
	Payload bson.RawValue `bson:"payload,omitempty"`
	// PayloadJSON stands instead of Payload, see type payload.
	PayloadJSON bson.RawValue  `bson:"payload_json,omitempty"`
	Revision    int64          `bson:"revision,omitempty"`
	By          string         `bson:"by,omitempty"`
	At          bson.DateTime  `bson:"at"`
	From        *bson.DateTime `bson:"from,omitempty"`
	To          *bson.DateTime `bson:"to,omitempty"`
	Run         *runDocument   `bson:"run,omitempty"`
	Wave        *waveDocument  `bson:"wave,omitempty"`
}

func newCommandDocument(c *engine.Command) (*commandDocument, error) {
	held, err := newPayload(c.Payload)
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	d := &commandDocument{
		ID: c.ID, Shard: c.Shard, Kind: string(c.Kind), JobUID: c.JobUID, RunID: c.RunID, Task: c.Task, Mark: c.Mark.String(), Revision: c.Revision, By: c.By,
		Item: c.Item, Alone: c.Alone, Args: sorted(c.Args), Payload: held.value, PayloadJSON: held.text, At: date(c.At), From: someDate(c.From), To: someDate(c.To),
	}
	if c.Run != nil {
		if d.Run, err = newRunDocument(c.Run); err != nil {
			return nil, fmt.Errorf("run: %w", err)
		}
	}
	if c.Wave != nil {
		if d.Wave, err = newWaveDocument(c.Wave); err != nil {
			return nil, fmt.Errorf("wave: %w", err)
		}
	}
	return d, nil
}

func (d commandDocument) value() (engine.Command, error) {
	c := engine.Command{
		ID: d.ID, Shard: d.Shard, Kind: engine.CommandKind(d.Kind), JobUID: d.JobUID, RunID: d.RunID, Task: d.Task, Revision: d.Revision, By: d.By,
		Item: d.Item, Alone: d.Alone, At: instant(d.At), From: someInstant(d.From), To: someInstant(d.To),
	}
	var err error
	if c.Args, err = stringsOf(d.Args); err != nil {
		return c, fmt.Errorf("args: %w", err)
	}
	if c.Payload, err = (payload{d.Payload, d.PayloadJSON}).json(); err != nil {
		return c, fmt.Errorf("payload: %w", err)
	}
	if d.Run != nil {
		run, err := d.Run.value()
		if err != nil {
			return c, fmt.Errorf("run: %w", err)
		}
		c.Run = &run
	}
	if d.Wave != nil {
		wave, err := d.Wave.value()
		if err != nil {
			return c, fmt.Errorf("wave: %w", err)
		}
		c.Wave = &wave
	}
	return c, c.Mark.UnmarshalText([]byte(d.Mark))
}

// PutCommand inserts a command; one that is there already is no error.
func (s *Store) PutCommand(ctx context.Context, command engine.Command) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	document, err := newCommandDocument(&command)
	if err != nil {
		return s.failed("put command", err)
	}
	raw, err := bson.Marshal(document)
	if err != nil {
		return s.failed("put command", err)
	}
	_, err = s.insert(ctx, s.commands, change{id: command.ID, document: raw}, func(bson.Raw) (bool, error) { return true, nil })
	return s.failed("put command", err)
}

// Command returns one command; engine.ErrNotFound.
func (s *Store) Command(ctx context.Context, id string) (engine.Command, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	command, err := one[commandDocument](ctx, s.commands, byID(id))
	return command, s.failed("read command "+id, err)
}

// Commands returns the commands for these shards, oldest first.
func (s *Store) Commands(ctx context.Context, shards []int, limit int) ([]engine.Command, error) {
	if err := s.projector.flushActed(ctx); err != nil {
		return nil, s.failed("read commands", err)
	}
	if len(shards) == 0 {
		return nil, nil
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	commands, err := list[commandDocument](ctx, s.commands, among("shard", shards),
		options.Find().SetSort(ascending("at")).SetLimit(int64(max(limit, 0))))
	return commands, s.failed("read commands", err)
}
