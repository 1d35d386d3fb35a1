package executor_test

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/output"
	"github.com/tidewheel/tidewheel/spec"
)

var discard = slog.New(slog.DiscardHandler)

func TestAnyOutputIsKept(t *testing.T) {
	r := newRig(t)
	for name, test := range map[string]struct {
		script string
		size   int64
		lines  int64
	}{
		"none":                     {"exit 0", 0, 0},
		"both streams in order":    {"for i in 1 2 3; do echo $i; echo $i >&2; done", 12, 6},
		"binary":                   {`printf '\377\376\000\001'`, 4, 1},
		"as much as a result":      {"head -c 65536 /dev/zero", output.Keep, 1},
		"one byte more":            {"head -c 65537 /dev/zero", output.Keep + 1, 1},
		"200 MB on one line":       {"head -c 200000000 /dev/zero", 200000000, 1},
		"50 MB in lines":           {"yes | head -c 50000000", 50000000, 25000000},
		"after its standard files": {"(sleep 0.05; echo late) & exec >&- 2>&-", 0, 0},
	} {
		task := r.task(test.script)
		finish := r.run(task)
		out := finish.Output
		if finish.Status != engine.StatusSucceeded || out.Size != test.size || out.Lines != test.lines || out.Truncated != 0 {
			t.Errorf("%s: %v, output %d bytes in %d lines", name, finish, out.Size, out.Lines)
		}
		small := test.size <= output.Keep
		if small && (out.Chunks != 0 || int64(len(out.Tail)) != out.Size) || !small && (out.Chunks == 0 || len(out.Tail) != output.Tail) {
			t.Errorf("%s: %d chunks and a tail of %d bytes", name, out.Chunks, len(out.Tail))
		}
		if log := r.log(task.Run, 1); (log == nil) != small {
			t.Errorf("%s: written to the store: %t", name, log != nil)
		}
	}
}

