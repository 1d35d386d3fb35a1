package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/spec"
)

// Result is what happened to one file.
type Result struct {
	// Documents are in the order of the file. Their names are unique.
	Documents []spec.Document
	// Notes report what did not map and what is to be done, in the order of the lines.
	Notes []Note
}

// Note says something about a line of the file, or about all of it.
type Note struct {
	Line int // from 1; 0: all of it
	Text string
}

// builder collects a result.
type builder struct {
	result Result
	names  map[string]bool // taken, in lower case
	noted  map[Note]bool
	shell  bool // something runs Shell
}

func newBuilder() *builder { return &builder{names: map[string]bool{}, noted: map[Note]bool{}} }

// note adds a note, once.
func (b *builder) note(line int, format string, arguments ...any) {
	note := Note{line, fmt.Sprintf(format, arguments...)}
	if !b.noted[note] {
		b.noted[note] = true
		b.result.Notes = append(b.result.Notes, note)
	}
}

// job adds a job, unless something is wrong with it: that is noted.
func (b *builder) job(line int, job *spec.Job) {
	job.Kind = spec.KindJob
	job.Name = b.name(line, job.Name)
	b.add(line, spec.Document{Job: job, Line: line}, append(job.Validate(), job.Unsupported()...))
}

// dag adds a DAG in the same way.
func (b *builder) dag(line int, dag *spec.DAG) {
	dag.Kind = spec.KindDAG
	dag.Name = b.name(line, dag.Name)
	b.add(line, spec.Document{DAG: dag, Line: line}, append(dag.Validate(), dag.Unsupported()...))
}

func (b *builder) add(line int, document spec.Document, problems spec.Problems) {
	for _, problem := range problems {
		b.note(line, "%s is left out: %s", document.Name(), problem.Message)
	}
	if len(problems) == 0 {
		b.result.Documents = append(b.result.Documents, document)
	}
}

// name makes a valid name that nothing has yet, and notes a change.
func (b *builder) name(line int, wanted string) string {
	name := validName(wanted)
	for n := 2; b.names[strings.ToLower(name)]; n++ {
		suffix := fmt.Sprintf("-%d", n)
		name = cut(validName(wanted), spec.MaxNameLength-len(suffix)) + suffix
	}
	b.names[strings.ToLower(name)] = true
	if name != wanted {
		b.note(line, "%q is named %s here", wanted, name)
	}
	return name
}

// finish sorts the notes and says how to upload Shell.
func (b *builder) finish() Result {
	slices.SortStableFunc(b.result.Notes, func(x, y Note) int { return cmp.Compare(x.Line, y.Line) })
	if b.shell {
		b.note(0, "commands are run by the program %s, a script; upload it once: printf %s > %s && tidewheel binary push %s %s",
			ShellName, quote(strings.ReplaceAll(Shell, "\n", `\n`)), ShellName, ShellName, ShellName)
	}
	return b.result
}

// validName puts '-' in the place of what a name cannot hold.
func validName(text string) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	name := cut(strings.Trim(b.String(), "-_"), spec.MaxNameLength)
	if name == "" || spec.ValidName("job", name) != nil {
		return "imported"
	}
	return name
}

func cut(text string, length int) string { return text[:min(len(text), length)] }
