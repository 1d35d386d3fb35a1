package sqlite

import (
	"context"
	"database/sql"
	"math"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/storetest"
)

// Strips and calendars are read from the index of a job's runs, and never sorted.
func TestMarksUseTheirIndexes(t *testing.T) {
	store, _ := openStore(t)
	if err := storetest.Write(t.Context(), store, *testBatch(0, 1)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		query string
		args  []any
		want  string
	}{
		{marksQuery, []any{"reportaaaaaaaaaa", math.MinInt64, math.MaxInt64, 5}, "USING COVERING INDEX runs_history_job (job_uid=? AND created_at>? AND created_at<?)"},
		{timedQuery, []any{"[1]"}, "USING INTEGER PRIMARY KEY"},
		{upcomingQuery, []any{0, always(engine.Parked), "default", 0, "", 5}, "USING INDEX scheduled_tasks_run_at (run_at>? AND run_at<?)"},
	} {
		var plan strings.Builder
		err := store.list(context.WithoutCancel(t.Context()), "EXPLAIN QUERY PLAN "+test.query, test.args, func(rows *sql.Rows) error {
			var id, parent, unused int
			var detail string
			err := rows.Scan(&id, &parent, &unused, &detail)
			plan.WriteString(detail + "\n")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		// Tasks of one instant are put in the order of their ids; nothing else is sorted.
		sorts := strings.Contains(strings.ReplaceAll(plan.String(), "TEMP B-TREE FOR LAST TERM", ""), "TEMP B-TREE")
		if !strings.Contains(plan.String(), test.want) || sorts {
			t.Errorf("%s\n%s", test.query, plan.String())
		}
	}
}