// Each piece of an output has the time at which it came and, where that is asked for, its stream.
func TestOutputIsMarked(t *testing.T) {
	r := newRig(t)
	const script = "echo one; echo two >&2; echo three; printf '::progress 0.5 half\\n' >&2"
	for stderr, want := range map[spec.Stderr]map[engine.OutputStream]string{
		spec.StderrMerged: {engine.StreamMixed: "one\ntwo\nthree\n::progress 0.5 half\n"},
		spec.StderrMarked: {engine.StreamStdout: "one\nthree\n", engine.StreamStderr: "two\n::progress 0.5 half\n"},
	} {
		finish := r.run(r.task(script, func(task *engine.Task) { task.Stderr = stderr }))
		out, marks := finish.Output, engine.DecodeOutputMarks(finish.Output.Marks)
		got := map[engine.OutputStream]string{}
		for i, mark := range marks {
			end := out.Size
			if i+1 < len(marks) {
				end = marks[i+1].Offset
			}
			got[mark.Stream] += string(out.Tail[mark.Offset:end])
			if mark.At.Before(finish.StartedAt.Truncate(time.Millisecond)) || mark.At.After(time.Now()) {
				t.Errorf("%s: a piece came at %v, the program was started at %v", stderr, mark.At, finish.StartedAt)
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %q, want %q", stderr, got, want)
		}
	}
}

func TestOutputBeyondItsLimitIsCountedAndDropped(t *testing.T) {
	r := newRig(t)
	limit := func(task *engine.Task) { task.Limits.Output = 100000 }
	out := r.run(r.task("head -c 5000000 /dev/zero; exit 0", limit)).Output
	if out.Size != 100000 || out.Truncated != 4900000 {
		t.Errorf("%d bytes are kept, %d dropped", out.Size, out.Truncated)
	}
}

func TestUnavailableObjectStoreOnlyDelaysTheProgram(t *testing.T) {
	r := newRig(t)
	r.hold = make(chan struct{})
	task := r.task("head -c 3000000 /dev/zero; echo done > finished")
	r.send(task)
	if err := r.await(t.Context(), func() bool { return len(r.subjects[subject(task.Run, 1)]) > 0 }); err != nil {
		t.Fatal(err)
	}
	close(r.hold)
	if finish := r.finish(task); finish.Status != engine.StatusSucceeded || finish.Output.Size != 3000000 || finish.Output.Truncated != 0 {
		t.Errorf("%+v", finish)
	}
}

func TestOutputThatCannotBeStoredDoesNotFailTheProgram(t *testing.T) {
	r := newRig(t)
	r.refuse = errors.New("access denied")
	finish := r.run(r.task("head -c 1000000 /dev/zero; echo end"))
	out := finish.Output
	if finish.Status != engine.StatusSucceeded || !strings.Contains(finish.Error, "access denied") {
		t.Errorf("%+v", finish)
	}
	if out.Chunks != 0 || !bytes.HasSuffix(out.Tail, []byte("\x00end\n")) || out.Size != int64(len(out.Tail)) || out.Lost+out.Size != 1000004 || out.Truncated != 0 {
		t.Errorf("%d bytes, %d lost, %d dropped, a tail of %d", out.Size, out.Lost, out.Truncated, len(out.Tail))
	}
}

func TestProgressIsReportedOnceASecondAndTheLatestWins(t *testing.T) {
	r := newRig(t)
	task := r.task(`i=0; while [ $i -lt 50 ]; do echo "::progress 0.$i step $i"; i=$((i+1)); done; read x`, func(task *engine.Task) {
		task.Env = map[string]string{}
	})
	task.Payload = nil
	finish := r.run(task)
	all := r.subjects[subject(task.Run, 1)]
	if len(all) < 2 || len(all) > 4 || !strings.Contains(string(finish.Output.Tail), "::progress 0.49 step 49\n") {
		t.Errorf("%d messages", len(all))
	}
	for _, result := range all[1 : len(all)-1] {
		if result.Kind != engine.ResultProgress || result.Progress.Message == "" {
			t.Errorf("%+v", result)
		}
	}
}

func TestOutputIsStreamedToFollowers(t *testing.T) {
	r := newRig(t)
	gate := reachable(t) + "/gate"
	mkfifo(t, gate)
	task := r.task(`echo first; read x < "` + gate + `"; echo second`)
	r.send(task)
	var shown bytes.Buffer
	// It may not have printed anything yet: what comes later comes too.
	r.result(task, engine.ResultStarted)
	r.control(engine.ControlWatch, "other", 1)
	r.control(engine.ControlWatch, task.Run, 1)
	open := false
	for frame := range r.frames {
		if frame.Run != task.Run || frame.Offset != int64(shown.Len()) {
			t.Fatalf("%+v after %d bytes", frame, shown.Len())
		}
		shown.Write(frame.Data)
		if mark, known := engine.OutputMarkAt(engine.DecodeOutputMarks(frame.Marks), frame.Offset); len(frame.Data) > 0 && (!known || mark.At.IsZero()) {
			t.Errorf("a piece does not say when it came: %+v", frame)
		}
		if frame.End {
			break
		}
		if !open && strings.Contains(shown.String(), "first") {
			open = true
			letIn(t, gate)
		}
	}
	if shown.String() != "first\nsecond\n" {
		t.Errorf("shown was %q", shown.String())
	}
	r.finish(task)
	if len(r.frames) > 0 {
		t.Error("something came after the end")
	}
}

func TestWatchOfABigOutputBeginsWithWhatIsInMemory(t *testing.T) {
	r := newRig(t)
	gate := reachable(t) + "/gate"
	mkfifo(t, gate)
	task := r.task(`head -c 1000000 /dev/zero; echo; echo ready > "` + gate + `"; read x < "` + gate + `"`)
	r.send(task)
	read(t, gate)
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	// A request may come before the output has outgrown memory; the next one does not.
	synced := func() bool {
		log := r.log(task.Run, 1)
		if log == nil {
			return false
		}
		log.mu.Lock()
		defer log.mu.Unlock()
		return log.syncs > 0
	}
	for seen := int64(0); seen < 1000001 || !synced(); {
		r.control(engine.ControlWatch, task.Run, 1)
		select {
		case frame := <-r.frames:
			if frame.Offset < seen && frame.Offset+int64(len(frame.Data)) < seen || len(frame.Data) > output.Keep {
				t.Fatalf("a frame of %d bytes at %d", len(frame.Data), frame.Offset)
			}
			seen = frame.Offset + int64(len(frame.Data))
		case <-deadline.C:
			t.Fatalf("%d bytes were shown, and what came before was made readable: %t", seen, synced())
		}
	}
	log := r.log(task.Run, 1)
	log.mu.Lock()
	if mark, known := engine.OutputMarkAt(engine.DecodeOutputMarks(log.marks), 500_000); !known || time.Since(mark.At) > time.Minute {
		t.Errorf("what is readable came at %v, known %t", mark.At, known)
	}
	log.mu.Unlock()
	letIn(t, gate)
	r.finish(task)
}
