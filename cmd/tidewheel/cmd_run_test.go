package main

import (
	"path/filepath"
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

func TestManualRunHasAPlannedTime(t *testing.T) {
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

func TestLogsSayThatOutputWasCut(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("chatty", `yes | head -c 5000`)
	s.apply("kind: Job\nname: chatty\nbinary: chatty\nlimits: {output: 1KiB}\n")
	s.apply("kind: Job\nname: brief\nbinary: chatty\n")
	const words = "more were printed and not kept: the job's limits.output"
	waited := s.run("run", "chatty", "--key", "once", "--wait")
	if waited.status != exitDone || strings.Count(waited.err, words) != 1 {
		t.Errorf("run --wait: exit %d, %s", waited.status, waited.err)
	}
	id := strings.TrimSpace(s.must("run", "chatty", "--key", "once"))
	file := filepath.Join(t.TempDir(), "log")
	for _, call := range [][]string{{"logs", id}, {"logs", id, "-f"}, {"logs", id, "--tail", "1"}, {"logs", id, "--to", file}} {
		if got := s.run(call...); got.status != exitDone || !strings.Contains(got.err, "3.9 KiB "+words) || strings.Contains(got.out, "kept") {
			t.Errorf("%s: exit %d, %s", call, got.status, got.err)
		}
	}
	if got := s.run("run", "brief", "--wait"); got.status != exitDone || strings.Contains(got.err, "not kept") {
		t.Errorf("an output that is whole: exit %d, %s", got.status, got.err)
	}
}
