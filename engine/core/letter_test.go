package core_test

import (
	"testing"

	"github.com/tidewheel/tidewheel/engine"
)

// A dead letter means that retrying did not help (ADR 33): with one try there was nothing to use up.
func TestRunThatIsTriedOnceLeavesNoDeadLetter(t *testing.T) {
	for tries, want := range map[string]engine.Status{"tries=1": engine.StatusFailed, "tries=2": engine.StatusDead} {
		b := newBench(t)
		b.do([]string{"define", "at=5s", tries})
		b.do([]string{"at", "4.75s"})
		b.do([]string{"at", "5s"})
		for _, attempt := range []string{"5s/1", "5s/2"} {
			b.do([]string{"started", attempt})
			b.do([]string{"finished", attempt, "1"})
			b.do([]string{"at", "10s"})
		}
		run, err := b.store.Run(t.Context(), b.runID("5s"))
		if err != nil {
			t.Fatal(err)
		}
		letters, _, err := b.store.DeadLetters(t.Context(), "default", "", 10)
		if err != nil {
			t.Fatal(err)
		}
		if run.Status != want || len(letters) != map[engine.Status]int{engine.StatusDead: 1}[want] {
			t.Errorf("%s: the run is %s, and there are %d letters", tries, run.Status, len(letters))
		}
	}
}
