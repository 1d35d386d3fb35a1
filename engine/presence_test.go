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
		stats engine.Stats
		want  string
	}{
		{engine.Stats{}, ""},
		{engine.Stats{Unwritten: 3, Since: now.Add(-time.Second)}, ""}, // as always
		{engine.Stats{Unwritten: 12_000, Since: now.Add(-20 * time.Second)}, "about 12000 jobs and DAGs wait to be written, the oldest for 20s"},
		{engine.Stats{Unwritten: 3, Since: now.Add(time.Minute)}, ""}, // the wall clock went back
	} {
		presence.Waits(test.stats, now)
		if got := presence.Slow(); test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("of %+v it says %q", test.stats, got)
		}
	}
}
