package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
)

// definitions is a table of what users write under a name, jobs or DAGs, with the table of the forms F that each has had.
type definitions[D, F any] struct {
	what  string // "job", for errors
	table string // and the kind of its cursors
	forms string // table
	head  func(*D) head
	form  func(*D) F // the present one
	pend  func(*D, bool)
	// The Source of a definition and of a form. It stands in a column of its own.
	text     func(*D) *string
	formText func(*F) *string
}

// head is what the columns of a definition hold.
type head struct {
	uid, namespace, name string
	shard                int
	generation, revision int64
	deleted, pending     bool
}

func (h *head) key() string { return h.namespace + "/" + h.name }

var jobs = definitions[engine.Job, engine.Generation]{
	what: "job", table: "jobs", forms: "generations",
	head: func(j *engine.Job) head {
		return head{j.UID, j.Namespace, j.Name, j.Shard, j.Generation, j.Revision, j.Deleted, j.Pending}
	},
	form: func(j *engine.Job) engine.Generation {
		return engine.Generation{UID: j.UID, Generation: j.Generation, Spec: j.Spec, By: j.UpdatedBy, At: j.UpdatedAt, Message: j.Message}
	},
	pend:     func(j *engine.Job, pending bool) { j.Pending = pending },
	text:     func(j *engine.Job) *string { return &j.Source },
	formText: func(g *engine.Generation) *string { return &g.Source },
}

