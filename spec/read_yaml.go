package spec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// readYAML reads all documents of a file. Each is parsed by itself, so that a
// syntax error in one does not hide the faults of the others.
func (d *decoder) readYAML(data []byte) {
	written := data // as long as what comes of it
	data, ok := d.checkLineBreaks(data)
	if !ok {
		return
	}
	before := 0 // lines of the file before data
	for len(data) > 0 && len(d.problems) < keptProblems {
		end := nextDocument(data)
		chunk := data[:end]
		source := sourceOf(written[:end], chunk)
		if err := parseYAML(bytes.NewReader(chunk), func(root *yaml.Node) { d.document(root, before, source) }); err != nil {
			failure := locateFailure(chunk, err)
			d.seen++
			d.report(Problem{Line: failure.line + before, Column: failure.column, Message: failure.message})
		}
		before += bytes.Count(chunk, []byte("\n"))
		data, written = data[end:], written[end:]
	}
}

// checkLineBreaks makes sure that the parser counts lines as editors do: YAML
// 1.1 also breaks lines at three invisible characters of Unicode, and
// at a lone carriage return.
func (d *decoder) checkLineBreaks(data []byte) ([]byte, bool) {
	if at := bytes.IndexAny(data, "\u0085\u2028\u2029"); at >= 0 {
		character, _ := utf8.DecodeRune(data[at:])
		line, column := lineAndColumn(data, at)
		d.report(Problem{Line: line, Column: column, Message: fmt.Sprintf(
			"the document has an invisible line break, U+%04X: remove it, or write \\u%04x in double quotes", character, character)})
		return nil, false
	}
	if bytes.Count(data, []byte("\r")) == bytes.Count(data, []byte("\r\n")) {
		return data, true
	}
	data = bytes.Clone(data) // it is the caller's
	for i, c := range data {
		if c == '\r' && (i+1 == len(data) || data[i+1] != '\n') {
			data[i] = '\n'
		}
	}
	return data, true
}

// nextDocument is where the next document begins, or the end. A line "---"
// begins one wherever it stands, even inside quotes; only what precedes the
// first document, directives and comments, belongs to it.
func nextDocument(data []byte) int {
	from := 0
	if prefix := documentPrefix.FindIndex(data); prefix != nil {
		from = prefix[1]
	}
	if at := documentStart.FindIndex(data[from:]); at != nil {
		return from + at[0] + 1 // past the line break before it
	}
	return len(data)
}

var (
	documentStart  = regexp.MustCompile(`\n---(?:[ \t\r\n]|$)`)
	documentPrefix = regexp.MustCompile(`^(?:[ \t]*\r?\n|[#%][^\n]*\n)*---`)
)

// parseYAML calls for every document until the end or the first syntax error.
func parseYAML(reader io.Reader, each func(*yaml.Node)) error {
	decoder := yaml.NewDecoder(reader)
	for {
		var root yaml.Node
		switch err := decodeNode(decoder, &root); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case root.Kind == yaml.DocumentNode && len(root.Content) > 0:
			each(&root)
		}
	}
}

// decodeNode turns a panic of the parser into an error: the library keeps some
// for states that it believes impossible, and input comes from strangers.
func decodeNode(decoder *yaml.Decoder, root *yaml.Node) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("yaml: the parser cannot read this: %v", cause)
		}
	}()
	return decoder.Decode(root)
}

type failure struct {
	line, column int
	message      string
}

// The parser names a line only sometimes, and often that of the block around
// the fault. So a failed file is read once more, byte by byte: where the parser
// stops asking is where it stumbled.
func locateFailure(data []byte, err error) failure {
	reader := &byteReader{data: data}
	again := parseYAML(reader, func(*yaml.Node) {})
	if again == nil {
		again = err
	}
	offset := reader.next
	reason := shorten(yamlLine.ReplaceAllString(again.Error(), ""), 200)
	found := failure{message: reason}
	culprit := characterAt(data, offset, reason)
	switch {
	case culprit >= 0:
		// Errors about a single character: it is among the last few that were read.
		found.message = characterAdvice(data[culprit])
		found.line, found.column = lineAndColumn(data, culprit)
	case offset < len(data):
		found.message = cmp.Or(yamlAdvice[reason], reason)
		found.line, _ = lineAndColumn(data, max(0, offset-1))
		found.column = firstColumn(data, found.line)
	case reason == endInQuote:
		// The parser says on which line the quote was opened.
		found.message = "a quote is opened here and never closed"
		found.line = yamlLineNumber(again)
		found.column = firstColumn(data, found.line)
	default:
		found.message = cmp.Or(yamlEndAdvice[reason], yamlAdvice[reason], reason)
		found.line, _ = lineAndColumn(data, len(bytes.TrimRight(data, " \t\r\n")))
		found.column = firstColumn(data, found.line)
	}
	found.message = "the document is not YAML: " + found.message
	return found
}

