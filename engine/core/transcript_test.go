package core_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

var update = flag.Bool("update", false, "write what comes out into the transcripts")

// TestTranscripts plays the scripts in testdata/transcripts. A transcript says what goes into the core, and below it,
// indented, what comes out: effects to be done at once ("now"), what is written, and effects that wait for that
// ("then"). What is written is committed at once, unless "hold" says otherwise, to a store in memory, from which a
// restarted core is loaded. Instants are seconds since the job was made; a run is named by its slot, or by its key.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want), got); diff != "" && !*update {
				t.Errorf("the transcript differs (-want +got):\n%s", diff)
			}
		})
	}
}

// play gives a script with what comes out of it. An empty line begins a new story.
func play(t *testing.T, script string) string {
	t.Helper()
	b := newBench(t)
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(script), "\n") {
		switch {
		case line == "":
			b = newBench(t)
			got = append(got, line)
		case strings.HasPrefix(line, "#"):
			got = append(got, line)
		case strings.HasPrefix(line, " "): // what is expected; what comes is below
		default:
			got = append(got, line)
			b.out = nil
			b.do(strings.Fields(line))
			for _, out := range b.out {
				got = append(got, "  "+out)
			}
		}
	}
	return strings.Join(got, "\n") + "\n"
}

const (
	benchUID   = "job"
	benchShard = 3
)

func (b *bench) do(words []string) {
	rest := words[1:]
	switch words[0] {
	case "define":
		b.define(rest)
	case "quietly": // the engine does not hear of it yet
		b.quiet = true
		b.do(rest)
		b.quiet = false
	case "pause", "resume":
		b.change(func(job *engine.Job) { job.Paused, job.PausedAt = words[0] == "pause", b.now })
	case "delete":
		b.change(func(job *engine.Job) { job.Deleted = true })
	case "at":
		b.now = b.seconds(rest[0])
		b.step(core.Tick{})
	case "back": // the wall clock is set back by so much
		d := b.seconds(rest[0]).Sub(benchStart)
		b.now = b.now.Add(-d)
		b.step(core.ClockWentBack{By: d})
	case "hold":
		b.hold = true
	case "commit":
		b.hold = false
		b.settle()
	case "crash":
		b.hold = false
		b.core = core.NewCore(b.config, b.now, b.random())
	case "dies": // what was decided becomes durable, and the engine dies before it does what follows
		d := b.core.Ready().Batch
		b.write(d)
		b.writes(d)
		b.do([]string{"crash"})
	case "restart":
		b.hold, b.now = false, b.seconds(rest[0])
		b.core = core.NewCore(b.config, b.now, b.random())
		b.load()
	case "started", "finished", "lost", "revokedresult", "handback", "waits":
		b.result(words[0], rest)
	case "revoked":
		run, n := b.attempt(rest[0])
		b.step(core.AttemptRevoked{Run: run, Attempt: n, Revoked: rest[1] == "yes", Failed: rest[1] == "failed"})
	case "inspected":
		run, n := b.attempt(rest[0])
		answer := core.AttemptInspected{Run: run, Attempt: n, Failed: rest[1] == "failed"}
		answer.State.Waits = rest[1] == "waits"
		if rest[1] != "none" && rest[1] != "failed" && rest[1] != "waits" {
			answer.State.Last, answer.State.Sequence = engine.ResultKind(rest[1]), 7
		}
		if since, ok := strings.CutPrefix(rest[len(rest)-1], "since="); ok {
			answer.State.Since = b.seconds(since)
			rest = rest[:len(rest)-1]
		}
		if len(rest) > 2 {
			answer.State.LockHeld, answer.State.LockUntil = true, b.seconds(rest[2])
		}
		b.step(answer)
	case "unpublished":
		run, n := b.attempt(rest[0])
		b.step(core.TaskPublished{Run: run, Attempt: n, Failed: true})
	case "dropped": // the queue has let the task go
		run, n := b.attempt(rest[0])
		b.step(core.TaskDropped{Run: run, Attempt: n})
	case "run":
		b.start(rest)
	case "cancel", "retry":
		b.command(engine.CommandKind(words[0]), b.runID(rest[0]))
	case "backfill":
		b.give(engine.Command{Kind: engine.CommandBackfill, JobUID: benchUID, By: "ann", From: b.seconds(rest[0]), To: b.seconds(rest[1])})
	default:
		b.t.Fatalf("unknown: %v", words)
	}
}
