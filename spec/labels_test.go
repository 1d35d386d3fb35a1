package spec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/spec"
)

func TestLabelsAreReadAsUsersWriteThem(t *testing.T) {
	change, err := spec.ParseLabelChange([]string{"team=harbour", "tier=", "old-"})
	if err != nil || change.Words() != "team=harbour tier= old-" {
		t.Errorf("%q, %v", change.Words(), err)
	}
	after := change.Of(map[string]string{"old": "1", "kept": "2"})
	if diff := cmp.Diff(map[string]string{"team": "harbour", "tier": "", "kept": "2"}, after); diff != "" {
		t.Error(diff)
	}
	for _, wrong := range [][]string{{}, {"team"}, {"=x"}, {"-"}, {"a=1", "a-"}} {
		if _, err := spec.ParseLabelChange(wrong); err == nil {
			t.Errorf("%q is read", wrong)
		}
	}
}

func TestOtherLabelsLeaveTheRestOfATextAsItIs(t *testing.T) {
	const head = "# nightly\nkind: Job\nname: a # the first\nbinary: b\n"
	for name, c := range map[string]struct{ source, want string }{
		"none before":    {head + "timeout: 1m", head + "timeout: 1m\nlabels:\n  team: \"1\"\n"},
		"in one line":    {head + "labels: {team: x}\ntimeout: 1m\n", head + "labels:\n  team: \"1\"\ntimeout: 1m\n"},
		"in lines":       {head + "labels:\n  team: x\n\n  # why\n  a: b\n\n# then\ntimeout: 1m\n", head + "labels:\n  team: \"1\"\n\n# then\ntimeout: 1m\n"},
		"last":           {head + "labels:\n  team: x", head + "labels:\n  team: \"1\"\n"},
		"of another key": {head + "env: {labels: x}\n", head + "env: {labels: x}\nlabels:\n  team: \"1\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := spec.Relabel(c.source, map[string]string{"team": "1"}); got != c.want {
				t.Errorf("got\n%s", got)
			}
			if got := spec.Relabel(c.want, nil); strings.Contains(got, "team") {
				t.Errorf("without any\n%s", got)
			}
		})
	}
}
