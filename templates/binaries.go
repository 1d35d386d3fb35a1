package templates

import (
	"fmt"
	"strings"
	"time"

	"github.com/a-h/templ"
)

// jobsNamed is how many jobs a row of a table names.
const jobsNamed = 3

// Binaries is the list of programs.
type Binaries struct {
	Page  Page
	Text  string // what of their names it is narrowed to
	Rows  []BinaryRow
	Pager Pager
	Live  string // where the list is fetched again
	More  bool   // there are more that match: a longer part of the name finds them
}

// BinaryRow is a program in the list.
type BinaryRow struct {
	Name    string
	Latest  int
	Kind    string
	Size    int64
	Aliases []Alias
	Updated time.Time

	Removing bool // it is about to be deleted
}

// Alias is a name that points at a version.
type Alias struct {
	Name string
	N    int
	// Back is the version that a rollback would lead to; 0 if there is none.
	Back int
}

// Binary is the page of one program.
type Binary struct {
	Page     Page
	Name     string
	Versions []Version // newest first, a page of them
	Total    int       // versions there are
	Pager    Pager
	Choice   VersionChoice
	Aliases  []Alias
	Jobs     []BinaryUser
	Moves    []AliasMove
	Uploaded bool // just now: the next step is a job
}

// createJobURL leads to a new job that runs the binary as most do: by stable, if there is such an alias.
func (b Binary) createJobURL() templ.SafeURL {
	for _, alias := range b.Aliases {
		if alias.Name == "stable" {
			return templ.URL("/jobs/new?binary=" + b.Name + "@stable")
		}
	}
	return templ.URL("/jobs/new?binary=" + b.Name)
}

// Version is one upload.
type Version struct {
	N       int
	Before  int // the version before it, 0 for none
	SHA256  string
	Size    int64
	Kind    string
	By      string
	At      time.Time
	Content string // where its bytes are
	Aliases []string
	Jobs    []string // that run it, if they run now
}

// BinaryUser is a job that runs a program.
type BinaryUser struct {
	Job string // or "dag/task"
	// Reference is what follows the program's name: "@stable", "@3", or "" for the latest version.
	Reference string
	Version   int // that this means now; 0 for none
	Paused    bool
}

// userPath is the page of a job, or of the DAG of a task.
func userPath(name string) templ.SafeURL {
	if dag, _, task := strings.Cut(name, "/"); task {
		return templ.SafeURL("/dags/" + dag)
	}
	return templ.SafeURL("/jobs/" + name)
}

// words says which version a job runs, and why.
func (u BinaryUser) words() string {
	words := "by " + u.Reference
	if u.Reference == "" {
		words = "always the latest version"
	}
	if u.Version > 0 {
		words += fmt.Sprintf(", now version %d", u.Version)
	} else {
		words += ", which is not there"
	}
	if u.Paused {
		words += "; paused"
	}
	return words
}

func changeWords(jobs, version int) string {
	if jobs == 1 {
		return fmt.Sprintf("1 job runs version %d from its next run on.", version)
	}
	return fmt.Sprintf("%d jobs run version %d from their next runs on.", jobs, version)
}

// AliasChange is the page that says what moving an alias does, before it is done.
type AliasChange struct {
	Page     Page
	Binary   string
	Alias    string
	RollBack bool
	From, To Version // From.N is 0 where the alias is new
	Jobs     []BinaryUser
}

// AliasMove is one change of an alias.
type AliasMove struct {
	Alias    string
	From, To int
	By       string
	At       time.Time
}

// Upload is the form through which a program arrives.
type Upload struct {
	Page    Page
	Name    string
	Alias   string
	Problem string
	MaxSize string
	// Platform is the server's, as Go names it: linux/amd64.
	Platform string
}
