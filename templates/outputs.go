package templates

import "strconv"

// Outputs is the search of the outputs of many runs.
type Outputs struct {
	Page                               Page
	Job, DAG, Task, Since, Until, Text string
	Errors                             bool
	Spans                              []Option
	Problem                            string
	Notes                              []string // how times that were typed are meant
	Searched                           bool     // something was asked for
	Looked                             string   // how much was searched, in words
	Runs                               []FoundRun
	Next                               string // searches further back; "" where all has been searched
}

// FoundRun is an output in which something was found.
type FoundRun struct {
	Row     RunRow
	Attempt int
	Lines   []FoundLine
	More    bool
	Href    string // the same search in this output alone
}

// FoundLine is a line in which something was found, and the way to it.
type FoundLine struct {
	Match
	Href string
}

// LineURL leads to a line of an output.
func LineURL(run string, attempt int, line int64) string {
	return Output{Run: run, Attempt: attempt}.lineURL(line)
}

func attemptWord(n int) string { return "attempt " + strconv.Itoa(n) }
