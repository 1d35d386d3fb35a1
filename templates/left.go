package templates

// Left is what a run has handed on to the runs after it.
type Left struct {
	Run    string // id
	Values []Fact
	Files  []LeftFile
	More   int // files that are not among Files
}

// LeftFile is a file to download.
type LeftFile struct {
	Name   string
	Link   string
	Bytes  int64
	Digest string // sha256, hex
}
