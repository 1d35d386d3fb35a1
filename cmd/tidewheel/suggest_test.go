package main

import "testing"

func TestWhatIsMisspelledIsSuggested(t *testing.T) {
	c := newTestCLI(t)
	for _, call := range []struct {
		words string
		args  []string
	}{
		{"did you mean `tidewheel pause`?", []string{"puase", "job", "x"}},
		{"did you mean `tidewheel cancel`?", []string{"cnacel", "x"}},
		{"did you mean `tidewheel binary push`?", []string{"binary", "psuh", "x", "y"}},
		{"did you mean `tidewheel binary push`?", []string{"push", "x", "y"}},
		{"did you mean --job?", []string{"get", "runs", "--jobb", "x"}},
		{"did you mean --status?", []string{"get", "runs", "-status", "failed"}},
		{"did you mean --namespace?", []string{"get", "runs", "--namepsace", "x"}},
		{"did you mean runs?", []string{"get", "rnus"}},
		{`"frobnicate" is no command; see`, []string{"frobnicate"}},
		{"unknown flag: --frobnicate; see", []string{"get", "runs", "--frobnicate"}},
	} {
		c.refused(exitRefused, call.words, call.args...)
	}
}
