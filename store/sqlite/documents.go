package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tidewheel/tidewheel/engine"
)

// pageBytes is how large the documents of a page may be together, beyond one.
const pageBytes = 4 << 20

// errEnough ends the reading of rows.
var errEnough = errors.New("enough")

// view reads all documents at one moment.
type view struct {
	*snapshot
	active []*runWrite // by id
}

// View calls read with pages of all that the store holds, as it is at one moment, whatever is written meanwhile. It
// keeps the log that SQLite writes ahead from being made shorter until read returns.
func (s *Store) View(ctx context.Context, read func(engine.DocumentPages) error) (err error) {
	if err := s.readable(ctx); err != nil {
		return wrap("view", err)
	}
	return s.moment(ctx, func(ctx context.Context, reader *snapshot) error {
		v := &view{snapshot: reader}
		var mu sync.Mutex // the writer may be at it yet when ctx has ended
		began, left := false, false
		err := s.write(ctx, 1, func(w *writer) error {
			mu.Lock()
			defer mu.Unlock()
			if began || left { // a group that failed is done again
				return nil
			}
			// Nothing is committed while the writer is here: so what is in memory and what the transaction sees from its
			// first look on are of one moment.
			if _, err := reader.texts(ctx, "SELECT count(*) FROM sqlite_schema"); err != nil {
				return err
			}
			v.active = make([]*runWrite, 0, len(w.log.active.byID))
			w.log.active.ids.ascend(&runWrite{}, func(run *runWrite) bool {
				v.active = append(v.active, run)
				return true
			})
			began = true
			return nil
		})
		mu.Lock()
		left = true
		mu.Unlock()
		if err != nil {
			return wrap("view", err)
		}
		return read(func(of engine.Collection, from string, limit int) ([]engine.Document, string, error) {
			return v.page(ctx, of, from, limit)
		})
	})
}

func (v *view) page(ctx context.Context, of engine.Collection, from string, limit int) (page []engine.Document, next string, err error) {
	defer func() { err = wrap("read "+string(of), err) }()
	switch of {
	case engine.CollectionRuns:
		return v.runs(ctx, from, limit)
	case engine.CollectionScheduledTasks: // has no rowid
		tasks, err := v.tasks(ctx, from, limit)
		for _, task := range tasks {
			page = append(page, task)
		}
		if len(tasks) == limit {
			next = tasks[limit-1].ID
		}
		return page, next, err
	case engine.CollectionSharedKeys: // neither: a handful
		return v.keys(ctx)
	case engine.CollectionJobs:
		return rowPage(ctx, v, "doc, pending, source FROM jobs", from, limit, jobs.definition)
	case engine.CollectionDAGs:
		return rowPage(ctx, v, "doc, pending, source FROM dags", from, limit, dags.definition)
	case engine.CollectionGenerations:
		return rowPage(ctx, v, "doc, 0, source FROM generations", from, limit, jobs.generation)
	case engine.CollectionDAGGenerations:
		return rowPage(ctx, v, "doc, 0, source FROM dag_generations", from, limit, dags.generation)
	case engine.CollectionWaves:
		return rowPage(ctx, v, "doc, 0, '' FROM waves", from, limit, func(row *documentRow) (engine.Document, error) {
			return decodeWave(row.doc)
		})
	case engine.CollectionBinaries:
		return rowPage(ctx, v, "doc, 0, '' FROM binaries", from, limit, plain[engine.Binary])
	case engine.CollectionRecords:
		return v.records(ctx, from, limit)
	case engine.CollectionEffects:
		return rowPage(ctx, v, "doc, 0, '' FROM effects", from, limit, plain[engine.RunEffect])
	case engine.CollectionSlots:
		return rowPage(ctx, v, "doc, 0, '' FROM slots", from, limit, plain[engine.SlotRange])
	case engine.CollectionDeadLetters:
		return rowPage(ctx, v, "doc, 0, '' FROM dead_letters", from, limit, plain[engine.DeadLetter])
	case engine.CollectionIncidents:
		return rowPage(ctx, v, "doc, 0, '' FROM incidents", from, limit, plain[engine.Incident])
	case engine.CollectionCommands:
		return rowPage(ctx, v, "doc, 0, '' FROM commands", from, limit, plain[engine.Command])
	}
	return nil, "", fmt.Errorf("there is no collection %q", of)
}

