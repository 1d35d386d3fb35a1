package engine_test

import (
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
)

func TestStatusEnds(t *testing.T) {
	for _, c := range []struct {
		statuses  string
		end, once bool // once more, by an operator
	}{
		{"scheduled queued running retrying", false, false},
		{"succeeded skipped", true, false},
		{"failed timed_out cancelled lost dead", true, true},
	} {
		for word := range strings.FieldsSeq(c.statuses) {
			status, err := engine.ParseStatus(word)
			if err != nil {
				t.Fatal(err)
			}
			if status.Terminal() != c.end || status.CanRetry() != c.once {
				t.Errorf("%s: terminal %v, can be retried %v; want %v and %v", word, status.Terminal(), status.CanRetry(), c.end, c.once)
			}
		}
	}
	if engine.StatusInvalid.Terminal() || engine.StatusInvalid.CanRetry() {
		t.Error("the zero value is a status")
	}
}

func TestStatusNames(t *testing.T) {
	for _, status := range engine.Statuses() {
		text, err := status.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back engine.Status
		if err := back.UnmarshalText(text); err != nil || back != status {
			t.Errorf("%q became %v, %v", text, back, err)
		}
	}
	if _, err := engine.ParseStatus("sleeping"); err == nil || !strings.Contains(err.Error(), "timed_out") {
		t.Errorf("an unknown status: %v; it should list those there are", err)
	}
	var none engine.Status
	if err := none.UnmarshalText(nil); err != nil || none != engine.StatusInvalid {
		t.Errorf("the empty text: %v, %v", none, err)
	}
}
