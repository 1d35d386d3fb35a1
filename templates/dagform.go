package templates

// DAGForm is the page on which a DAG is drawn and written.
type DAGForm struct {
	Page       Page
	Name       string // of the DAG that is edited; "" for a new one
	From       string // the DAG that a new one is a copy of; "" for none
	Generation int64  // the earlier form that is in the text; 0 for none
	Definition string
	Message    string
	Revision   int64 // of the DAG when editing began
	Check      DAGCheck
	Conflict   *Conflict // nil: nobody else has changed the DAG
	Binaries   []string  // names to choose from
}

// DAGCheck is what the server says of the definition of a DAG.
type DAGCheck struct {
	Check

	Tasks int
	Roots []RootCheck // those with a schedule; the first few
	More  int         // roots with a schedule that are not in Roots
}

// RootCheck tells when a root of a DAG would start.
type RootCheck struct {
	Task     string
	Schedule string // in words
	Zone     string
	Next     []CheckSlot
}

func (v DAGForm) action() string {
	if v.Name == "" {
		return "/dags/new"
	}
	return "/dags/" + v.Name + "/edit"
}

func (v DAGForm) title() string {
	if v.Name == "" {
		return "New DAG"
	}
	return "Edit " + v.Name
}

// frame is the page's, with the way to it.
func (v DAGForm) frame() Page {
	page := v.Page
	page.Trail = []Crumb{{Name: "DAGs", Href: "/dags"}}
	if v.Name == "" {
		page.Trail = append(page.Trail, Crumb{Name: "New DAG"})
	} else {
		page.Trail = append(page.Trail, Crumb{Name: v.Name, Href: "/dags/" + v.Name}, Crumb{Name: "Edit"})
	}
	return page
}

// unsaved tells that the text is other than what is saved: it came back from a Save that was refused, or is an earlier form.
func (v DAGForm) unsaved() bool {
	return v.Conflict != nil || v.Check.Refused != "" || len(v.Check.Problems) > 0 || v.Generation > 0
}

// back is where the reader came from.
func (v DAGForm) back() string {
	switch {
	case v.Name != "":
		return "/dags/" + v.Name
	case v.From != "":
		return "/dags/" + v.From
	}
	return "/dags"
}

// rootCheck is the check of one root as that of a job, whose table of slots shows it.
func (r RootCheck) check(v Check) Check {
	return Check{Now: v.Now, Zone: r.Zone, Next: r.Next}
}

// dagStarts are the graphs to begin with.
var dagStarts = []struct{ value, title, words string }{
	{"empty", "One task", "the first of what you draw"},
	{"chain", "Chain", "one task after the other"},
	{"diamond", "Diamond", "two at a time, then both together"},
	{"fan", "Fan-out over a list", "one run for each item, then all together"},
	{"cleanup", "Clean up after failure", "a last task that always runs"},
}

var (
	triggerChoices = []choice{
		{"", "all upstream tasks succeeded"}, {"none_failed", "none failed; some may be skipped"},
		{"all_done", "all finished, any result"}, {"one_success", "at least one succeeded"}, {"one_failed", "at least one failed"},
		{"always", "all finished, even in a cancelled wave"},
	}
	waveOverlapChoices = []choice{{"", "skip the slot (the default)"}, {"queue", "queue one wave"}}
)
