package sqlite

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
)

const countBinary = "SELECT count(*) FROM binaries WHERE namespace = ? AND name = ?"

// CreateBinary inserts a binary; engine.ErrExists.
func (s *Store) CreateBinary(ctx context.Context, binary engine.Binary) error {
	document, err := encode(&binary)
	if err != nil {
		return wrap("create binary "+binary.Key(), err)
	}
	return wrap("create binary "+binary.Key(), s.write(ctx, 1, func(w *writer) error {
		changed, err := w.exec("INSERT INTO binaries (namespace, name, revision, doc) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			binary.Namespace, binary.Name, binary.Revision, document)
		if err == nil && changed == 0 {
			err = engine.ErrExists
		}
		return err
	}))
}

// ReplaceBinary writes a binary on condition of its revision; engine.ErrConflict or engine.ErrNotFound.
func (s *Store) ReplaceBinary(ctx context.Context, binary engine.Binary) error {
	document, err := encode(&binary)
	if err != nil {
		return wrap("replace binary "+binary.Key(), err)
	}
	return wrap("replace binary "+binary.Key(), s.write(ctx, 1, func(w *writer) error {
		changed, err := w.exec("UPDATE binaries SET revision = ?, doc = ? WHERE namespace = ? AND name = ? AND revision = ?",
			binary.Revision, document, binary.Namespace, binary.Name, binary.Revision-1)
		if err == nil && changed == 0 {
			err = w.absentOrChanged(countBinary, binary.Namespace, binary.Name)
		}
		return err
	}))
}

// DeleteBinary removes a binary of this revision; engine.ErrConflict or engine.ErrNotFound.
func (s *Store) DeleteBinary(ctx context.Context, namespace, name string, revision int64) error {
	return wrap("delete binary "+namespace+"/"+name, s.write(ctx, 1, func(w *writer) error {
		changed, err := w.exec("DELETE FROM binaries WHERE namespace = ? AND name = ? AND revision = ?", namespace, name, revision)
		if err == nil && changed == 0 {
			err = w.absentOrChanged(countBinary, namespace, name)
		}
		return err
	}))
}

// Binary returns one binary; engine.ErrNotFound.
func (s *Store) Binary(ctx context.Context, namespace, name string) (engine.Binary, error) {
	found, err := documents[engine.Binary](ctx, s, "SELECT doc FROM binaries WHERE namespace = ? AND name = ?", namespace, name)
	if err == nil && len(found) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return engine.Binary{}, wrap("binary "+namespace+"/"+name, err)
	}
	return found[0], nil
}

// BinariesByKey returns those binaries ("namespace/name") that exist, in no order.
func (s *Store) BinariesByKey(ctx context.Context, keys []string) ([]engine.Binary, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	list, err := jsonList(keys)
	if err != nil {
		return nil, wrap("binaries by key", err)
	}
	binaries, err := documents[engine.Binary](ctx, s, `SELECT doc FROM json_each(?) AS j CROSS JOIN binaries
		ON namespace = substr(j.value, 1, instr(j.value, '/') - 1) AND name = substr(j.value, instr(j.value, '/') + 1) AND instr(j.value, '/') > 0`, list)
	return binaries, wrap("binaries by key", err)
}

// Binaries lists binaries of a namespace (of all, if it is "") by name.
func (s *Store) Binaries(ctx context.Context, namespace, cursor string, limit int) (binaries []engine.Binary, next string, err error) {
	after, err := decodeKey("binaries", cursor)
	if err != nil {
		return nil, "", wrap("list binaries", err)
	}
	which, args := "", []any{after[0], after[1], int64(limit) + 1}
	if namespace != "" {
		which, args = "namespace = ? AND ", append([]any{namespace}, args...)
	}
	binaries, err = documents[engine.Binary](ctx, s,
		"SELECT doc FROM binaries WHERE "+which+"(namespace, name) > (?, ?) ORDER BY namespace, name LIMIT ?", args...)
	if err != nil {
		return nil, "", wrap("list binaries", err)
	}
	binaries, next = page("binaries", binaries, limit, func(b engine.Binary) engine.Cursor { return engine.Cursor{ID: b.Key()} })
	return binaries, next, nil
}
