package spec

import "regexp"

var (
	// Directives, and the mark that a document begins: with these gone it can stand after another one in a file.
	documentMark = regexp.MustCompile(`(?m)^---(?:[ \t]*\r?\n|[ \t]+|\z)`)
	directive    = regexp.MustCompile(`(?m)^%[^\n]*\n`)
	// The same document is often without these elsewhere in a file. Those at its end may belong to a text in it.
	leadingLines = regexp.MustCompile(`^(?:[ \t]*\r?\n)+`)
)

// sourceOf returns the text of the document of a chunk, "" if it is too long to be kept. written is the chunk before its
// line breaks were made the same, of the same length.
func sourceOf(written, chunk []byte) string {
	if documentPrefix.Match(chunk) {
		if mark := documentMark.FindIndex(chunk); mark != nil {
			head := directive.ReplaceAll(written[:mark[0]], nil) // a copy
			written = append(head, written[mark[1]:]...)
		}
	}
	written = written[len(leadingLines.Find(written)):]
	if len(written) > MaxSource {
		return ""
	}
	return string(written)
}

// Text is a job as YAML: its source, if that still means the job, else what Encode writes.
func Text(j *Job, source string) ([]byte, error) {
	if source != "" {
		documents, problems := decodeStored(source)
		if len(problems) == 0 && len(documents) == 1 && documents[0].Job.Equal(j) {
			return []byte(source), nil
		}
	}
	return Encode(j)
}

// TextDAG is Text for a DAG.
func TextDAG(d *DAG, source string) ([]byte, error) {
	if source != "" {
		documents, problems := decodeStored(source)
		if len(problems) == 0 && len(documents) == 1 && documents[0].DAG.Equal(d) {
			return []byte(source), nil
		}
	}
	return EncodeDAG(d)
}
