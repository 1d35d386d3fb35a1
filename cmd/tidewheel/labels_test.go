package main

import (
	"maps"
	"runtime"
	"testing"
)

func TestLabelsOfAnExecutor(t *testing.T) {
	for _, c := range []struct {
		given []string
		want  map[string]string
		fault string
	}{
		{nil, map[string]string{}, ""},
		{[]string{"gpu=true", "zone=a"}, map[string]string{"gpu": "true", "zone": "a"}, ""},
		{[]string{"gpu=true, zone=a,"}, map[string]string{"gpu": "true", "zone": "a"}, ""}, // of the environment
		{[]string{"gpu=true", "gpu=true"}, map[string]string{"gpu": "true"}, ""},
		{[]string{"gpu"}, nil, `"gpu" is not a label: write key=value, such as gpu=true`},
		{[]string{"gpu=true", "gpu=false"}, nil, "gpu is both true and false: an executor has one value of each label"},
	} {
		got, err := labelSetting(c.given)
		if c.fault != "" {
			if err == nil || err.Error() != c.fault {
				t.Errorf("%q: %v, want %q", c.given, err, c.fault)
			}
			continue
		}
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%q gives %v, %v, want %v", c.given, got, err, c.want)
		}
	}
	own := map[string]string{"os": runtime.GOOS, "arch": runtime.GOARCH, "host": "quay-1"}
	if got := executorLabels("quay-1", nil); !maps.Equal(got, own) {
		t.Errorf("without labels it has %v, want %v", got, own)
	}
	if got := executorLabels("a host", map[string]string{"arch": "other"}); got["arch"] != "other" || got["host"] != "" {
		t.Errorf("it has %v: what is given counts, and no job could ask for that host", got)
	}
}