const endInQuote = "found unexpected end of stream"

// At the end of a document, what is missing is what closes a bracket.
var yamlEndAdvice = map[string]string{
	"did not find expected ',' or ']'":   "the document ends inside '[': close it with ']'",
	"did not find expected ',' or '}'":   "the document ends inside '{': close it with '}'",
	"did not find expected node content": "the document ends inside '[' or '{': close it",
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func yamlLineNumber(err error) int {
	parts := yamlLine.FindStringSubmatch(err.Error())
	if parts == nil || parts[1] == "" {
		return 1
	}
	line, convErr := strconv.Atoi(parts[1])
	if convErr != nil {
		return 1
	}
	return line
}

// What the parser says, and what a person can do about it.
var yamlAdvice = map[string]string{
	"could not find expected ':'":                            "a key needs a ':' after it, and text over several lines needs quotes",
	"mapping values are not allowed in this context":         "there is a second ': ' on this line, or the line is indented too far: put text with ': ' in quotes",
	"did not find expected key":                              "this line does not fit the lines above it: check its indentation, and quotes before it",
	"did not find expected '-' indicator":                    "this line does not continue the list above it: begin it with '- ', or indent it otherwise",
	"did not find expected ',' or ']'":                       "a list that begins with '[' lacks a ',' or its ']' here",
	"did not find expected ',' or '}'":                       "a mapping that begins with '{' lacks a ',' or its '}' here",
	"did not find expected node content":                     "a value is missing here",
	"found a tab character that violates indentation":        "a tab cannot indent: use spaces",
	"did not find expected <document start>":                 "a document must begin with '---' on a line of its own here: check the indentation",
	"block sequence entries are not allowed in this context": "a list cannot begin here: put it on lines of its own",
}

// characterAt finds the character that an error is about among those read
// last, or gives -1. The parser reads at most a few characters ahead.
func characterAt(data []byte, offset int, reason string) int {
	var suspects string
	switch {
	case strings.Contains(reason, "tab character"):
		suspects = "\t"
	case reason == "did not find expected alphabetic or numeric character":
		suspects = "*&"
	case strings.Contains(reason, "cannot start any token"):
		suspects = "\t@`%"
	case strings.Contains(reason, "control characters are not allowed"):
		for at := min(offset, len(data)) - 1; at >= max(0, offset-8); at-- {
			if c := data[at]; c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
				return at
			}
		}
		return -1
	default:
		return -1
	}
	for at := max(0, offset-5); at < min(offset, len(data)); at++ {
		if strings.IndexByte(suspects, data[at]) >= 0 {
			return at
		}
	}
	return -1
}

func characterAdvice(c byte) string {
	switch {
	case c == '\t':
		return "a tab cannot indent: use spaces"
	case c < ' ' || c == 0x7f:
		return fmt.Sprintf("control character 0x%02x is not allowed: remove it", c)
	case c == '*' || c == '&':
		return fmt.Sprintf("a value that begins with '%c' is an alias or an anchor: put it in quotes", c)
	default:
		return fmt.Sprintf("a value cannot begin with '%c': put it in quotes", c)
	}
}

// firstColumn is the column of the first character of a line that is no space.
func firstColumn(data []byte, line int) int {
	for range line - 1 {
		_, rest, found := bytes.Cut(data, []byte("\n"))
		if !found {
			break
		}
		data = rest
	}
	text, _, _ := bytes.Cut(data, []byte("\n"))
	return 1 + len(text) - len(bytes.TrimLeft(text, " "))
}

// byteReader gives one byte at a time and knows how many were asked for.
type byteReader struct {
	data []byte
	next int
}

func (r *byteReader) Read(buffer []byte) (int, error) {
	if r.next >= len(r.data) {
		return 0, io.EOF
	}
	if len(buffer) == 0 {
		return 0, nil
	}
	buffer[0] = r.data[r.next]
	r.next++
	return 1, nil
}
