package sqlite

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
)

// PutCommand inserts a command; one that is there already stays as it is.
func (s *Store) PutCommand(ctx context.Context, command engine.Command) error {
	document, err := encode(&command)
	if err != nil {
		return wrap("put command", err)
	}
	return wrap("put command", s.write(ctx, 1, func(w *writer) error {
		_, err := w.exec("INSERT INTO commands (id, shard, at, doc) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
			command.ID, command.Shard, always(command.At), document)
		return err
	}))
}

// Command returns one command; engine.ErrNotFound.
func (s *Store) Command(ctx context.Context, id string) (engine.Command, error) {
	found, err := documents[engine.Command](ctx, s, "SELECT doc FROM commands WHERE id = ?", id)
	if err == nil && len(found) == 0 {
		s.writer.awaitShown() // what an engine has made of it is in the database already, and can be read once it is in memory, too
		err = engine.ErrNotFound
	}
	if err != nil {
		return engine.Command{}, wrap("command "+id, err)
	}
	return found[0], nil
}

// Commands returns the commands for these shards, oldest first.
func (s *Store) Commands(ctx context.Context, shards []int, limit int) ([]engine.Command, error) {
	commands, err := documents[engine.Command](ctx, s,
		"SELECT doc FROM commands WHERE (? >> shard) & 1 ORDER BY at, id LIMIT ?", shardMask(shards), limit)
	return commands, wrap("list commands", err)
}
