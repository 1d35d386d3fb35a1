package templates

import "time"

// Jobs is the list of jobs.
type Jobs struct {
	Page  Page
	Text  string // what the list is narrowed to
	Rows  []JobRow
	Pager Pager
	Live  string // where the list is fetched again
}

// JobRow is a job in the list.
type JobRow struct {
	Name        string
	Description string
	Schedule    string // in words
	Binary      string
	Next        time.Time
	Paused      bool
	Last        *RunRow
}

func jobState(paused bool) string {
	if paused {
		return "paused"
	}
	return "active"
}
