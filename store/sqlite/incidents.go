package sqlite

import (
	"context"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
)

func putIncident(d *engine.Incident) (putting, error) {
	text, err := encode(d)
	return placed(text, err, "incidents (id, shard, doc)", d.ID, d.Shard)
}

// Incidents gives incidents of these shards with ids above after, in the order of their ids.
func (s *Store) Incidents(ctx context.Context, shards []int, after string, limit int) ([]engine.Incident, error) {
	if len(shards) == 0 {
		return nil, nil
	}
	args := make([]any, 0, len(shards)+2)
	args = append(args, after)
	for _, shard := range shards {
		args = append(args, int64(shard))
	}
	incidents, err := documents[engine.Incident](ctx, s,
		"SELECT doc FROM incidents WHERE id > ? AND shard IN (?"+strings.Repeat(",?", len(shards)-1)+") ORDER BY id LIMIT ?", append(args, int64(limit))...)
	return incidents, wrap("read incidents", err)
}
