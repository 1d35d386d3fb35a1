package spec

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Problem is one fault of a definition, in words for the person who wrote it.
type Problem struct {
	// File is as given to Decode; empty for a request body or a Job in memory.
	File string `json:"file,omitempty"`
	// Line and Column count from 1, in characters; 0 is not known.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Path is the field: "retry.max_attempts", "schedule[1]"; empty for the
	// document as a whole.
	Path string `json:"path,omitempty"`
	// Message is a sentence that stands by itself, and says what to do.
	Message string `json:"message"`
}

// Error is "file:line:column: message", as far as they are known.
func (p Problem) Error() string {
	var text strings.Builder
	if p.File != "" {
		text.WriteString(p.File + ":")
	}
	if p.Line > 0 {
		text.WriteString(strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column) + ":")
	}
	if text.Len() > 0 {
		text.WriteString(" ")
	}
	text.WriteString(p.Message)
	return text.String()
}

// Problems are all faults of a definition or a file. A nil Problems is none;
// use [Problems.Err] where an error is wanted.
type Problems []Problem

// Error is one problem per line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.Error()
	}
	return strings.Join(lines, "\n")
}

// Err is nil when there is no problem.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// MaxProblems is how many problems of one file are reported; a last one says
// that there are more.
const MaxProblems = 100

// tidy orders problems by place, drops repetitions and bounds their number.
func (p Problems) tidy() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	p = slices.Compact(p)
	if len(p) <= MaxProblems {
		return p
	}
	rest := p[MaxProblems]
	rest.Path = ""
	rest.Message = "there are more problems from here on: mend the ones above first"
	return append(p[:MaxProblems:MaxProblems], rest)
}
