package spec

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxFile is the largest file or body that is read, in bytes.
const MaxFile = 4 << 20

// MaxSource is the longest text of a document that is kept as it was written, in bytes.
const MaxSource = 256 << 10

// Document is one definition of a file.
type Document struct {
	// One of Job and DAG is never nil in a document that Decode returned, the other is.
	Job *Job
	DAG *DAG
	// File is as given to Decode, Line the line on which the document begins.
	File string
	Line int
	// Source is the text of the document alone, as it was written: comments above it are in it, the marks between
	// documents and empty lines above are not. It is "" where it was JSON, or longer than MaxSource.
	Source string
}

// Kind is that of the definition.
func (d Document) Kind() string {
	if d.DAG != nil {
		return KindDAG
	}
	return KindJob
}

// Name is that of the definition.
func (d Document) Name() string {
	if d.DAG != nil {
		return d.DAG.Name
	}
	return d.Job.Name
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
	return (&decoder{file: file, names: map[string]taken{}}).decodeFile(data)
}

// decodeStored is Decode for a text that was accepted before, maybe by an earlier version: what it asks for in
// vain is read and not refused.
func decodeStored(source string) ([]Document, Problems) {
	return (&decoder{names: map[string]taken{}, stored: true}).decodeFile([]byte(source))
}

func (d *decoder) decodeFile(data []byte) ([]Document, Problems) {
	data, ok := d.checkText(data)
	if ok {
		if looksLikeJSON(d.file, data) {
			d.readJSON(data)
		} else {
			d.readYAML(data)
		}
		if d.seen == 0 && len(d.problems) == 0 {
			d.report(Problem{Line: 1, Column: 1, Message: "the file holds no document: write at least kind, name and binary"})
		}
	}
	return d.documents, d.problems.tidy()
}

// DecodeJob reads the JSON body of a request, as strictly as Decode reads a
// file. kind may be left out. name is the job's name where the request states
// it elsewhere, as a URL does: the body may then leave it out, and must not say
// another; an empty name asks for one in the body. The job has its defaults
// applied; it is nil if there are problems.
func DecodeJob(name string, data []byte) (*Job, Problems) {
	document, problems := decodeBody(KindJob, name, data)
	return document.Job, problems
}

// DecodeDAG is DecodeJob for a DAG.
func DecodeDAG(name string, data []byte) (*DAG, Problems) {
	document, problems := decodeBody(KindDAG, name, data)
	return document.DAG, problems
}

func decodeBody(kind, name string, data []byte) (Document, Problems) {
	decoder := &decoder{names: map[string]taken{}, body: kind, name: name}
	data, ok := decoder.checkText(data)
	if ok {
		decoder.readJSON(data)
	}
	problems := decoder.problems.tidy()
	if len(problems) > 0 || len(decoder.documents) == 0 {
		return Document{}, problems
	}
	return decoder.documents[0], nil
}

type decoder struct {
	file      string
	documents []Document
	problems  Problems
	seen      int // documents that were not empty
	names     map[string]taken
	body      string // the kind that a request body must have, and may leave out
	name      string // the name that a request states elsewhere
	stored    bool   // the text was accepted before
}

// taken reports which document has a name.
type taken struct {
	kind string
	line int
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
// the file that precede those the node counts, source what Document says.
func (d *decoder) document(root *yaml.Node, before int, source string) {
	if root.Kind == yaml.DocumentNode {
		root = root.Content[0]
	}
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" && d.body == "" {
		return
	}
	d.seen++
	binder := newBinder(before)
	found := Document{File: d.file, Line: root.Line + before, Source: source}
	switch d.kindOf(binder, root) {
	case KindJob:
		found.Job = &Job{}
		binder.bindDocument(root, found.Job)
		fill(&found.Job.Kind, KindJob)
		d.checkName(binder, root, &found.Job.Name)
		d.judge(binder, root, found.Job)
		found.Job.ApplyDefaults()
	case KindDAG:
		found.DAG = &DAG{}
		binder.bindDocument(root, found.DAG)
		fill(&found.DAG.Kind, KindDAG)
		d.checkName(binder, root, &found.DAG.Name)
		d.judge(binder, root, found.DAG)
		found.DAG.ApplyDefaults()
	default:
		// The problem says why.
	}
	if found.Job != nil || found.DAG != nil {
		d.checkRepeatedName(binder, root, found)
	}
	for _, problem := range binder.problems {
		d.report(problem)
	}
	if len(binder.problems) == 0 {
		d.documents = append(d.documents, found)
	}
}

