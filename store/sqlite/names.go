package sqlite

import (
	"context"
	"database/sql"
)

const (
	jobNamesQuery    = "SELECT name FROM jobs INDEXED BY jobs_name WHERE namespace = ? AND name >= ? AND deleted = 0 ORDER BY name LIMIT ?"
	binaryNamesQuery = "SELECT name FROM binaries WHERE namespace = ? AND name >= ? ORDER BY name LIMIT ?"
)

// JobNames lists names of living jobs from one on, in order.
func (s *Store) JobNames(ctx context.Context, namespace, from string, limit int) ([]string, error) {
	names, err := s.names(ctx, jobNamesQuery, namespace, from, int64(limit))
	return names, wrap("names of jobs", err)
}

// BinaryNames lists names of binaries from one on, in order.
func (s *Store) BinaryNames(ctx context.Context, namespace, from string, limit int) ([]string, error) {
	names, err := s.names(ctx, binaryNamesQuery, namespace, from, int64(limit))
	return names, wrap("names of binaries", err)
}

func (s *Store) names(ctx context.Context, query string, args ...any) (names []string, err error) {
	err = s.list(ctx, query, args, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		names = append(names, name)
		return err
	})
	return names, err
}
