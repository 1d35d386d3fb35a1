package spec_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/spec"
)

const alertsText = "alerts: {on: [failed], duration: 5m, lag: 20s} # the night shift\n"

func TestUnsupportedKeysAreRefusedByName(t *testing.T) {
	for _, text := range []string{head + alertsText, dagHead + "  t: {binary: b}\nalerts: {lag: 20s}\n"} {
		_, problems := spec.Decode("job.yaml", []byte(text))
		if len(problems) == 0 || !strings.Contains(problems[0].Message, "does nothing in this version") || !strings.HasPrefix(problems[0].Path, "alerts") {
			t.Errorf("%s: %v", text, problems)
		}
	}
	_, problems := spec.DecodeJob("", []byte(`{"name":"a","binary":"b","alerts":{"on":["failed"]}}`))
	if len(problems) != 1 || problems[0].Path != "alerts.on" {
		t.Errorf("a body: %v", problems)
	}
}

// What an earlier version took is read, shown as it was written and compared as before; it is valid, so it runs.
func TestStoredDefinitionsWithUnsupportedKeysStayReadable(t *testing.T) {
	var job spec.Job
	if err := json.Unmarshal([]byte(`{"kind":"Job","name":"a","binary":"b","alerts":{"lag":"20s","duration":"5m","on":["failed"]}}`), &job); err != nil {
		t.Fatal(err)
	}
	job.ApplyDefaults()
	if problems := job.Validate(); len(problems) > 0 {
		t.Errorf("a stored job is invalid: %v", problems)
	}
	problems := job.Unsupported()
	if len(problems) != 2 || problems[0].Path != "alerts.duration" || problems[1].Path != "alerts.on" {
		t.Errorf("unsupported: %v", problems)
	}
	source := head + alertsText
	if text, err := spec.Text(&job, source); err != nil || string(text) != source {
		t.Errorf("the text that its user wrote is %q, %v", text, err)
	}

	var dag spec.DAG
	if err := json.Unmarshal([]byte(`{"kind":"DAG","name":"d","alerts":{"on":["failed"]},"tasks":{"t":{"binary":"b"}}}`), &dag); err != nil {
		t.Fatal(err)
	}
	dag.ApplyDefaults()
	if problems := dag.Validate(); len(problems) > 0 {
		t.Errorf("a stored DAG is invalid: %v", problems)
	}
	if problems := dag.Unsupported(); len(problems) != 1 || problems[0].Path != "alerts" {
		t.Errorf("unsupported: %v", problems)
	}
}
