package ui_test

import (
	"strings"
	"testing"
)

// A task of a DAG that runs a program is named on the program's page, and leads to its DAG.
func TestProgramNamesTheTasksThatRunIt(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	s.PutDAG(t, "kind: DAG\nname: etl\ntasks: {fetch: {binary: report}}\n")
	if body := s.see(t, "/binaries/report"); !strings.Contains(body, `<a href="/dags/etl">etl/fetch</a>`) {
		t.Errorf("the page does not lead to the DAG:\n%s", body)
	}
}
