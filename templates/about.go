package templates

// Retention is the page of what is kept for how long.
type Retention struct {
	Page      Page
	Namespace string
	// These are of the namespace, as they are typed; "" for those of the server.
	Age, Runs, Output    string
	Server, ServerOutput string // how long the server keeps runs, and their output
	Problem              string // why a change was not made
	Kept                 []Kept
}

// kept says how long the namespace keeps runs.
func (v Retention) kept() string {
	words := v.Server
	if v.Age != "" {
		words = v.Age
	}
	if v.Runs != "" {
		words += ", the newest " + v.Runs + " of each job and DAG at most"
	}
	return words
}

// keptOutput says how long the namespace keeps what runs have in S3.
func (v Retention) keptOutput() string {
	if v.Output != "" {
		return "for " + v.Output
	}
	return v.ServerOutput
}

// Kept is something that the server keeps, and for how long.
type Kept struct{ What, For, Flag, Note string }

// About is the page of what a server is made of.
type About struct {
	Page  Page
	Parts []Part
}

// Part is a part of a server, or a fact about it.
type Part struct{ Name, Value string }
