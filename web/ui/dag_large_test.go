package ui_test

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/dag"
)

// dense is a DAG of so many tasks, with as many needs as there may be and a few more.
func dense(tasks, more int) string {
	var text strings.Builder
	text.WriteString("kind: DAG\nname: dense\ndefaults: {binary: tide-forecast}\ntasks:\n")
	each := (dag.MaxNeeds + more) / (tasks / 2)
	left := dag.MaxNeeds + more
	for i := range tasks {
		fmt.Fprintf(&text, "  t%d: {needs: [", i)
		for n := range min(i, left, each+1) {
			fmt.Fprintf(&text, "t%d,", i-1-n)
			left--
		}
		text.WriteString("]}\n")
	}
	if left > 0 {
		panic("too few tasks for so many needs")
	}
	return text.String()
}

// The library that writes YAML keeps an event for each node until the end of a document. A page of the editor took a
// gigabyte, and wrote the definition three times.
func TestEditorOfTheLargestDAGIsSmall(t *testing.T) {
	if raceDetector {
		t.Skip("what it measures is another matter under the race detector: make test runs it without")
	}
	for _, c := range []struct {
		tasks   int
		atMost  uint64 // MiB that a page may allocate in all; a small part of it is in use at once
		perNeed int    // bytes of the page
	}{{600, 300, 20}, {2160, 300, 20}, {dag.MaxTasks, 500, 30}} {
		s := newSite(t)
		s.fill(t)
		s.PutDAG(t, dense(c.tasks, 0))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		page := s.ask(t, http.MethodGet, "/dags/dense/edit", nil)
		runtime.ReadMemStats(&after)
		if page.Code != http.StatusOK || !strings.Contains(page.Body.String(), fmt.Sprintf("t%d", c.tasks-1)) {
			t.Fatalf("%d tasks: answered %d", c.tasks, page.Code)
		}
		took := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%d tasks: allocated %d MiB for a page of %d bytes", c.tasks, took, page.Body.Len())
		if took > c.atMost || page.Body.Len() > c.perNeed*dag.MaxNeeds {
			t.Errorf("%d tasks: allocated %d MiB for a page of %d bytes, want %d MiB and %d bytes at most",
				c.tasks, took, page.Body.Len(), c.atMost, c.perNeed*dag.MaxNeeds)
		}
	}
}

func TestTooManyNeedsAreRefused(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	page := s.ask(t, http.MethodPost, "/dags/new", url.Values{"definition": {dense(2160, 1)}})
	if page.Code != http.StatusUnprocessableEntity || !strings.Contains(page.Body.String(), "have 100001 needs together: use at most 100000") {
		t.Errorf("answered %d", page.Code)
	}
}
