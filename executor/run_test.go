package executor_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

func TestExitIsReported(t *testing.T) {
	r := newRig(t)
	for script, want := range map[string]engine.Finish{
		"exit 0":               {Status: engine.StatusSucceeded},
		"exit 3":               {Status: engine.StatusFailed},
		"exit 75":              {Status: engine.StatusFailed},
		"exit 124":             {Status: engine.StatusTimedOut},
		"kill -KILL $$":        {Status: engine.StatusFailed, Signal: "SIGKILL"},
		"kill -TERM $$":        {Status: engine.StatusFailed, Signal: "SIGTERM"},
		"cat >/dev/null; exit": {Status: engine.StatusSucceeded},
	} {
		got := r.run(r.task(script))
		if got.Status != want.Status || got.Signal != want.Signal || (got.ExitCode == nil) != (want.Signal != "") || got.Error != "" || got.NoRetry {
			t.Errorf("%s: %+v", script, got)
		}
		if got.FetchedAt.IsZero() || got.StartedAt.Before(got.FetchedAt) || got.FinishedAt.Before(got.StartedAt) || got.Usage.CPU <= 0 {
			t.Errorf("%s: %+v", script, got)
		}
	}
}

func TestProgramSeesTheContractAndNothingElse(t *testing.T) {
	t.Setenv("SECRET_OF_THE_EXECUTOR", "leaked")
	r := newRig(t)
	task := r.task(`env | grep -v ^_= | sort; pwd; echo "$@"; cat`, func(task *engine.Task) {
		task.Env = map[string]string{
			"LEVEL": "info", "DAY": "day ${TIDEWHEEL_SLOT}", "BOTH": "${LEVEL}/${DAY}", "LOOP": "${LOOP}", "LANG": "C",
			"TIDEWHEEL_RUN_ID": "forged", "TRACEPARENT": "forged",
		}
		task.Args = []string{"--day=${TIDEWHEEL_SLOT}", "${LEVEL}", "$${LEVEL}", "${UNKNOWN}", "${", "$LEVEL", "${${LEVEL}}"}
		task.Payload = json.RawMessage(`{"shops":[1,2]}`)
	})
	finish := r.run(task)
	lines := strings.Split(string(finish.Output.Tail), "\n")
	environment := map[string]string{}
	for i, line := range lines {
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "/") {
			lines = lines[i:]
			break
		}
		environment[name] = value
	}
	work := environment["TIDEWHEEL_WORK_DIR"]
	token := r.result(task, engine.ResultStarted).Token
	want := map[string]string{
		"TIDEWHEEL_JOB": "report", "TIDEWHEEL_RUN_ID": task.Run, "TIDEWHEEL_ATTEMPT": "1", "TIDEWHEEL_SLOT": "2026-12-31T22:59:59Z",
		"TIDEWHEEL_IDEMPOTENCY_KEY": task.Run, "TIDEWHEEL_FENCING_TOKEN": fmt.Sprint(token), "TIDEWHEEL_BINARY_SHA256": task.Digest,
		"TIDEWHEEL_DEADLINE": environment["TIDEWHEEL_DEADLINE"], "TIDEWHEEL_WORK_DIR": work, "TRACEPARENT": environment["TRACEPARENT"],
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": work, "TMPDIR": work + "/tmp", "LANG": "C", "PWD": work,
		"TIDEWHEEL_OUTPUT": work + "/.tidewheel-output", "TIDEWHEEL_ARTIFACTS": work + "/artifacts",
		"LEVEL": "info", "DAY": "day 2026-12-31T22:59:59Z", "BOTH": "info/day 2026-12-31T22:59:59Z", "LOOP": "${LOOP}",
	}
	for name, value := range want {
		if environment[name] != value {
			t.Errorf("%s=%q, want %q", name, environment[name], value)
		}
	}
	for name := range environment {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is in the environment", name)
		}
	}
	if trace := environment["TRACEPARENT"]; len(trace) != 55 || !strings.HasPrefix(trace, "00-") || !strings.HasSuffix(trace, "-01") {
		t.Errorf("TRACEPARENT is %q", trace)
	}
	if environment["TIDEWHEEL_DEADLINE"] < "2026" {
		t.Errorf("TIDEWHEEL_DEADLINE is %q", environment["TIDEWHEEL_DEADLINE"])
	}
	rest := []string{work, "--day=2026-12-31T22:59:59Z info ${LEVEL} ${UNKNOWN} ${ $LEVEL ${info}", `{"shops":[1,2]}`}
	if !slices.Equal(lines, rest) {
		t.Errorf("the program printed %q, want %q", lines, rest)
	}
	if _, err := os.Stat(filepath.Join(work, "x")); err == nil {
		t.Error("something is left")
	}
}

func TestProgramsDoNotRunAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has something to lose")
	}
	r := newRig(t)
	finish := r.run(r.task(`id -u; touch file; stat -c %u "$0"`))
	var user, owner int
	if _, err := fmt.Sscan(string(finish.Output.Tail), &user, &owner); err != nil || user < 1000 || owner != 0 {
		t.Errorf("a program ran as %q", finish.Output.Tail)
	}
	allowed := newRig(t, func(c *executor.Config) { c.AllowRoot = true })
	if finish := allowed.run(allowed.task("id -u")); string(finish.Output.Tail) != "0\n" {
		t.Errorf("a program that may be root ran as %q", finish.Output.Tail)
	}
}

func TestKindDecidesHowAProgramIsStarted(t *testing.T) {
	r := newRig(t)
	binary, err := os.ReadFile("/bin/echo")
	if err != nil {
		t.Skip(err)
	}
	args := func(kind, interpreter string, args ...string) func(*engine.Task) {
		return func(task *engine.Task) { task.Kind, task.Interpreter, task.Args = kind, interpreter, args }
	}
	for name, test := range map[string]struct {
		task engine.Task
		want string
	}{
		"elf":                              {r.program(binary, args("elf", "", "a b", "c")), "a b c\n"},
		"elf by its bytes":                 {r.program(binary, args("", "cat", "x")), "x\n"},
		"script by its bytes":              {r.program([]byte("#!/bin/sh\necho $1"), args("", "", "x")), "x\n"},
		"unknown with an interpreter":      {r.program([]byte("echo $1"), args("unknown", "sh", "x")), "x\n"},
		"script with another interpreter":  {r.program([]byte("#!/no/such/thing\necho $1"), args("script", "sh", "x")), "x\n"},
		"interpreter by its absolute path": {r.program([]byte("echo $1"), args("unknown", "/bin/sh", "x")), "x\n"},
	} {
		if finish := r.run(test.task); finish.Status != engine.StatusSucceeded || string(finish.Output.Tail) != test.want {
			t.Errorf("%s: %+v with output %q", name, finish, finish.Output.Tail)
		}
	}
	for name, test := range map[string]struct {
		task engine.Task
		want string
	}{
		"unknown without an interpreter": {r.program([]byte("echo"), args("unknown", "")), "name an interpreter"},
		"missing interpreter":            {r.program([]byte("echo"), args("unknown", "no-such")), "its interpreter no-such does not exist on executor here"},
		"missing #!":                     {r.program([]byte("#!/usr/bin/foo -x\n"), args("script", "")), "its interpreter /usr/bin/foo does not exist on executor here"},
		"windows lines":                  {r.program([]byte("#!/bin/sh\r\necho\r\n"), args("script", "")), "Windows"},
		"other architecture":             {r.program(foreign(binary), args("elf", "")), "executor here runs " + runtime.GOOS + "/" + runtime.GOARCH},
		"jar without java":               {r.program([]byte("PK\x03\x04"), args("jar", ""), func(t *engine.Task) { t.Env = map[string]string{"PATH": "/nowhere"} }), "java does not exist"},
	} {
		if finish := r.run(test.task); finish.Status != engine.StatusFailed || !finish.NoRetry || !strings.Contains(finish.Error, test.want) {
			t.Errorf("%s: %+v", name, finish)
		}
	}
}

// foreign makes a program one of another processor.
func foreign(program []byte) []byte {
	changed := slices.Clone(program)
	changed[18], changed[19] = 22, 0 // s390x
	return changed
}

func TestJARIsRunByJava(t *testing.T) {
	r := newRig(t)
	dir := reachable(t)
	java := filepath.Join(dir, "java")
	if err := os.WriteFile(java, []byte("#!/bin/sh\necho \"$1\" \"$(head -c 2 \"$2\")\" \"$3\""), 0o755); err != nil {
		t.Fatal(err)
	}
	task := r.program([]byte("PK\x03\x04rest"), func(task *engine.Task) {
		task.Kind, task.Args, task.Env = "jar", []string{"x"}, map[string]string{"PATH": dir + ":/usr/bin:/bin"}
	})
	if finish := r.run(task); string(finish.Output.Tail) != "-jar PK x\n" {
		t.Errorf("%+v with output %q", finish, finish.Output.Tail)
	}
}

