package sim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/engine"
)

// TestStatusMatrix says for every pair of statuses whether a run may go from one to the other by itself. What is not
// listed is forbidden.
func TestStatusMatrix(t *testing.T) {
	ends := "succeeded failed timed_out cancelled lost dead"
	allowed := map[string]string{
		"":          "scheduled queued failed skipped",
		"scheduled": "scheduled queued cancelled failed skipped",
		"queued":    "queued running retrying " + ends,
		"running":   "running retrying " + ends,
		"retrying":  "retrying queued cancelled dead",
		"succeeded": "succeeded", "failed": "failed", "timed_out": "timed_out", "cancelled": "cancelled", "lost": "lost",
		"dead": "dead", "skipped": "skipped",
	}
	for _, from := range append([]engine.Status{engine.StatusInvalid}, engine.Statuses()...) {
		var got []string
		for _, to := range append([]engine.Status{engine.StatusInvalid}, engine.Statuses()...) {
			if canBecome(from, to) {
				got = append(got, to.String())
			}
		}
		want := map[string]bool{}
		for word := range strings.FieldsSeq(allowed[from.String()]) {
			want[word] = true
		}
		have := map[string]bool{}
		for _, word := range got {
			have[word] = true
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("from %q (-want +got):\n%s", from, diff)
		}
	}
}
