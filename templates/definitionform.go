package templates

import (
	"time"

	"github.com/a-h/templ"
)

// DefinitionForm is the page on which a definition is written.
type DefinitionForm struct {
	Page       Page
	Kind       *Kind
	Name       string // of what is edited; "" for a new one
	From       string // the one that a new one is a copy of; "" for none
	Generation int64  // the earlier form that is in the text; 0 for none
	Definition string
	Message    string
	Revision   int64 // of the definition when editing began
	Check      Check
	Conflict   *Conflict // nil: no other user has changed it
	Binaries   []string  // names to choose from
	Targets    []string  // names of notification targets to choose from
	Rules      string    // the default alerts of the namespace, in words; "" for none
}

func (v DefinitionForm) title() string {
	if v.Name == "" {
		return "New " + v.Kind.Noun
	}
	return "Edit " + v.Name
}

func (v DefinitionForm) action() string {
	if v.Name == "" {
		return v.Kind.Address("/new")
	}
	return v.Kind.Address("/" + v.Name + "/edit")
}

// frame is the page's, with the way to it.
func (v DefinitionForm) frame() Page {
	page := v.Page
	page.Title, page.Section, page.Trail = v.title(), v.Kind.Section, []Crumb{{Name: v.Kind.Title, Href: v.Kind.Address("")}}
	if v.Name == "" {
		page.Trail = append(page.Trail, Crumb{Name: v.title()})
	} else {
		page.Trail = append(page.Trail, Crumb{Name: v.Name, Href: v.Kind.Address("/" + v.Name)}, Crumb{Name: "Edit"})
	}
	return page
}

// unsaved reports whether the text is other than what is saved: it came back from a Save that was refused, or is an earlier form.
func (v DefinitionForm) unsaved() bool {
	return v.Conflict != nil || v.Check.Refused != "" || len(v.Check.Problems) > 0 || v.Generation > 0
}

// back is where the reader came from.
func (v DefinitionForm) back() string {
	if from := v.Name + v.From; from != "" { // one of them is ""
		return v.Kind.Address("/" + from)
	}
	return v.Kind.Address("")
}

// script names the form for the script that draws its fields.
func (v DefinitionForm) script() templ.Attributes {
	return templ.Attributes{"data-" + v.Kind.id + "form": true}
}

// Conflict is an edit of another user that came between.
type Conflict struct {
	By       string
	At       time.Time
	Message  string
	Revision int64 // of the definition as it is now
	Changes  Changes
}

// Check is what the server says of a definition: its problems, or what it would do.
type Check struct {
	Problems []CheckProblem
	// Refused says in words why a definition that is right was not saved; "" for nothing.
	Refused string
	Tasks   int             // of a DAG
	Next    []ScheduleSlots // of the first few of its schedules; none where it only runs manually
	More    int             // schedules that are not in Next
	Now     time.Time
	// Saved reports whether there is a saved version to compare with, and Changes what differs from it.
	Saved   bool
	Changes Changes
}

// manualOnly says that it has no schedule.
func (v Check) manualOnly() string {
	if v.Tasks > 0 {
		return Plural(int64(v.Tasks), "task", "tasks") + ". Waves start manually only: no root has a schedule."
	}
	return "Manual only: it has no schedule."
}

// CheckProblem is a problem with the field that it is about.
type CheckProblem struct {
	Problem

	Path string // "retry.max_attempts"; "" for the definition as a whole
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
