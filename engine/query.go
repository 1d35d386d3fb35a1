package engine

import (
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// RunFilter selects runs for a page of history. Zero fields do not filter.
type RunFilter struct {
	Namespace string
	JobUID    string
	Job       string // by name, through all jobs that had it
	DAG       string // by name, through all DAGs that had it: runs of their tasks
	DAGUID    string
	Task      string // of a DAG; an index answers for it with JobUID or DAGUID, or with DAG
	OfJobs    bool   // not those of a DAG's tasks
	Statuses  []Status
	Tier      spec.Tier
	By        string
	Since     time.Time // created at or after
	Until     time.Time // created before
	Text      string    // in the id, the name of the job or DAG, or the reason; case is ignored
	Cursor    string    // from the page before; "" for the first
	Limit     int       // 1 … 1000
}

// Owner returns the uid of the job or DAG that JobUID or DAGUID asks for, "" if neither does. False: they ask for two, so
// no run is selected.
func (f *RunFilter) Owner() (uid string, possible bool) {
	switch {
	case f.JobUID == "":
		return f.DAGUID, true
	case f.DAGUID == "", f.DAGUID == f.JobUID:
		return f.JobUID, true
	}
	return "", false
}

// SlotFilter selects ledger entries of one job that touch [Since, Until), newest first.
type SlotFilter struct {
	JobUID string
	Since  time.Time
	Until  time.Time
	Cursor string
	Limit  int
}
