package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"testing"
)

// Names are read from an index alone: no document of a job is touched, and nothing is sorted.
func TestNamesUseTheirIndexes(t *testing.T) {
	store, _ := openStore(t)
	for query, want := range map[string]string{
		jobNamesQuery:    "USING COVERING INDEX jobs_name (namespace=? AND name>?)",
		binaryNamesQuery: "USING COVERING INDEX sqlite_autoindex_binaries_1 (namespace=? AND name>?)",
	} {
		var plan strings.Builder
		err := store.list(context.WithoutCancel(t.Context()), "EXPLAIN QUERY PLAN "+query, []any{"default", "a", 5}, func(rows *sql.Rows) error {
			var id, parent, unused int
			var detail string
			err := rows.Scan(&id, &parent, &unused, &detail)
			plan.WriteString(detail + "\n")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan.String(), want) || strings.Contains(plan.String(), "TEMP B-TREE") {
			t.Errorf("%s\nis answered by\n%s\nwant %s", query, plan.String(), want)
		}
	}
}
