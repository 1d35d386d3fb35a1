package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
)

// putting is a document that is ready for the writer.
type putting func(w *writer) error

// PutDocuments puts documents into their places as they are, over whatever stands there, all of them or none. It is for
// a store that no other process writes to: it checks no revision.
func (s *Store) PutDocuments(ctx context.Context, documents []engine.Document) error {
	puts := make([]putting, len(documents))
	for i, document := range documents {
		var err error
		if puts[i], err = prepare(document); err != nil {
			collection, id := document.Place()
			return wrap(fmt.Sprintf("put %s of %s", id, collection), err)
		}
	}
	if len(puts) == 0 {
		return nil
	}
	return wrap("put documents", s.write(ctx, 2*len(puts), func(w *writer) error {
		for _, put := range puts {
			if err := put(w); err != nil {
				return err
			}
		}
		return nil
	}))
}

func prepare(document engine.Document) (putting, error) {
	switch d := document.(type) {
	case engine.Run:
		run := newRunWrite(&d, bytes.Clone(encodeRun(nil, &d))) // in no more memory than it needs: it is kept as long as the run is active
		return func(w *writer) error { return w.putRun(run) }, nil
	case engine.Wave:
		return putWave(&d), nil
	case engine.ScheduledTask:
		return putTask(&d)
	case engine.SharedKey:
		return placed(nil, nil, "shared_keys (name, key)", d.Name, d.Key)
	case engine.Job:
		return jobs.placed(&d)
	case engine.DAG:
		return dags.placed(&d)
	case engine.Generation:
		return jobs.placedVersion(&d)
	case engine.DAGGeneration:
		return dags.placedVersion(&d)
	case engine.Binary:
		text, err := encode(&d)
		return placed(text, err, "binaries (namespace, name, revision, doc)", d.Namespace, d.Name, d.Revision)
	case engine.Record:
		return placed(d.Data, nil, "records (kind, key, revision, expires_at, data)", d.Kind, d.Key, d.Revision, instant(d.ExpiresAt))
	case engine.RunEffect:
		text, err := encode(&d)
		return placed(text, err, "effects (run_id, key, revision, created_at, doc)", d.Run, d.Key, d.Revision, always(d.CreatedAt))
	case engine.SlotRange:
		return putSlots(&d)
	case engine.DeadLetter:
		return putLetter(&d)
	case engine.Incident:
		return putIncident(&d)
	case engine.Command:
		text, err := encode(&d)
		return placed(text, err, "commands (id, shard, at, doc)", d.ID, d.Shard, always(d.At))
	}
	return nil, fmt.Errorf("a %T is no document", document)
}

func putWave(d *engine.Wave) putting {
	namespace, text := d.Namespace, encodeWave(d)
	place, _ := placed(text, nil, "waves (id, revision, namespace, dag_uid, shard, epoch, status, created_at, finished_at, doc)",
		d.ID, d.Revision, d.Namespace, d.DAGUID, d.Shard, d.Epoch, int64(d.Status), always(d.CreatedAt), instant(d.FinishedAt))
	return func(w *writer) error {
		if err := w.noteNamespace(namespace); err != nil {
			return err
		}
		return place(w)
	}
}

func putTask(d *engine.ScheduledTask) (putting, error) {
	taken, err := encodeInstants(d.Taken)
	waiting, wrong := encodeInstants(d.Waiting)
	return placed(nil, errors.Join(err, wrong), "scheduled_tasks ("+taskColumns+")",
		d.ID, d.Shard, instant(d.Slot), always(d.RunAt), d.Generation, d.Revision, d.Namespace, d.Job, d.Epoch,
		instant(d.Accounted), instant(d.Since), taken, instant(d.PausedUntil), waiting)
}

func putSlots(d *engine.SlotRange) (putting, error) {
	text, err := encode(d)
	return placed(text, err, "slots (id, job_uid, from_at, to_at, count, doc)", d.ID, d.JobUID, always(d.From), always(d.To), d.Count)
}

func putLetter(d *engine.DeadLetter) (putting, error) {
	text, err := encode(d)
	return placed(text, err, "dead_letters (run_id, namespace, at, doc)", d.RunID, d.Namespace, always(d.At))
}

func (d *definitions[S]) placed(given *engine.Definition[S]) (putting, error) {
	text, _, err := d.encode(given)
	return placed(text, err, d.table+" (uid, namespace, name, shard, revision, deleted, pending, source, retains, doc)",
		given.UID, given.Namespace, given.Name, given.Shard, given.Revision, bit(given.Deleted), bit(given.Pending), given.Source, retains(given))
}

func (d *definitions[S]) placedVersion(given *engine.GenerationOf[S]) (putting, error) {
	bare := *given
	bare.Source = ""
	text, err := encode(&bare)
	return placed(text, err, d.versions+" (uid, generation, source, doc)", given.UID, given.Generation, given.Source)
}

// placed puts a row into "table (columns)", over all that have one of its keys; a text that was encoded, or failed to be, is
// the last column.
func placed(text []byte, err error, into string, values ...any) (putting, error) {
	if err != nil {
		return nil, err
	}
	if text != nil {
		values = append(values, text)
	}
	statement := "INSERT OR REPLACE INTO " + into + " VALUES (?" + strings.Repeat(",?", len(values)-1) + ")"
	return func(w *writer) error {
		_, err := w.exec(statement, values...)
		return err
	}, nil
}

// DropDocuments removes a whole collection.
func (s *Store) DropDocuments(ctx context.Context, of engine.Collection) error {
	if !slices.Contains(engine.Collections(), of) {
		return fmt.Errorf("sqlite: drop: there is no collection %q", of)
	}
	return wrap("drop "+string(of), s.write(ctx, groupWeight, func(w *writer) error {
		tables := []string{string(of)}
		if of == engine.CollectionRuns {
			tables = []string{"runs_history", "run_names", "run_dags"}
			clear(w.names)
			for id := range w.log.active.byID {
				w.log.remove(id)
			}
		}
		for _, table := range tables {
			if _, err := w.exec("DELETE FROM " + table); err != nil {
				return err
			}
		}
		return nil
	}))
}
