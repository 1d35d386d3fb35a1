package templates

import "strconv"

// RunDiff is the page of two runs side by side.
type RunDiff struct {
	Page   Page
	Title  string
	A, B   DiffSide
	Fields []DiffField // that differ
	Same   []DiffField // that do not
	Output LineDiff
	// Notes say in words what of the outputs was compared, and what not.
	Notes []string
	Exact bool
	// Other is the same comparison with numbers compared, or not.
	Other string
	Swap  string // the same comparison the other way round
	// Choose leads to the choice of another run to compare with.
	Choose string
}

// RunCompare is the choice of a run to compare with.
type RunCompare struct {
	Page     Page
	Run      RunRow
	LastGood string // leads to the comparison with the last good run; "" where there is none
	Others   []RunChoice
	Pager    Pager
}

// RunChoice is a run that may be chosen, and where that leads.
type RunChoice struct {
	Row  RunRow
	Href string
}

// DiffSide is one of two runs.
type DiffSide struct {
	ID, Job, Status string
	Words           string // "the last good run", "run in question"
	Row             RunRow
}

// DiffField is one thing that is compared.
type DiffField struct{ Name, A, B string }

// LineDiff is two texts side by side.
type LineDiff struct {
	Rows           []DiffRow
	Removed, Added int  // lines that are left only, and right only
	Missing        bool // they were not compared
}

// DiffRow is a line of each side.
type DiffRow struct {
	Kind  string // same, numbers, changed, removed, added, gap
	A, B  int64  // line numbers, 0 for none
	TextA string
	TextB string
	Gap   int
}

// sign is what tells rows apart without colour.
func (r DiffRow) sign() string {
	switch r.Kind {
	case "changed":
		return "changed"
	case "removed":
		return "only left"
	case "added":
		return "only right"
	}
	return ""
}

// runLine leads to lines of a run's output.
func runLine(run string) func(int64) string {
	return func(line int64) string {
		return "/runs/" + run + "?line=" + strconv.FormatInt(line, 10) + "#" + lineID(line)
	}
}
