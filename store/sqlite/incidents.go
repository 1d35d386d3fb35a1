package sqlite

import (
	"context"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

func putIncident(d *engine.Incident) (putting, error) {
	text, err := encode(d)
	began := time.Time{}
	if d.Count > 0 {
		began = d.Since
	}
	return placed(text, err, "incidents (id, shard, namespace, began, doc)", d.ID, d.Shard, d.Namespace, instant(began))
}

// Incidents returns incidents of these shards with ids above after, in the order of their ids.
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

// IncidentsPage lists the incidents of a namespace that have begun, the latest begun first.
func (s *Store) IncidentsPage(ctx context.Context, namespace, cursor string, limit int) (incidents []engine.Incident, next string, err error) {
	at, id, err := place("incidents", cursor)
	if err != nil {
		return nil, "", wrap("list incidents", err)
	}
	incidents, err = documents[engine.Incident](ctx, s,
		"SELECT doc FROM incidents WHERE namespace = ? AND began IS NOT NULL AND (began, id) < (?, ?) ORDER BY began DESC, id DESC LIMIT ?",
		namespace, at, id, int64(limit)+1)
	if err != nil {
		return nil, "", wrap("list incidents", err)
	}
	incidents, next = page("incidents", incidents, limit, func(incident engine.Incident) engine.Cursor {
		return engine.Cursor{At: incident.Since, ID: incident.ID}
	})
	return incidents, next, nil
}
