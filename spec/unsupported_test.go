package spec_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/spec"
)

// What a definition asks for in vain, because of what it says elsewhere, is refused by name; a default may be written out.
func TestWhatHasNoEffectIsRefusedByName(t *testing.T) {
	for text, want := range map[string][]string{
		head + "retry: {delay: 10s}\n":                                                                                            {"retry.delay"},
		head + "retry: {max_attempts: 1, max_delay: 10m}\n":                                                                       {"retry.max_delay"},
		head + "retry: {on: [75], not_on: [2]}\n":                                                                                 {"retry.on", "retry.not_on"},
		head + "retry: {max_attempts: 1, delay: 5s, max_delay: 5m}\n":                                                             nil,
		head + "retry: {max_attempts: 2, delay: 1s, on: [75], not_on: [2]}\n":                                                     nil,
		head + "catch_up: {policy: none, window: 2h}\n":                                                                           {"catch_up.window"},
		head + "catch_up: {policy: none, window: 1h}\n":                                                                           nil,
		head + "catch_up: {window: 2h}\n":                                                                                         nil,
		dagHead + "  t: {binary: b, retry: {delay: 10s}}\n":                                                                       {"tasks.t.retry.delay"},
		dagHead + "  t: {binary: b, retry: {on: [7]}}\ndefaults: {retry: {max_attempts: 2}}\n":                                    nil,
		dagHead + "  t: {binary: b, retry: {max_attempts: 1, on: [7]}}\n  u: {binary: b}\ndefaults: {retry: {max_attempts: 2}}\n": {"tasks.t.retry.on"},
		dagHead + "  t: {binary: b}\ndefaults: {retry: {not_on: [7], delay: 1s}}\n":                                               {"defaults.retry.delay", "defaults.retry.not_on"},
		dagHead + "  t: {binary: b, retry: {max_attempts: 3}}\ndefaults: {retry: {delay: 1s}}\n":                                  nil,
		dagHead + "  t: {binary: b}\ncatch_up: {policy: none, window: 2h}\n":                                                      {"catch_up.window"},
	} {
		_, problems := spec.Decode("job.yaml", []byte(text))
		var got []string
		for _, problem := range problems {
			if got = append(got, problem.Path); !strings.Contains(problem.Message, "does nothing") || problem.Line < 2 {
				t.Errorf("%s: %v", text, problem)
			}
		}
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: refused are %v, want %v", text, got, want)
		}
	}
}

func TestStoredDefinitionsOfNoEffectStayReadable(t *testing.T) {
	source := head + "retry: {delay: 10s, on: [75]} # as of old\ncatch_up: {policy: none, window: 2h}\n"
	var job spec.Job
	if err := json.Unmarshal([]byte(`{"kind":"Job","name":"a","binary":"b","retry":{"delay":"10s","on":[75]},"catch_up":{"policy":"none","window":"2h"}}`), &job); err != nil {
		t.Fatal(err)
	}
	job.ApplyDefaults()
	if problems := job.Validate(); len(problems) > 0 {
		t.Errorf("a stored job is invalid: %v", problems)
	}
	if problems := job.Unsupported(); len(problems) != 3 {
		t.Errorf("unsupported: %v", problems)
	}
	if text, err := spec.Text(&job, source); err != nil || string(text) != source {
		t.Errorf("the text that its user wrote is %q, %v", text, err)
	}
}
