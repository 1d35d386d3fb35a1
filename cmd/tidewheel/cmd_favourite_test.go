package main

import (
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
)

func TestStarsAndLabelsAreSetByCommandLine(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("step", "true")
	s.apply("kind: Job\nname: report\nbinary: step\nlabels: {old: \"yes\"}\n")
	s.apply(harbourDAG)
	starred := func() string {
		t.Helper()
		var names []string
		for _, one := range decode[wire.List[wire.Favourite]](t, s.must("favourite", "-o", "json")).Items {
			names = append(names, one.Kind+"/"+one.Name)
		}
		return strings.Join(names, " ")
	}
	s.must("favourite", "report", "harbour")
	s.must("favourite", "report") // twice is once
	if got := starred(); got != "dag/harbour job/report" {
		t.Errorf("starred are %q", got)
	}
	s.must("favourite", "--remove", "dag", "harbour")
	if got := starred(); got != "job/report" {
		t.Errorf("after one is removed: %q", got)
	}
	s.refused(exitRefused, "name whose star to remove", "favourite", "--remove")
	if out := s.must("label", "report", "team=finance", "old-"); !strings.Contains(out, "report has team=finance.") {
		t.Errorf("said %q", out)
	}
	if labels := decode[wire.Job](t, s.must("get", "job", "report", "-o", "json")).Spec.Labels; len(labels) != 1 || labels["team"] != "finance" {
		t.Errorf("the labels are %v", labels)
	}
	s.refused(exitRefused, "name what to label", "label", "team=finance", "old-")
}
