package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

func TestAnEngineSaysHowFarItsStoreIsBehind(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var presence engine.EnginePresence
	for _, test := range []struct {
		unwritten int
		since     time.Time
		want      string
	}{
		{0, time.Time{}, ""},
		{3, now.Add(-time.Second), ""}, // as always
		{12_000, now.Add(-20 * time.Second), "about 12000 jobs and DAGs wait to be written, the oldest for 20s"},
		{3, now.Add(time.Minute), ""}, // the wall clock went back
	} {
		presence.Waits(test.unwritten, test.since, now)
		if got := presence.Slow(); test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("of %d since %s it says %q", test.unwritten, test.since, got)
		}
	}
}
