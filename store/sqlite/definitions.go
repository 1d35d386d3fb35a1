package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// definitions is a table of what users write under a name, jobs or DAGs, with the table of the versions that each has had.
type definitions[S engine.Spec] struct {
	what     string // "job", for errors
	table    string // and the kind of its cursors
	versions string // table
}

var (
	jobs = definitions[spec.Job]{what: "job", table: "jobs", versions: "generations"}
	dags = definitions[spec.DAG]{what: "DAG", table: "dags", versions: "dag_generations"}
)

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// retains is the column by which definitions with a retention of their own are found.
func retains[S engine.Spec](given *engine.Definition[S]) int64 {
	return bit(given.Retention() != (spec.Retention{}))
}

// encode returns the documents of a definition and of its current version, without its source.
func (d *definitions[S]) encode(given *engine.Definition[S]) (document, version []byte, err error) {
	bare := *given
	bare.Source = "" // it stands in a column of its own
	if document, err = encode(&bare); err != nil {
		return nil, nil, err
	}
	present := bare.Present()
	version, err = encode(&present)
	return document, version, err
}

// create inserts a definition with its first version; engine.ErrExists if a living one has the name, or any the uid. A
// tombstone of the name stays until it is handled.
func (d *definitions[S]) create(ctx context.Context, s *Store, given *engine.Definition[S]) error {
	operation := "create " + d.what + " " + given.Key()
	document, version, err := d.encode(given)
	if err != nil {
		return wrap(operation, err)
	}
	return wrap(operation, s.write(ctx, 2, func(w *writer) error {
		changed, err := w.exec("INSERT INTO "+d.table+" (uid, namespace, name, shard, revision, deleted, pending, doc, source, retains)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			given.UID, given.Namespace, given.Name, given.Shard, given.Revision, bit(given.Deleted), bit(given.Pending), document, given.Source, retains(given))
		if err != nil {
			return err
		}
		if changed == 0 {
			return engine.ErrExists
		}
		return d.keep(w, given, version)
	}))
}

// replace writes a definition on condition of its revision; engine.ErrConflict, or engine.ErrNotFound.
func (d *definitions[S]) replace(ctx context.Context, s *Store, given *engine.Definition[S]) error {
	operation := "replace " + d.what + " " + given.Key()
	document, version, err := d.encode(given)
	if err != nil {
		return wrap(operation, err)
	}
	return wrap(operation, s.write(ctx, 2, func(w *writer) error {
		changed, err := w.exec("UPDATE "+d.table+" SET revision = ?, deleted = ?, pending = ?, doc = ?, source = ?, retains = ? WHERE uid = ? AND revision = ?",
			given.Revision, bit(given.Deleted), bit(given.Pending), document, given.Source, retains(given), given.UID, given.Revision-1)
		if err != nil {
			return err
		}
		if changed == 0 {
			return w.absentOrChanged("SELECT count(*) FROM "+d.table+" WHERE uid = ?", given.UID)
		}
		return d.keep(w, given, version)
	}))
}

// keep inserts a version if it is new; of one that is there only the source can be another.
func (d *definitions[S]) keep(w *writer, given *engine.Definition[S], version []byte) error {
	_, err := w.exec("INSERT INTO "+d.versions+" (uid, generation, doc, source) VALUES (?, ?, ?, ?)"+
		" ON CONFLICT DO UPDATE SET source = excluded.source WHERE source <> excluded.source", given.UID, given.Generation, version, given.Source)
	return err
}

// absentOrChanged returns why a condition on a revision did not hold.
func (w *writer) absentOrChanged(count string, args ...any) error {
	switch found, err := w.number(count, args...); {
	case err != nil:
		return err
	case found == 0:
		return engine.ErrNotFound
	default:
		return engine.ErrConflict
	}
}

// handle does what engine.JobHandled says. Whether a definition is pending stands in its column, not in its document.
func (d *definitions[S]) handle(w *writer, h *engine.JobHandled) error {
	changed, err := w.exec("UPDATE "+d.table+" SET pending = 0 WHERE uid = ? AND revision = ? AND deleted = 0", h.UID, h.Revision)
	if changed > 0 || err != nil {
		return err
	}
	changed, err = w.exec("DELETE FROM "+d.table+" WHERE uid = ? AND revision = ? AND deleted = 1", h.UID, h.Revision)
	if changed == 0 || err != nil {
		return err
	}
	_, err = w.exec("DELETE FROM "+d.versions+" WHERE uid = ?", h.UID)
	return err
}

// read returns the definitions of which a query, which follows the table's name, gives the rows, without their sources.
func (d *definitions[S]) read(ctx context.Context, s *Store, query string, args ...any) (found []engine.Definition[S], err error) {
	return d.rows(ctx, s, "SELECT doc, pending, '' FROM "+query, args)
}

func (d *definitions[S]) rows(ctx context.Context, s *Store, query string, args []any) (found []engine.Definition[S], err error) {
	err = s.list(ctx, query, args, func(rows *sql.Rows) error {
		var document sql.RawBytes
		var pending bool
		var source string
		if err := rows.Scan(&document, &pending, &source); err != nil {
			return err
		}
		one, err := decode[engine.Definition[S]](document)
		one.Pending, one.Source = pending, source
		found = append(found, one)
		return err
	})
	return found, err
}

// byUID returns those that exist, tombstones included, in no order.
func (d *definitions[S]) byUID(ctx context.Context, s *Store, uids []string) ([]engine.Definition[S], error) {
	if len(uids) == 0 {
		return nil, nil
	}
	list, err := jsonList(uids)
	if err != nil {
		return nil, wrap(d.table+" by uid", err)
	}
	found, err := d.read(ctx, s, "json_each(?) AS j CROSS JOIN "+d.table+" ON uid = j.value", list)
	return found, wrap(d.table+" by uid", err)
}

// pending returns those of some shards that the engine has not acted upon, tombstones included.
func (d *definitions[S]) pending(ctx context.Context, s *Store, shards []int, limit int) ([]engine.Definition[S], error) {
	found, err := d.read(ctx, s, d.table+" WHERE pending = 1 AND (? >> shard) & 1 ORDER BY uid LIMIT ?", shardMask(shards), limit)
	return found, wrap("pending "+d.table, err)
}

// named returns a living one with its source; engine.ErrNotFound.
func (d *definitions[S]) named(ctx context.Context, s *Store, namespace, name string) (one engine.Definition[S], err error) {
	found, err := d.rows(ctx, s, "SELECT doc, pending, source FROM "+d.table+" WHERE namespace = ? AND name = ? AND deleted = 0", []any{namespace, name})
	if err == nil && len(found) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return one, wrap(d.what+" "+namespace+"/"+name, err)
	}
	return found[0], nil
}

