package sqlite

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// How many entries of a range are looked at for one page, where not all of them are picked: rows cost a read of the
// table each, entries of an index do not.
const (
	scanRows    = 5_000
	scanEntries = 50_000
)

// historyRange is a part of an index that holds runs in the order of history: the entries for which fixed holds. Of
// those, picked takes some.
type historyRange struct {
	table  string // runs_history if it is ""
	index  string
	fixed  conditions
	picked conditions
	inner  string // columns of the index that picked asks for, after a comma
	scan   int    // entries to look at; 0 if all are picked
}

type conditions struct {
	terms []string
	args  []any
}

func (c *conditions) add(term string, args ...any) {
	c.terms = append(c.terms, term)
	c.args = append(c.args, args...)
}

func (c *conditions) addStatuses(column string, statuses []engine.Status) {
	args := make([]any, len(statuses))
	for i, status := range statuses {
		args[i] = int64(status)
	}
	c.add(column+" IN (?"+strings.Repeat(", ?", len(args)-1)+")", args...)
}

// ranges chooses the indexes by what a filter asks for.
func (s *snapshot) ranges(ctx context.Context, filter *engine.RunFilter) ([]historyRange, error) {
	var ended []engine.Status
	for _, status := range filter.Statuses {
		if status.Terminal() && !slices.Contains(ended, status) {
			ended = append(ended, status)
		}
	}
	all := len(filter.Statuses) == 0
	switch {
	case !all && len(ended) == 0:
		return nil, nil
	case filter.JobUID != "":
		return []historyRange{jobRange(filter, ended)}, nil
	case filter.By != "":
		return []historyRange{byRange(filter, ended)}, nil
	}
	var ranges []historyRange
	namespaces := []string{filter.Namespace}
	if filter.Namespace == "" {
		var err error
		if namespaces, err = s.texts(ctx, "SELECT namespace FROM run_namespaces"); err != nil {
			return nil, err
		}
	}
	for _, namespace := range namespaces {
		switch {
		case !all && !slices.Contains(ended, engine.StatusSucceeded):
			for _, status := range ended {
				ranges = append(ranges, statusRange(filter, namespace, status))
			}
		case filter.Tier != "" && filter.Tier != spec.TierLight:
			ranges = append(ranges, tierRange(filter, namespace, ended))
		default:
			ranges = append(ranges, namespaceRange(filter, namespace, ended))
		}
	}
	return ranges, nil
}

func jobRange(filter *engine.RunFilter, statuses []engine.Status) historyRange {
	r := historyRange{index: "runs_history_job"}
	r.fixed.add("job_uid = ?", filter.JobUID)
	if filter.Task != "" {
		r.index = "runs_history_task"
		r.fixed.add("task = ? AND task <> ''", filter.Task)
	}
	r.pickStatuses(statuses)
	if filter.Namespace != "" {
		r.pickRow("r.namespace = ?", filter.Namespace)
	}
	r.pickJob(filter)
	r.pickTier(filter)
	r.pickBy(filter)
	r.pickText(filter)
	r.pickJobs(filter)
	return r
}

func byRange(filter *engine.RunFilter, statuses []engine.Status) historyRange {
	r := historyRange{index: "runs_history_by"}
	r.fixed.add(`"by" = ? AND "by" <> ''`, filter.By)
	if filter.Namespace != "" {
		r.pickRow("r.namespace = ?", filter.Namespace)
	}
	if len(statuses) > 0 {
		r.picked.addStatuses("r.status", statuses)
		r.scan = scanRows
	}
	r.pickTier(filter)
	r.pickTask(filter)
	r.pickText(filter)
	r.pickJobs(filter)
	return r
}

func statusRange(filter *engine.RunFilter, namespace string, status engine.Status) historyRange {
	r := historyRange{index: "runs_history_status"}
	r.fixed.add("namespace = ? AND status = ? AND status <> 5", namespace, int64(status))
	r.pickTier(filter)
	r.pickTask(filter)
	r.pickText(filter)
	r.pickJobs(filter)
	return r
}

func tierRange(filter *engine.RunFilter, namespace string, statuses []engine.Status) historyRange {
	r := historyRange{index: "runs_history_tier"}
	r.fixed.add("namespace = ? AND tier = ? AND tier <> 'light'", namespace, string(filter.Tier))
	if len(statuses) > 0 {
		r.picked.addStatuses("r.status", statuses)
		r.scan = scanRows
	}
	r.pickTask(filter)
	r.pickText(filter)
	r.pickJobs(filter)
	return r
}