// judged is a [Job] or a [DAG].
type judged interface {
	Validate() Problems
	Unsupported() Problems
}

// judge adds what is wrong with a definition that could be read, and, if nothing is, what it asks for in vain.
func (d *decoder) judge(b *binder, root *yaml.Node, definition judged) {
	problems := definition.Validate()
	if len(problems) == 0 && !d.stored {
		problems = definition.Unsupported()
	}
	b.adopt(problems, root)
}

// checkName holds the name of the body against that of the request.
func (d *decoder) checkName(b *binder, root *yaml.Node, name *string) {
	if d.name == "" || b.faulty["name"] {
		return
	}
	switch *name {
	case "":
		*name = d.name
	case d.name:
	default:
		b.fault(valueOf(root, "name"), "name", fmt.Sprintf("name is %s, but the request is for %s: leave it out or make both the same", quote(*name), quote(d.name)))
	}
}

// kindOf says as what the document is worth reading, "" if as nothing; a kind
// that is merely missing or misspelt is reported, and the other faults too.
func (d *decoder) kindOf(b *binder, root *yaml.Node) string {
	kinds := []string{KindJob, KindDAG}
	if d.body != "" {
		kinds = []string{d.body}
	}
	if root.Kind != yaml.MappingNode {
		b.fault(root, "", fmt.Sprintf("a document must be a mapping that begins with kind: %s, not %s", strings.Join(kinds, " or kind: "), describe(root)))
		return ""
	}
	likely := kinds[0]
	if d.body == "" && valueOf(root, "tasks") != nil {
		likely = KindDAG
	}
	kind := valueOf(root, "kind")
	if kind == nil {
		if d.body == "" {
			b.fault(root, "kind", "kind is missing: write kind: "+likely)
		}
		return likely
	}
	if kind.Kind != yaml.ScalarNode || kind.ShortTag() == "!!null" || kind.Value == "" {
		return likely // the wrong type is reported where types are checked
	}
	if slices.Contains(kinds, kind.Value) {
		return kind.Value
	}
	near := nearest(kind.Value, kinds)
	if near == "" && kind.Value == "CronJob" && kinds[0] == KindJob {
		near = KindJob
	}
	fault := fmt.Sprintf("kind must be %s, not %s", orList(kinds), quote(kind.Value))
	if near != "" {
		fault = fmt.Sprintf("kind must be %s, not %s: did you mean %s?", near, quote(kind.Value), near)
	}
	b.fault(kind, "kind", fault)
	return near
}

// checkRepeatedName: a command such as `tidewheel run NAME` takes either kind.
func (d *decoder) checkRepeatedName(b *binder, root *yaml.Node, found Document) {
	name := found.Name()
	if name == "" || b.faulty["name"] {
		return
	}
	if first, repeated := d.names[name]; repeated {
		noun := "job"
		if first.kind == KindDAG {
			noun = KindDAG
		}
		b.fault(valueOf(root, "name"), "name", fmt.Sprintf("name %s is taken by the %s on line %d of this file: names are unique", quote(name), noun, first.line))
		return
	}
	d.names[name] = taken{found.Kind(), root.Line + b.before}
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

// knownPaths are the paths of all keys of each kind, for hints across levels.
var knownPaths = map[reflect.Type][]string{
	jobType: slices.Sorted(slices.Values(keyPaths("", jobType))),
	dagType: slices.Sorted(slices.Values(keyPaths("", dagType))),
}
