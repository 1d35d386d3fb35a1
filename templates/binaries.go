package templates

import "time"

// Binaries is the list of programs.
type Binaries struct {
	Page  Page
	Rows  []BinaryRow
	Pager Pager
}

// BinaryRow is a program in the list.
type BinaryRow struct {
	Name    string
	Latest  int
	Kind    string
	Size    int64
	Aliases []Alias
	Updated time.Time
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
	Versions []Version // newest first
	Aliases  []Alias
	Jobs     []string // that use it
	Moves    []AliasMove
}

// Version is one upload.
type Version struct {
	N       int
	SHA256  string
	Size    int64
	Kind    string
	By      string
	At      time.Time
	Content string // where its bytes are
	Aliases []string
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
}
