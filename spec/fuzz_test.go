package spec_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/spec"
)

// Whatever the bytes: no panic, every problem has a place inside the file and
// a message, and what is accepted is valid and survives writing and reading.
func FuzzDecode(f *testing.F) {
	f.Add("job.yaml", exampleYAML(f))
	f.Add("job.json", []byte(`{"kind": "Job", "name": "a", "binary": "b", "payload": {"x": "\ud83d", "y": [1e400, -0]}}`))
	for _, bad := range badInputs {
		f.Add("job.yaml", []byte(bad.input()))
	}
	f.Add("job.yaml", []byte(head+"payload: &a {x: &b [*a, *b], y: |\n   text\n  , z: !!float 1e400}\n"))
	f.Add("dag.yaml", []byte(exampleDAG))
	for _, bad := range badDAGs {
		f.Add("dag.yaml", []byte(bad.input()))
	}
	f.Add("job.yaml", []byte("%YAML 1.1\n%TAG ! tag:x,2000:\n---\n!job {kind: Job}\n...\n---\n- ? a\n  : b\n"))
	f.Fuzz(func(t *testing.T, file string, data []byte) {
		documents, problems := spec.Decode(file, data)
		lines := bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r")) + 1
		for i, problem := range problems {
			if problem.Message == "" || problem.File != file || problem.Column < 1 || problem.Line < 1 || problem.Line > lines {
				t.Errorf("problem without a place in %d lines: %+v", lines, problem)
			}
			if strings.Contains(problem.Message, "\n") {
				t.Errorf("a message of several lines: %q", problem.Message)
			}
			if i > 0 && problem.Line < problems[i-1].Line {
				t.Errorf("problems are out of order: %v", problems)
			}
		}
		if len(documents) == 0 && len(problems) == 0 {
			t.Error("neither a document nor a problem")
		}
		for _, document := range documents {
			if document.DAG != nil {
				checkDAGSurvives(t, document.DAG)
				continue
			}
			if found := document.Job.Validate(); found != nil {
				t.Errorf("an invalid job was accepted: %v", found)
			}
			written, err := spec.Encode(document.Job)
			if err != nil {
				t.Fatal(err)
			}
			again, faults := spec.Decode("again.yaml", written)
			if len(faults) > 0 || len(again) != 1 || !again[0].Job.Equal(document.Job) {
				t.Errorf("does not survive writing: %v\n%s", faults, written)
			}
		}
		// The same bytes as a body: only that it returns one or the other.
		if job, faults := spec.DecodeJob("", data); (job == nil) == (len(faults) == 0) {
			t.Errorf("job %v with problems %v", job, faults)
		}
	})
}

func checkDAGSurvives(t *testing.T, d *spec.DAG) {
	if found := d.Validate(); found != nil {
		t.Errorf("an invalid DAG was accepted: %v", found)
	}
	written, err := spec.EncodeDAG(d)
	if err != nil {
		t.Fatal(err)
	}
	again, faults := spec.Decode("again.yaml", written)
	if len(faults) > 0 || len(again) != 1 || !again[0].DAG.Equal(d) {
		t.Errorf("does not survive writing: %v\n%s", faults, written)
	}
}

func BenchmarkDecode(b *testing.B) {
	data := exampleYAML(b)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := spec.Decode("job.yaml", data); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}
