package main

import (
	"strings"
	"testing"
	"time"
)

func TestWaitShowsTheOutputOfEveryAttempt(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("stubborn", `echo "attempt $TIDEWHEEL_ATTEMPT"; [ "$TIDEWHEEL_ATTEMPT" -gt 3 ] || exit 75`)
	s.apply("kind: Job\nname: stubborn\nbinary: stubborn\nretry: {max_attempts: 3, delay: 1ms}\n")
	got := s.run("run", "stubborn", "--key", "once", "--wait")
	if got.status != exitFailed || got.out != "attempt 1\nattempt 2\nattempt 3\n" || !strings.Contains(got.err, "Attempt 3.") {
		t.Errorf("run --wait: exit %d, %q, %s", got.status, got.out, got.err)
	}
	id := strings.TrimSpace(s.must("run", "stubborn", "--key", "once"))
	if got := s.run("retry", id, "--wait"); got.status != exitDone || got.out != "attempt 4\n" {
		t.Errorf("retry --wait: exit %d, %q, %s", got.status, got.out, got.err)
	}
}

func TestRunByHandHasAPlannedInstant(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("day", `echo "$1 $TIDEWHEEL_SLOT"`)
	s.apply("kind: Job\nname: day\nbinary: day\nargs: [\"${TIDEWHEEL_SLOT}\"]\n")
	for _, at := range []string{"", "100ms"} {
		run := s.show(strings.TrimSpace(s.must("run", "day", "--at", at)))
		planned := run.CreatedAt
		if at != "" {
			planned = run.NotBefore
		}
		text := planned.UTC().Format(time.RFC3339Nano)
		if out := s.must("logs", run.ID, "-f"); out != text+" "+text+"\n" {
			t.Errorf("asked for with --at %q: %q; the run is planned for %s", at, out, text)
		}
	}
}
