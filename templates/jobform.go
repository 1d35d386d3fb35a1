package templates

import "time"

// JobForm is the page on which a definition is written.
type JobForm struct {
	Page       Page
	Name       string // of the job that is edited; "" for a new one
	Definition string
	Message    string
	Revision   int64 // of the job when editing began
	Check      Check
	Binaries   []string // names to choose from
}

func (v JobForm) action() string {
	if v.Name == "" {
		return "/jobs/new"
	}
	return "/jobs/" + v.Name + "/edit"
}

func (v JobForm) title() string {
	if v.Name == "" {
		return "New job"
	}
	return "Edit " + v.Name
}

// Check is what the server says of a definition: its problems, or what it would do.
type Check struct {
	Problems []Problem
	// Conflict says in words why a definition that is right was not saved; "" for nothing.
	Conflict string
	Schedule string // in words
	Next     []Slot
	Manual   bool // it has no schedule
	Now      time.Time
}