// documentRow is a row of a table of documents.
type documentRow struct {
	rowid   int64
	doc     sql.RawBytes
	pending bool
	source  string
}

func plain[T engine.Document](row *documentRow) (engine.Document, error) { return decode[T](row.doc) }

func (d *definitions[S]) definition(row *documentRow) (engine.Document, error) {
	one, err := decode[engine.Definition[S]](row.doc)
	one.Pending, one.Source = row.pending, row.source
	return one, err
}

func (d *definitions[S]) generation(row *documentRow) (engine.Document, error) {
	one, err := decode[engine.GenerationOf[S]](row.doc)
	one.Source = row.source
	return one, err
}

// rowPage reads rows in the order of their rowids. columns gives what documentRow holds behind that, and the table.
func rowPage(ctx context.Context, v *view, columns, from string, limit int, value func(*documentRow) (engine.Document, error)) (page []engine.Document, next string, err error) {
	after := int64(-1 << 63)
	if from != "" {
		if after, err = strconv.ParseInt(from, 10, 64); err != nil {
			return nil, "", engine.ErrCursor
		}
	}
	size := 0
	err = v.list(ctx, "SELECT rowid, "+columns+" WHERE rowid > ? ORDER BY rowid LIMIT ?", []any{after, int64(limit)}, func(rows *sql.Rows) error {
		var row documentRow
		if err := rows.Scan(&row.rowid, &row.doc, &row.pending, &row.source); err != nil {
			return err
		}
		one, err := value(&row)
		if err != nil {
			return err
		}
		page, after = append(page, one), row.rowid
		if size += len(row.doc) + len(row.source); size > pageBytes {
			return errEnough
		}
		return nil
	})
	if enough := errors.Is(err, errEnough); enough || len(page) == limit {
		next = strconv.FormatInt(after, 10)
		if enough {
			err = nil
		}
	}
	return page, next, err
}

// runs returns those that have not ended by their ids ("a…"), and then history in the order of its rows ("h…"), without
// the rows of those that have gone on since.
func (v *view) runs(ctx context.Context, from string, limit int) (page []engine.Document, next string, err error) {
	place, id := "a", ""
	if from != "" {
		place, id = from[:1], from[1:]
	}
	if place == "a" {
		at, there := v.find(id)
		if there {
			at++
		}
		size := 0
		for ; at < len(v.active) && len(page) < limit && size <= pageBytes; at++ {
			run, err := decodeRun(v.active[at].doc)
			if err != nil {
				return nil, "", err
			}
			page, size = append(page, run), size+len(v.active[at].doc)
		}
		if at < len(v.active) {
			return page, "a" + v.active[at-1].id, nil
		}
		return page, "h", nil
	}
	page, next, err = rowPage(ctx, v, "doc, 0, '' FROM runs_history", id, limit, func(row *documentRow) (engine.Document, error) {
		return decodeRun(row.doc)
	})
	page = slices.DeleteFunc(page, func(one engine.Document) bool {
		_, id := one.Place()
		_, active := v.find(id)
		return active
	})
	if next != "" {
		next = "h" + next
	}
	return page, next, err
}

func (v *view) find(id string) (at int, there bool) {
	return slices.BinarySearchFunc(v.active, id, func(run *runWrite, id string) int { return strings.Compare(run.id, id) })
}

// tasks returns scheduled tasks with ids above one, in the order of their ids.
func (v *view) tasks(ctx context.Context, after string, limit int) (tasks []engine.ScheduledTask, err error) {
	err = v.list(ctx, "SELECT "+taskColumns+" FROM scheduled_tasks WHERE id > ? ORDER BY id LIMIT ?", []any{after, int64(limit)}, func(rows *sql.Rows) error {
		task, err := scanTask(rows)
		tasks = append(tasks, task)
		return err
	})
	return tasks, err
}

func (v *view) keys(ctx context.Context) (page []engine.Document, next string, err error) {
	err = v.list(ctx, "SELECT name, key FROM shared_keys ORDER BY name", nil, func(rows *sql.Rows) error {
		var key engine.SharedKey
		var raw sql.RawBytes
		err := rows.Scan(&key.Name, &raw)
		key.Key = bytes.Clone(raw)
		page = append(page, key)
		return err
	})
	return page, "", err
}