func namespaceRange(filter *engine.RunFilter, namespace string, statuses []engine.Status) historyRange {
	r := historyRange{index: "runs_history_created"}
	r.fixed.add("namespace = ?", namespace)
	r.pickStatuses(statuses)
	if filter.Tier != "" {
		r.inner += ", tier"
		r.picked.add("s.tier = ?", string(filter.Tier))
		r.scan = max(r.scan, scanEntries)
	}
	r.pickTask(filter)
	r.pickText(filter)
	r.pickJobs(filter)
	return r
}

// pickStatuses takes statuses from the index.
func (r *historyRange) pickStatuses(statuses []engine.Status) {
	if len(statuses) > 0 {
		r.inner += ", status"
		r.picked.addStatuses("s.status", statuses)
		r.scan = scanEntries
	}
}

func (r *historyRange) pickRow(term string, args ...any) {
	r.picked.add(term, args...)
	r.scan = scanRows
}

func (r *historyRange) pickJob(filter *engine.RunFilter) {
	if filter.Job != "" {
		r.pickRow("r.job = ? AND r.task = ''", filter.Job)
	}
}

// pickTask is for ranges that are not of one DAG.
func (r *historyRange) pickTask(filter *engine.RunFilter) {
	if filter.Task != "" {
		r.pickRow("r.task = ?", filter.Task)
	}
}

// pickJobs leaves out the runs of tasks, whose ids name the task.
func (r *historyRange) pickJobs(filter *engine.RunFilter) {
	if filter.OfJobs {
		r.picked.add("s.id NOT GLOB '*-*-*'")
		if r.scan == 0 {
			r.scan = scanEntries
		}
	}
}

func (r *historyRange) pickTier(filter *engine.RunFilter) {
	if filter.Tier != "" {
		r.pickRow("r.tier = ?", string(filter.Tier))
	}
}

func (r *historyRange) pickBy(filter *engine.RunFilter) {
	if filter.By != "" {
		r.pickRow(`r."by" = ?`, filter.By)
	}
}

func (r *historyRange) pickText(filter *engine.RunFilter) {
	if filter.Text == "" {
		return
	}
	if ascii(filter.Text) {
		pattern := likePattern(filter.Text)
		r.pickRow(`(s.id LIKE ? ESCAPE '\' OR r.job LIKE ? ESCAPE '\' OR r.reason LIKE ? ESCAPE '\')`, pattern, pattern, pattern)
		return
	}
	lowered := strings.ToLower(filter.Text)
	r.pickRow(`(tidewheel_contains(s.id, ?) OR tidewheel_contains(r.job, ?) OR tidewheel_contains(r.reason, ?))`, lowered, lowered, lowered)
}

func (r *historyRange) from() string { return cmp.Or(r.table, "runs_history") }

// entries asks for keys of the range after from, limited by an argument that follows.
func (r *historyRange) entries(filter *engine.RunFilter, from key, columns string) (query string, args []any) {
	where := conditions{terms: slices.Clone(r.fixed.terms), args: slices.Clone(r.fixed.args)}
	since, until := window(filter.Since, filter.Until)
	if until <= from.at { // of two upper bounds SQLite seeks by one and steps over what lies between them
		from = key{at: until}
	}
	where.add("(created_at, id) < (?, ?) AND created_at >= ?", from.at, from.id, since)
	return "SELECT " + columns + " FROM " + r.from() + " INDEXED BY " + r.index + " WHERE " + strings.Join(where.terms, " AND ") +
		" ORDER BY created_at DESC, id DESC LIMIT ?", where.args
}

// query asks for at most one run more than the filter's limit. The CROSS JOIN keeps the order of the inner list, and
// reads no more of it than it takes to fill the page.
func (r *historyRange) query(filter *engine.RunFilter, from key) (string, []any) {
	inner, args := r.entries(filter, from, "rowid AS row, created_at, id"+r.inner)
	limit := int64(filter.Limit) + 1
	if len(r.picked.terms) == 0 {
		return "SELECT s.created_at, s.id, r.doc FROM (" + inner + ") AS s CROSS JOIN " + r.from() + " AS r ON r.rowid = s.row", append(args, limit)
	}
	args = append(args, int64(r.scan))
	args = append(append(args, r.picked.args...), limit)
	return "SELECT s.created_at, s.id, r.doc FROM (" + inner + ") AS s CROSS JOIN " + r.from() + " AS r ON r.rowid = s.row WHERE " +
		strings.Join(r.picked.terms, " AND ") + " LIMIT ?", args
}

// endQuery asks for the last entry that query may have looked at; there is none if the range ends before.
func (r *historyRange) endQuery(filter *engine.RunFilter, from key) (string, []any) {
	inner, args := r.entries(filter, from, "created_at, id")
	return inner + " OFFSET ?", append(args, int64(1), int64(r.scan)-1)
}
