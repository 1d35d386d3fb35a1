package templates

import "time"

// JobForm is the page on which a definition is written.
type JobForm struct {
	Page       Page
	Name       string // of the job that is edited; "" for a new one
	From       string // the job that a new one is a copy of; "" for none
	Definition string
	Message    string
	Revision   int64 // of the job when editing began
	Check      Check
	Conflict   *Conflict // nil: nobody else has changed the job
	Binaries   []string  // names to choose from
}

func (v JobForm) action() string {
	if v.Name == "" {
		return "/jobs/new"
	}
	return "/jobs/" + v.Name + "/edit"
}

// frame is the page's, with the way to it.
func (v JobForm) frame() Page {
	page := v.Page
	page.Trail = []Crumb{{Name: "Jobs", Href: "/jobs"}}
	if v.Name == "" {
		page.Trail = append(page.Trail, Crumb{Name: "New job"})
	} else {
		page.Trail = append(page.Trail, Crumb{Name: v.Name, Href: "/jobs/" + v.Name}, Crumb{Name: "Edit"})
	}
	return page
}

func (v JobForm) title() string {
	if v.Name == "" {
		return "New job"
	}
	return "Edit " + v.Name
}

// unsaved tells that the text came back from a Save that was refused.
func (v JobForm) unsaved() bool {
	return v.Conflict != nil || v.Check.Refused != "" || len(v.Check.Problems) > 0
}

// back is where the reader came from.
func (v JobForm) back() string {
	switch {
	case v.Name != "":
		return "/jobs/" + v.Name
	case v.From != "":
		return "/jobs/" + v.From
	}
	return "/jobs"
}

// Conflict is an edit of somebody else that came between.
type Conflict struct {
	By       string
	At       time.Time
	Message  string
	Revision int64 // of the job as it is now
	Changes  Changes
}

// Check is what the server says of a definition: its problems, or what it would do.
type Check struct {
	Problems []CheckProblem
	// Refused says in words why a definition that is right was not saved; "" for nothing.
	Refused  string
	Schedule string // in words
	Zone     string // in which cron expressions are read; "" where there are none
	Next     []CheckSlot
	Manual   bool // it has no schedule
	Now      time.Time
	// Saved tells that there is a saved form to compare with, and Changes what is other than in it.
	Saved   bool
	Changes Changes
}

// CheckProblem is a problem with the field that it is about.
type CheckProblem struct {
	Problem

	Path string // "retry.max_attempts"; "" for the definition as a whole
}

// CheckSlot is an instant at which a definition would run.
type CheckSlot struct {
	At    time.Time
	Local string // the same on the clocks of the schedule's zone; "" where that is UTC
	Note  string // what is unusual about it
}

// Changes are the lines of a difference, with a few around them.
type Changes []ChangedLine

// ChangedLine is one of them. Both is in the old and the new form; a gap stands for lines that are left out.
type ChangedLine struct {
	Kind ChangeKind
	Text string
}

// ChangeKind says in which form a line stands.
type ChangeKind string

// The kinds.
const (
	LineAdded   ChangeKind = "added"
	LineRemoved ChangeKind = "removed"
	LineBoth    ChangeKind = "both"
	LineGap     ChangeKind = "gap"
)

// sign is what stands before a line, for readers who see no colour.
func (l ChangedLine) sign() string {
	switch l.Kind {
	case LineAdded:
		return "+"
	case LineRemoved:
		return "−"
	case LineGap:
		return "⋯"
	case LineBoth:
	}
	return " "
}

// word is the same for readers who see nothing.
func (l ChangedLine) word() string {
	switch l.Kind {
	case LineAdded:
		return "Added: "
	case LineRemoved:
		return "Removed: "
	case LineGap, LineBoth:
	}
	return ""
}

// choice is a value of a list to choose from, with words.
type choice struct{ value, words string }

var (
	tierChoices = []choice{
		{"", "by its timeout"}, {"light", "light: up to 10 minutes"}, {"medium", "medium: up to an hour"}, {"heavy", "heavy: longer"},
	}
	classChoices   = []choice{{"", "standard"}, {"premium", "premium: runs first within its tier"}}
	overlapChoices = []choice{
		{"", "skip the slot (the default)"}, {"queue", "queue it until the run has finished"}, {"allow", "run in parallel"}, {"replace", "cancel the earlier run, start a new one"},
	}
	catchUpChoices = []choice{
		{"", "the last one (the default)"}, {"none", "none of them"}, {"all", "all of them, at most 1,000"},
	}
	deliveryChoices = []choice{
		{"", "is retried (the default)"}, {"at_most_once", "is never retried"},
	}
	kindChoices = []choice{
		{"schedule", "At set times"}, {"every", "At an interval"}, {"after", "After each run"}, {"at", "Once"}, {"none", "Manual"},
	}
	presetChoices = []choice{
		{"", "Custom expression"}, {"minutes", "Every few minutes"}, {"hourly", "Every hour"}, {"daily", "Every day"},
		{"weekdays", "Monday to Friday"}, {"weekly", "Every week"}, {"monthly", "Every month"},
	}
	weekdayChoices = []choice{
		{"MON", "Monday"}, {"TUE", "Tuesday"}, {"WED", "Wednesday"}, {"THU", "Thursday"}, {"FRI", "Friday"}, {"SAT", "Saturday"}, {"SUN", "Sunday"},
	}
	unitChoices = []choice{{"s", "seconds"}, {"m", "minutes"}, {"h", "hours"}}
)