// living lists those that are not deleted, by namespace and name.
func (d *definitions[S]) living(ctx context.Context, s *Store, filter *engine.DefinitionFilter) (found []engine.Definition[S], next string, err error) {
	after, err := decodeKey(d.table, filter.Cursor)
	if err != nil {
		return nil, "", wrap("list "+d.table, err)
	}
	where, args := []string{"deleted = 0", "(namespace, name) > (?, ?)"}, []any{after[0], after[1]}
	if filter.Namespace != "" {
		where, args = append(where, "namespace = ?"), append(args, filter.Namespace)
	}
	if filter.Text != "" {
		where, args = append(where, `name LIKE ? ESCAPE '\'`), append(args, likePattern(filter.Text)) // names are ASCII
	}
	index := d.table + "_name"
	if filter.Retaining {
		index, where = d.table+"_retains", append(where, "retains = 1")
	}
	found, err = d.read(ctx, s, d.table+" INDEXED BY "+index+" WHERE "+strings.Join(where, " AND ")+" ORDER BY namespace, name LIMIT ?",
		append(args, int64(filter.Limit)+1)...)
	if err != nil {
		return nil, "", wrap("list "+d.table, err)
	}
	found, next = page(d.table, found, filter.Limit, func(one engine.Definition[S]) engine.Cursor {
		return engine.Cursor{ID: one.Key()}
	})
	return found, next, nil
}

// decodeKey reads the cursor of a list by "namespace/name".
func decodeKey(kind, word string) (key [2]string, err error) {
	cursor, given, err := engine.DecodeCursor(kind, word)
	if err != nil || !given {
		return key, err
	}
	namespace, name, ok := strings.Cut(cursor.ID, "/")
	if !ok {
		return key, engine.ErrCursor
	}
	return [2]string{namespace, name}, nil
}

// page cuts a list, of which one more than limit was asked, and returns the cursor of what follows.
func page[T any](kind string, list []T, limit int, cursor func(T) engine.Cursor) (cut []T, next string) {
	if limit >= len(list) {
		return list, ""
	}
	return list[:limit], cursor(list[limit-1]).Encode(kind)
}

// versionAt returns the version of a generation with its source; engine.ErrNotFound.
func (d *definitions[S]) versionAt(ctx context.Context, s *Store, uid string, generation int64) (one engine.GenerationOf[S], err error) {
	there := false
	err = s.list(ctx, "SELECT doc, source FROM "+d.versions+" WHERE uid = ? AND generation = ?", []any{uid, generation}, func(rows *sql.Rows) error {
		var document sql.RawBytes
		var source string
		if err := rows.Scan(&document, &source); err != nil {
			return err
		}
		there = true
		var err error
		one, err = decode[engine.GenerationOf[S]](document)
		one.Source = source
		return err
	})
	if err == nil && !there {
		err = engine.ErrNotFound
	}
	return one, wrap("generation of "+d.what+" "+uid, err)
}

// versionsBelow lists the versions below a generation (0: all of them), newest first, without their sources.
func (d *definitions[S]) versionsBelow(ctx context.Context, s *Store, uid string, before int64, limit int) ([]engine.GenerationOf[S], error) {
	versions, err := documents[engine.GenerationOf[S]](ctx, s, "SELECT doc FROM "+d.versions+" WHERE uid = ? AND (? = 0 OR generation < ?) ORDER BY generation DESC LIMIT ?",
		uid, before, before, limit)
	return versions, wrap("generations of "+d.what+" "+uid, err)
}

// drop deletes the versions below a generation and counts them.
func (d *definitions[S]) drop(ctx context.Context, s *Store, uid string, below int64) (deleted int, err error) {
	err = s.writeIdle(ctx, expireAtOnce, func(w *writer) error {
		changed, err := w.exec("DELETE FROM "+d.versions+" WHERE uid = ? AND generation < ?", uid, below)
		deleted = int(changed)
		return err
	})
	return deleted, wrap("drop generations of "+d.what+" "+uid, err)
}
