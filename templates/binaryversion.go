package templates

import (
	"strconv"

	"github.com/a-h/templ"
)

// BinaryVersion is the page of one version of a program.
type BinaryVersion struct {
	Page    Page
	Name    string
	Version Version
	Choice  VersionChoice
	// Before and After are the versions beside this one, 0 for none.
	Before, After int
	RunBy         []string // jobs whose next run is of it
	Recent        []string // "nightly, 12 of the last 50": runs of it among the latest of each job
	Source        Source
}

// Source is the text of a script.
type Source struct {
	Lines   []string
	Missing string // why there is none; "" where there is
	More    int64  // lines that follow, as far as is known
	Cut     bool   // even more follow
}

// VersionChoice is what a form lets choose from: a list, or any number up to the latest where the list is long.
type VersionChoice struct {
	Offered []int // newest first; none where a number is typed
	Latest  int
}

// BinaryDiff is the page of two versions side by side.
type BinaryDiff struct {
	Page   Page
	Name   string
	A, B   Version
	Choice VersionChoice
	Fields []DiffField // that differ
	Same   []DiffField // that do not
	Source LineDiff
	Notes  []string
	Swap   string // the same comparison the other way round
}

// versionPath is the page of a version.
func versionPath(binary string, n int) string {
	return "/binaries/" + binary + "/versions/" + strconv.Itoa(n)
}

// changesPath compares a version with the one before it.
func changesPath(binary string, from, to int) string {
	return "/binaries/" + binary + "/diff?a=" + strconv.Itoa(from) + "&b=" + strconv.Itoa(to)
}

// sourceLine leads to lines of a version's source.
func sourceLine(binary string, n int) func(int64) string {
	return func(line int64) string { return versionPath(binary, n) + "#" + lineID(line) }
}

// shown says how much of a long source is on the page.
func (s Source) shown() string {
	words := "Only the first " + Plural(int64(len(s.Lines)), "line is", "lines are") + " shown"
	if !s.Cut && s.More > 0 {
		words += ", " + Plural(s.More, "more follows", "more follow")
	}
	return words + "."
}

// createJobURL leads to a new job that runs a version: by its alias, so that the job moves with it, or else by its number.
func createJobURL(binary string, version Version) templ.SafeURL {
	reference := binary + "@" + strconv.Itoa(version.N)
	if len(version.Aliases) > 0 {
		reference = binary + "@" + version.Aliases[0]
	}
	return templ.URL("/jobs/new?binary=" + reference)
}

// otherVersion is the version to compare a version with by default.
func otherVersion(v BinaryVersion) int {
	if v.Before > 0 {
		return v.Before
	}
	return v.After
}