var dags = definitions[engine.DAG, engine.DAGGeneration]{
	what: "DAG", table: "dags", forms: "dag_generations",
	head: func(d *engine.DAG) head {
		return head{d.UID, d.Namespace, d.Name, d.Shard, d.Generation, d.Revision, d.Deleted, d.Pending}
	},
	form: func(d *engine.DAG) engine.DAGGeneration {
		return engine.DAGGeneration{UID: d.UID, Generation: d.Generation, Spec: d.Spec, By: d.UpdatedBy, At: d.UpdatedAt, Message: d.Message}
	},
	pend:     func(d *engine.DAG, pending bool) { d.Pending = pending },
	text:     func(d *engine.DAG) *string { return &d.Source },
	formText: func(g *engine.DAGGeneration) *string { return &g.Source },
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// encode gives the documents of a definition and of its present form, without its source.
func (d *definitions[D, F]) encode(given *D) (document, form []byte, err error) {
	bare := *given
	*d.text(&bare) = ""
	if document, err = encode(&bare); err != nil {
		return nil, nil, err
	}
	present := d.form(&bare)
	form, err = encode(&present)
	return document, form, err
}

// create inserts a definition with its first form; engine.ErrExists if a living one has the name, or any the uid. A
// tombstone of the name stays until it is handled.
func (d *definitions[D, F]) create(ctx context.Context, s *Store, given *D) error {
	h := d.head(given)
	operation := "create " + d.what + " " + h.key()
	document, form, err := d.encode(given)
	if err != nil {
		return wrap(operation, err)
	}
	return wrap(operation, s.write(ctx, 2, func(w *writer) error {
		changed, err := w.exec("INSERT INTO "+d.table+" (uid, namespace, name, shard, revision, deleted, pending, doc, source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			h.uid, h.namespace, h.name, h.shard, h.revision, bit(h.deleted), bit(h.pending), document, *d.text(given))
		if err != nil {
			return err
		}
		if changed == 0 {
			return engine.ErrExists
		}
		return d.keep(w, &h, form, *d.text(given))
	}))
}

// replace writes a definition on condition of its revision; engine.ErrConflict, or engine.ErrNotFound.
func (d *definitions[D, F]) replace(ctx context.Context, s *Store, given *D) error {
	h := d.head(given)
	operation := "replace " + d.what + " " + h.key()
	document, form, err := d.encode(given)
	if err != nil {
		return wrap(operation, err)
	}
	return wrap(operation, s.write(ctx, 2, func(w *writer) error {
		changed, err := w.exec("UPDATE "+d.table+" SET revision = ?, deleted = ?, pending = ?, doc = ?, source = ? WHERE uid = ? AND revision = ?",
			h.revision, bit(h.deleted), bit(h.pending), document, *d.text(given), h.uid, h.revision-1)
		if err != nil {
			return err
		}
		if changed == 0 {
			return w.absentOrChanged("SELECT count(*) FROM "+d.table+" WHERE uid = ?", h.uid)
		}
		return d.keep(w, &h, form, *d.text(given))
	}))
}

// keep inserts a form if it is new; of one that is there only the source can be another.
func (d *definitions[D, F]) keep(w *writer, h *head, form []byte, source string) error {
	_, err := w.exec("INSERT INTO "+d.forms+" (uid, generation, doc, source) VALUES (?, ?, ?, ?)"+
		" ON CONFLICT DO UPDATE SET source = excluded.source WHERE source <> excluded.source", h.uid, h.generation, form, source)
	return err
}

// absentOrChanged tells why a condition on a revision did not hold.
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
func (d *definitions[D, F]) handle(w *writer, h *engine.JobHandled) error {
	changed, err := w.exec("UPDATE "+d.table+" SET pending = 0 WHERE uid = ? AND revision = ? AND deleted = 0", h.UID, h.Revision)
	if changed > 0 || err != nil {
		return err
	}
	changed, err = w.exec("DELETE FROM "+d.table+" WHERE uid = ? AND revision = ? AND deleted = 1", h.UID, h.Revision)
	if changed == 0 || err != nil {
		return err
	}
	_, err = w.exec("DELETE FROM "+d.forms+" WHERE uid = ?", h.UID)
	return err
}

// read gives the definitions of which a query, which follows the table's name, gives the rows, without their sources.
func (d *definitions[D, F]) read(ctx context.Context, s *Store, query string, args ...any) (found []D, err error) {
	return d.rows(ctx, s, "SELECT doc, pending, '' FROM "+query, args)
}

func (d *definitions[D, F]) rows(ctx context.Context, s *Store, query string, args []any) (found []D, err error) {
	err = s.list(ctx, query, args, func(rows *sql.Rows) error {
		var document sql.RawBytes
		var pending bool
		var source string
		if err := rows.Scan(&document, &pending, &source); err != nil {
			return err
		}
		one, err := decode[D](document)
		d.pend(&one, pending)
		*d.text(&one) = source
		found = append(found, one)
		return err
	})
	return found, err
}

// byUID gives those that exist, tombstones included, in no order.
func (d *definitions[D, F]) byUID(ctx context.Context, s *Store, uids []string) ([]D, error) {
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

// pending gives those of some shards that the engine has not acted upon, tombstones included.
func (d *definitions[D, F]) pending(ctx context.Context, s *Store, shards []int, limit int) ([]D, error) {
	found, err := d.read(ctx, s, d.table+" WHERE pending = 1 AND (? >> shard) & 1 ORDER BY uid LIMIT ?", shardMask(shards), limit)
	return found, wrap("pending "+d.table, err)
}

// named gives a living one with its source; engine.ErrNotFound.
func (d *definitions[D, F]) named(ctx context.Context, s *Store, namespace, name string) (one D, err error) {
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
func (d *definitions[D, F]) living(ctx context.Context, s *Store, namespace, text, cursor string, limit int) (found []D, next string, err error) {
	after, err := decodeKey(d.table, cursor)
	if err != nil {
		return nil, "", wrap("list "+d.table, err)
	}
	where, args := []string{"deleted = 0", "(namespace, name) > (?, ?)"}, []any{after[0], after[1]}
	if namespace != "" {
		where, args = append(where, "namespace = ?"), append(args, namespace)
	}
	if text != "" {
		where, args = append(where, `name LIKE ? ESCAPE '\'`), append(args, likePattern(text)) // names are ASCII
	}
	found, err = d.read(ctx, s, d.table+" INDEXED BY "+d.table+"_name WHERE "+strings.Join(where, " AND ")+" ORDER BY namespace, name LIMIT ?",
		append(args, int64(limit)+1)...)
	if err != nil {
		return nil, "", wrap("list "+d.table, err)
	}
	found, next = page(d.table, found, limit, func(one D) engine.Cursor {
		h := d.head(&one)
		return engine.Cursor{ID: h.key()}
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

// page cuts a list, of which one more than limit was asked, and gives the cursor of what follows.
func page[T any](kind string, list []T, limit int, cursor func(T) engine.Cursor) (cut []T, next string) {
	if limit >= len(list) {
		return list, ""
	}
	return list[:limit], cursor(list[limit-1]).Encode(kind)
}

// formAt gives the form of a generation with its source; engine.ErrNotFound.
func (d *definitions[D, F]) formAt(ctx context.Context, s *Store, uid string, generation int64) (one F, err error) {
	there := false
	err = s.list(ctx, "SELECT doc, source FROM "+d.forms+" WHERE uid = ? AND generation = ?", []any{uid, generation}, func(rows *sql.Rows) error {
		var document sql.RawBytes
		var source string
		if err := rows.Scan(&document, &source); err != nil {
			return err
		}
		there = true
		var err error
		one, err = decode[F](document)
		*d.formText(&one) = source
		return err
	})
	if err == nil && !there {
		err = engine.ErrNotFound
	}
	return one, wrap("generation of "+d.what+" "+uid, err)
}

// formsBelow lists the forms below a generation (0: all of them), newest first, without their sources.
func (d *definitions[D, F]) formsBelow(ctx context.Context, s *Store, uid string, before int64, limit int) ([]F, error) {
	forms, err := documents[F](ctx, s, "SELECT doc FROM "+d.forms+" WHERE uid = ? AND (? = 0 OR generation < ?) ORDER BY generation DESC LIMIT ?",
		uid, before, before, limit)
	return forms, wrap("generations of "+d.what+" "+uid, err)
}

// drop deletes the forms below a generation and counts them.
func (d *definitions[D, F]) drop(ctx context.Context, s *Store, uid string, below int64) (deleted int, err error) {
	err = s.writeIdle(ctx, expireAtOnce, func(w *writer) error {
		changed, err := w.exec("DELETE FROM "+d.forms+" WHERE uid = ? AND generation < ?", uid, below)
		deleted = int(changed)
		return err
	})
	return deleted, wrap("drop generations of "+d.what+" "+uid, err)
}
