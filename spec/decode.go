package spec

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxFile is the largest file or body that is read, in bytes.
const MaxFile = 4 << 20

// Document is one definition of a file.
type Document struct {
	// Job is never nil in a document that Decode returned.
	Job *Job
	// File is as given to Decode, Line the line on which the document begins.
	File string
	Line int
}

// Decode reads a file of YAML documents, or one JSON document. It returns the
// documents that are without fault, with defaults applied, and every problem of
// the others, in the order of the file; a caller that must not do half of the
// work looks at the problems first. A file with hundreds of problems is not read
// to its end. file is only for messages.
//
// Aliases are followed within bounds; merge keys and tags of one's own are
// refused. Empty documents are skipped, but a file of nothing else is a problem.
func Decode(file string, data []byte) ([]Document, Problems) {
	decoder := &decoder{file: file, names: map[string]int{}}
	data, ok := decoder.checkText(data)
	if ok {
		if looksLikeJSON(file, data) {
			decoder.readJSON(data)
		} else {
			decoder.readYAML(data)
		}
		if decoder.seen == 0 && len(decoder.problems) == 0 {
			decoder.report(Problem{Line: 1, Column: 1, Message: "the file holds no document: write at least kind, name and binary"})
		}
	}
	return decoder.documents, decoder.problems.tidy()
}

// DecodeJob reads the JSON body of a request, as strictly as Decode reads a
// file. kind may be left out. name is the job's name where the request states
// it elsewhere, as a URL does: the body may then leave it out, and must not say
// another; an empty name asks for one in the body. The job has its defaults
// applied; it is nil if there are problems.
func DecodeJob(name string, data []byte) (*Job, Problems) {
	decoder := &decoder{names: map[string]int{}, body: true, name: name}
	data, ok := decoder.checkText(data)
	if ok {
		decoder.readJSON(data)
	}
	problems := decoder.problems.tidy()
	if len(problems) > 0 || len(decoder.documents) == 0 {
		return nil, problems
	}
	return decoder.documents[0].Job, nil
}

type decoder struct {
	file      string
	documents []Document
	problems  Problems
	seen      int            // documents that were not empty
	names     map[string]int // name to the line of its document
	body      bool           // a request body: kind may be left out
	name      string         // the name that a request states elsewhere
}

// keptProblems is how many are kept before they are put in order and cut to
// MaxProblems; a hostile file has millions.
const keptProblems = 10 * MaxProblems

func (d *decoder) report(problem Problem) {
	problem.File = d.file
	if len(d.problems) < keptProblems {
		d.problems = append(d.problems, problem)
	}
}

