package spec_test

import (
	"maps"
	"testing"

	"github.com/tidewheel/tidewheel/spec"
)

func TestWhoSatisfies(t *testing.T) {
	executor := map[string]string{"arch": "arm64", "gpu": "true", "zone": "a"}
	for _, c := range []struct {
		runsOn map[string]string
		want   bool
		text   string
	}{
		{nil, true, ""},
		{map[string]string{}, true, ""},
		{map[string]string{"gpu": "true"}, true, "gpu=true"},
		{map[string]string{"gpu": "true", "arch": "arm64"}, true, "arch=arm64,gpu=true"},
		{map[string]string{"gpu": "false"}, false, "gpu=false"},
		{map[string]string{"gpu": "true", "disk": "ssd"}, false, "disk=ssd,gpu=true"},
		{map[string]string{"disk": ""}, false, "disk="}, // a label that is missing is not an empty one
	} {
		if got := spec.Satisfies(executor, c.runsOn); got != c.want {
			t.Errorf("%v satisfies %v: %v, want %v", executor, c.runsOn, got, c.want)
		}
		if got := spec.RunsOnText(c.runsOn); got != c.text {
			t.Errorf("%v is written %q, want %q", c.runsOn, got, c.text)
		}
		if got := spec.ParseRunsOn(c.text); !maps.Equal(got, c.runsOn) {
			t.Errorf("%q is read as %v, want %v", c.text, got, c.runsOn)
		}
	}
	if spec.Satisfies(nil, map[string]string{"gpu": "true"}) {
		t.Error("an executor without labels satisfies a demand")
	}
}

func TestExecutorLabel(t *testing.T) {
	for text, want := range map[string][2]string{
		"gpu=true":             {"gpu", "true"},
		"gpu = true":           {"gpu", "true"},
		"example.com/disk=ssd": {"example.com/disk", "ssd"},
		"image=reg:5000/a@b":   {"image", "reg:5000/a@b"},
	} {
		key, value, err := spec.ParseExecutorLabel(text)
		if err != nil || key != want[0] || value != want[1] {
			t.Errorf("%q gives %q, %q, %v", text, key, value, err)
		}
	}
	for text, want := range map[string]string{
		"":        "is not a label: write key=value, such as gpu=true",
		"gpu":     "is not a label: write key=value, such as gpu=true",
		"gpu=":    `has no value: executors have labels with values, such as gpu: "true"`,
		"=true":   "is not a name for a label: use at most 63 letters, digits, '.', '_', '/' and '-', a letter or digit first",
		"a b=c":   "is not a name for a label: use at most 63 letters, digits, '.', '_', '/' and '-', a letter or digit first",
		"a=b,c=d": `has the value "b,c=d", which no executor can have: use at most 63 letters, digits, '.', '_', ':', '/', '@', '+' and '-', a letter or digit first`,
	} {
		if _, _, err := spec.ParseExecutorLabel(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