func TestProgramThatCannotBeFetched(t *testing.T) {
	r := newRig(t, func(c *executor.Config) { c.FetchTimeout = 1 << 28 }) // a quarter of a second
	gone := r.task("exit 0 # gone")
	delete(r.binaries, gone.Digest)
	if finish := r.run(gone); !finish.NoRetry || !strings.Contains(finish.Error, "not stored any more") {
		t.Errorf("%+v", finish)
	}
	damaged := r.task("exit 0 # damaged")
	r.binaries[damaged.Digest] = []byte("something else")
	if finish := r.run(damaged); !finish.NoRetry || !strings.Contains(finish.Error, "damaged") {
		t.Errorf("%+v", finish)
	}
	r.failures = 1
	if finish := r.run(r.task("exit 0 # late")); finish.Status != engine.StatusSucceeded {
		t.Errorf("%+v", finish)
	}
	r.failures = 1000
	finish := r.run(r.task("exit 0 # never"))
	if !finish.HandedBack || !finish.Unfetched || finish.NoRetry || !finish.StartedAt.IsZero() || !strings.Contains(finish.Error, "could not fetch its program") || !strings.Contains(finish.Error, "away") {
		t.Errorf("%+v", finish)
	}
}

func TestCacheThatWasEmptiedIsFilledAgain(t *testing.T) {
	var dir string
	r := newRig(t, func(c *executor.Config) { dir, c.AllowRoot = c.CacheDir, true })
	task := r.task("echo hello")
	r.run(task)
	if err := os.Remove(filepath.Join(dir, task.Digest)); err != nil {
		t.Fatal(err)
	}
	task.Attempt = 2
	if finish := r.run(task); string(finish.Output.Tail) != "hello\n" {
		t.Errorf("%+v", finish)
	}
}

func TestExceededLimitIsNamedInTheError(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("limits need Linux")
	}
	r := newRig(t)
	limit := func(task *engine.Task) { task.Limits.Memory = 32 * spec.Mebibyte }
	finish := r.run(r.task(`x=$(head -c 60000000 /dev/zero | tr '\0' x); sleep 1000`, limit))
	if finish.Status != engine.StatusFailed || finish.Error != "killed: used more than its memory limit of 32MiB" {
		t.Errorf("%+v", finish)
	}
	finish = r.run(r.task(`echo "sh: Cannot allocate memory"; exit 2`, limit))
	if !strings.Contains(finish.Error, "memory limit is 32MiB") {
		t.Errorf("%+v", finish)
	}
	finish = r.run(r.task("ulimit -n", func(task *engine.Task) { task.Limits.OpenFiles = 99 }))
	if string(finish.Output.Tail) != "99\n" {
		t.Errorf("it may open %q files", finish.Output.Tail)
	}
}

func TestMissingDynamicLoaderIsNamed(t *testing.T) {
	patch, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Skip(err)
	}
	if _, err := exec.LookPath("/lib64/ld-linux-x86-64.so.2"); err != nil {
		t.Skip("another loader")
	}
	r := newRig(t)
	other := []byte(strings.Replace(string(patch), "/lib64/ld-linux-x86-64.so.2", "/lib64/no-linux-x86-64.so.2", 1))
	finish := r.run(r.program(other, func(task *engine.Task) { task.Kind = "elf" }))
	if !finish.NoRetry || !strings.Contains(finish.Error, "dynamic loader /lib64/no-linux-x86-64.so.2 does not exist") {
		t.Errorf("%+v", finish)
	}
}

// While the object store does not answer, the executor keeps the lock, and can end the attempt without waiting for the store.
func TestAttemptThatWaitsForItsProgramCanBeEnded(t *testing.T) {
	for name, end := range map[string]func(r *rig, task engine.Task){
		"cancelled": func(r *rig, task engine.Task) { r.control(engine.ControlCancel, task.Run, task.Attempt) },
		"drained":   func(r *rig, _ engine.Task) { r.stop() },
		"served":    func(r *rig, _ engine.Task) { r.fail(0) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *executor.Config) {
				c.FetchTimeout, c.LockTTL, c.DrainTimeout = time.Hour, 150*time.Millisecond, time.Millisecond
			})
			r.fail(math.MaxInt)
			task := r.task("exit 0")
			r.send(task)
			r.saw("refresh", 3)
			if waits := r.result(task, engine.ResultProgress).Waits; !strings.Contains(waits, "for S3") {
				t.Errorf("it says %q", waits)
			}
			end(r, task)
			finish := r.finish(task)
			r.queue.mu.Lock()
			all := r.subjects[subject(task.Run, 1)]
			if last := all[len(all)-2]; (last.Waits == "") != (name == "served") {
				t.Errorf("at last it says that it waits: %q", last.Waits)
			}
			r.queue.mu.Unlock()
			switch name {
			case "cancelled":
				if finish.Status != engine.StatusCancelled {
					t.Errorf("%+v", finish)
				}
			case "drained":
				if !finish.HandedBack || finish.Unfetched || !strings.Contains(finish.Error, "shut down") {
					t.Errorf("%+v", finish)
				}
			case "served":
				if finish.Status != engine.StatusSucceeded {
					t.Errorf("%+v", finish)
				}
			}
			if began := !finish.StartedAt.IsZero(); began != (name == "served") {
				t.Errorf("it began: %t", began)
			}
		})
	}
}