// checkText refuses what no reader should see, and drops a byte order mark.
func (d *decoder) checkText(data []byte) ([]byte, bool) {
	if len(data) > MaxFile {
		d.report(Problem{Line: 1, Column: 1, Message: fmt.Sprintf("the document is %d bytes: at most %d are read; split it", len(data), MaxFile)})
		return nil, false
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if utf8.Valid(data) {
		return data, true
	}
	at := 0
	for at < len(data) {
		character, size := utf8.DecodeRune(data[at:])
		if character == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	line, column := lineAndColumn(data, at)
	d.report(Problem{Line: line, Column: column, Message: fmt.Sprintf("the document is not UTF-8 text: byte 0x%02x is out of place", data[at])})
	return nil, false
}

func looksLikeJSON(file string, data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n")
	if len(data) == 0 || data[0] != '{' {
		return false
	}
	// JSON escapes characters outside the basic plane as pairs, which YAML cannot read.
	return strings.HasSuffix(strings.ToLower(file), ".json") || validJSON(data)
}

// document takes the node of one document. before is the number of lines of
// the file that precede those the node counts.
func (d *decoder) document(root *yaml.Node, before int) {
	if root.Kind == yaml.DocumentNode {
		root = root.Content[0]
	}
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" && !d.body {
		return
	}
	d.seen++
	binder := newBinder(before)
	job := d.bindJob(binder, root)
	for _, problem := range binder.problems {
		d.report(problem)
	}
	if job != nil && len(binder.problems) == 0 {
		job.ApplyDefaults()
		d.documents = append(d.documents, Document{Job: job, File: d.file, Line: root.Line + before})
	}
}

func (d *decoder) bindJob(b *binder, root *yaml.Node) *Job {
	if root.Kind != yaml.MappingNode {
		b.fault(root, "", fmt.Sprintf("a document must be a mapping that begins with kind: %s, not %s", KindJob, describe(root)))
		return nil
	}
	if !d.checkKind(b, root) {
		return nil
	}
	job := &Job{}
	b.bindDocument(root, job)
	if job.Kind == "" {
		job.Kind = KindJob
	}
	if d.name != "" && !b.faulty["name"] {
		switch job.Name {
		case "":
			job.Name = d.name
		case d.name:
		default:
			b.fault(valueOf(root, "name"), "name", fmt.Sprintf("name is %s, but the request is for %s: leave it out or make both the same", quote(job.Name), quote(d.name)))
		}
	}
	b.adopt(job.Validate(), root)
	d.checkRepeatedName(b, root, job)
	return job
}

// checkKind reports whether the document is worth reading as a Job; a kind
// that is merely missing or misspelt is, so that its other faults are told too.
func (d *decoder) checkKind(b *binder, root *yaml.Node) bool {
	kind := valueOf(root, "kind")
	if kind == nil {
		if !d.body {
			b.fault(root, "kind", "kind is missing: write kind: "+KindJob)
		}
		return true
	}
	if kind.Kind != yaml.ScalarNode || kind.ShortTag() == "!!null" {
		return true // the wrong type is told where types are checked
	}
	switch {
	case kind.Value == KindJob || kind.Value == "":
		return true
	case strings.EqualFold(kind.Value, kindDAG):
		b.fault(kind, "kind", "DAGs are not supported by this version of Tidewheel: only kind: Job is")
		return false
	case strings.EqualFold(kind.Value, KindJob) || nearest(kind.Value, []string{KindJob}) != "" || kind.Value == "CronJob":
		b.fault(kind, "kind", fmt.Sprintf("kind must be %s, not %s: did you mean %s?", KindJob, quote(kind.Value), KindJob))
		return true
	default:
		b.fault(kind, "kind", fmt.Sprintf("kind must be %s, not %s", KindJob, quote(kind.Value)))
		return false
	}
}

func (d *decoder) checkRepeatedName(b *binder, root *yaml.Node, job *Job) {
	if job.Name == "" || b.faulty["name"] {
		return
	}
	if first, repeated := d.names[job.Name]; repeated {
		b.fault(valueOf(root, "name"), "name", fmt.Sprintf("name %s is taken by the job on line %d of this file: names are unique", quote(job.Name), first))
		return
	}
	d.names[job.Name] = root.Line + b.before
}

// valueOf is the value of a key of a mapping, or nil.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			value := mapping.Content[i+1]
			if value.Kind == yaml.AliasNode {
				return value.Alias
			}
			return value
		}
	}
	return nil
}

// adopt takes over problems that know only their path, and gives each the place
// of what is written there, or of the nearest thing around it. Where reading a
// value failed, nothing more is said about it.
func (b *binder) adopt(problems Problems, root *yaml.Node) {
	for _, problem := range problems {
		if b.faultyAround(problem.Path) {
			continue
		}
		path := problem.Path
		place, known := b.places[path]
		for !known && path != "" {
			path = parentPath(path)
			place, known = b.places[path]
		}
		if !known {
			place = root
		}
		if strings.HasPrefix(problem.Path, path+"[") {
			// One value stands where a list may: it has no element to name.
			problem.Message = strings.Replace(problem.Message, problem.Path, path, 1)
			problem.Path = path
		}
		b.faultAt(place, problem)
	}
}

func (b *binder) faultyAround(path string) bool {
	for ; path != ""; path = parentPath(path) {
		if b.faulty[path] {
			return true
		}
	}
	return false
}

func parentPath(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

// knownPaths are the paths of all keys of a Job, for hints across levels.
var knownPaths = func() []string {
	paths := keyPaths("", jobType)
	slices.Sort(paths)
	return paths
}()
