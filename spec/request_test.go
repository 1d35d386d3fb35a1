package spec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/spec"
)

func TestDecodeJobReadsABody(t *testing.T) {
	job, problems := spec.DecodeJob("", []byte(`{"name": "a", "binary": "b", "timeout": "5m", "schedule": ["0 3 * * *"]}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := decodeOne(t, head+"timeout: 5m\nschedule: 0 3 * * *\n")
	if diff := cmp.Diff(want, job); diff != "" {
		t.Errorf("job differs (-want +got):\n%s", diff)
	}
}

func TestDecodeJobTakesTheNameOfTheRequest(t *testing.T) {
	for _, body := range []string{`{"binary": "b"}`, `{"name": "a", "binary": "b"}`} {
		job, problems := spec.DecodeJob("a", []byte(body))
		if len(problems) > 0 || job.Name != "a" {
			t.Errorf("%s: %v", body, problems)
		}
	}
}

func TestDecodeJobNamesTheFieldOfEveryProblem(t *testing.T) {
	for _, test := range []struct {
		name, body string
		want       []spec.Problem
	}{
		{"", `{"name": "a", "binry": "b", "retry": {"max_attempts": 101, "on": [7, 300]}, "at": null}`, []spec.Problem{
			{Line: 1, Column: 1, Path: "binary", Message: "binary is missing: name an uploaded program, such as report or report@stable"},
			{Line: 1, Column: 15, Path: "binry", Message: `unknown key "binry": did you mean binary?`},
			{Line: 1, Column: 55, Path: "retry.max_attempts", Message: "retry.max_attempts must be from 1 to 100, not 101"},
			{Line: 1, Column: 70, Path: "retry.on[1]", Message: "retry.on[1] must be an exit code from 1 to 255, not 300"},
			{Line: 1, Column: 83, Path: "at", Message: "at has no value: give it one, or remove the key"},
		}},
		{"a", `{"name": "b", "binary": "b"}`, []spec.Problem{
			{Line: 1, Column: 10, Path: "name", Message: `name is "b", but the request is for "a": leave it out or make both the same`},
		}},
		{"a/b", `{"binary": "b"}`, []spec.Problem{
			{Line: 1, Column: 1, Path: "name", Message: "name has a '/': use letters, digits, '-' and '_'"},
		}},
		{"", `{"name": "a", "name": "a", "binary": "b"}`, []spec.Problem{
			{Line: 1, Column: 15, Path: "name", Message: `key "name" is given twice: the first is on line 1`},
		}},
		{"", `{"kind": "DAG", "name": "a"}`, []spec.Problem{
			{Line: 1, Column: 10, Path: "kind", Message: `kind must be Job, not "DAG"`},
		}},
		{"", `null`, []spec.Problem{{Line: 1, Column: 1, Message: "a document must be a mapping that begins with kind: Job, not nothing"}}},
		{"", ` `, []spec.Problem{{Line: 1, Column: 1, Message: "the document is empty: send a JSON object with at least name and binary"}}},
		{"", "name: a\n", []spec.Problem{{Line: 1, Column: 2, Message: "the document is not JSON: invalid character 'a' in literal null (expecting 'u')"}}},
	} {
		job, problems := spec.DecodeJob(test.name, []byte(test.body))
		if job != nil {
			t.Errorf("%s: a job came back", test.body)
		}
		if diff := cmp.Diff(spec.Problems(test.want), problems); diff != "" {
			t.Errorf("%s: problems differ (-want +got):\n%s", test.body, diff)
		}
	}
}
