package process_test

import (
	"bufio"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/executor/process"
)

// An executor is killed in the middle of a program that has children in its group and out of it.
func TestNothingOutlivesAnExecutorThatIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the guardian needs /proc or cgroups")
	}
	for name, test := range map[string]struct{ cgroups, script string }{
		"with cgroups":                      {"yes", "sleep 1000 & echo $! > a; setsid sh -c 'echo $$ > b; exec sleep 1000' & echo $$ > c; wait"},
		"without":                           {"no", "sleep 1000 & echo $! > a; setsid sh -c 'echo $$ > b; exec sleep 1000' & echo $$ > c; wait"},
		"without, with a clear environment": {"no", "env -i /bin/sleep 1000 & echo $! > a; echo $$ > b; sleep 0.1; echo $$ > c; wait"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			done := filepath.Join(dir, "done")
			if err := syscall.Mkfifo(done, 0o600); err != nil {
				t.Fatal(err)
			}
			command := exec.Command(os.Args[0], "__executor", filepath.Join(dir, "work"), test.cgroups, strings.Replace(test.script, "wait", "echo > "+done+"; wait", 1))
			stdout, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			command.Stderr = t.Output()
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			folder, err := bufio.NewReader(stdout).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.ReadFile(done); err != nil { // returns when the script has come so far
				t.Fatal(err)
			}
			var pids []int
			for _, name := range []string{"a", "b", "c"} {
				data := untilWritten(t, filepath.Join(strings.TrimSpace(folder), name))
				pids = append(pids, number(t, data))
			}
			if err := command.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = command.Wait()
			for _, pid := range pids {
				ended(t, pid)
			}
			// The next one finds the folder free, and removes what was left.
			host, err := process.Open(process.Config{Dir: filepath.Join(dir, "work"), UID: -1, GID: -1, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(strings.TrimSpace(folder)); !os.IsNotExist(err) {
				t.Errorf("the folder of the killed executor is still there: %v", err)
			}
			if err := host.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// untilWritten reads a file that a process beside the script writes.
func untilWritten(t *testing.T, path string) string {
	t.Helper()
	for {
		data, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(string(data), "\n") {
			return string(data)
		}
		if t.Context().Err() != nil {
			t.Fatal(t.Context().Err())
		}
		runtime.Gosched()
	}
}

// What a killed executor without a guardian has left is ended by the next one on its folder.
func TestNextHostEndsWhatWasLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	dir := t.TempDir()
	folder := filepath.Join(dir, "life-x", "1")
	if err := os.MkdirAll(filepath.Join(folder, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	left := exec.Command("/bin/sleep", "1000")
	left.Env = []string{process.Marker + "=" + folder}
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	other := exec.Command("/bin/sleep", "1000")
	other.Env = []string{process.Marker + "=" + dir + "2/1"}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	open(t, process.Config{Dir: dir, UID: -1, GID: -1})
	if err := left.Wait(); err == nil || left.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("what was left ended with %v", left.ProcessState)
	}
	if !alive(other.Process.Pid) {
		t.Error("a process of another folder was ended")
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// A message that reaches the guardian too late does not hide that it acted: the executor can tell that the guardian has
// killed a program.
func TestGuardianThatActsLateIsKnownToHaveActed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the guardian needs /proc or cgroups")
	}
	modes(t, func(t *testing.T, host *process.Host) {
		j := start(t, host, "echo away; exec sleep 1000")
		ended := make(chan process.Exit, 1)
		go func() { ended <- j.end(t, host) }()
		<-j.output.come
		began := time.Now()
		for acted := false; !acted; { // it may hear in time, many times
			host.Speak(time.Now())
			host.Speak(time.Now().Add(time.Hour))
			select {
			case exit := <-ended:
				acted = true
				if exit.Signal != syscall.SIGKILL || !host.Silenced(began) {
					t.Errorf("it ended with %+v, and the guardian has done it: %t", exit, host.Silenced(began))
				}
			default:
			}
		}
	})
}

func TestGuardianIsReplacedWhenItDies(t *testing.T) {
	dir := t.TempDir()
	pids := filepath.Join(t.TempDir(), "pids")
	if err := syscall.Mkfifo(pids, 0o600); err != nil {
		t.Fatal(err)
	}
	// The first guardian says its id and dies, the second says its id and stays until the pipe closes.
	script := `echo $$ > ` + pids + `; mkdir ` + dir + `/first 2>/dev/null && exit 1; cat >/dev/null`
	host, err := process.Open(process.Config{
		Dir: filepath.Join(dir, "work"), UID: -1, GID: -1, NoCgroups: true,
		Guardian: []string{"/bin/sh", "-c", "PATH=/usr/bin:/bin; " + script}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 2 {
		data, err := os.ReadFile(pids)
		if err != nil {
			t.Fatal(err)
		}
		seen[string(data)] = true
	}
	if len(seen) != 2 {
		t.Errorf("guardians were %v", seen)
	}
	if err := host.Close(); err != nil {
		t.Error(err)
	}
}

// The guardian is what keeps programs from outliving their lock where the executor cannot: it is stopped, say.
func TestProgramsOfASilentExecutorAreEnded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the guardian needs /proc or cgroups")
	}
	everyMode(t, func(t *testing.T, host *process.Host) {
		j := start(t, host, "setsid sh -c 'echo away; exec sleep 1000' & wait")
		ended := make(chan process.Exit, 1)
		go func() { ended <- j.end(t, host) }()
		<-j.output.come
		began := time.Now()
		if host.Silenced(began) {
			t.Error("the guardian is said to have ended a program that lives")
		}
		const silence = 200 * time.Millisecond
		host.Speak(began.Add(silence))
		if exit := <-ended; exit.Signal != syscall.SIGKILL {
			t.Errorf("it ended with %+v", exit)
		}
		if after := time.Since(began); after < silence {
			t.Errorf("it was ended %s before the executor had to speak", silence-after)
		}
		if !host.Silenced(began) {
			t.Error("no ending is reported")
		}
		// An executor that speaks again continues as before.
		host.Speak(time.Now().Add(silence))
		host.Speak(time.Now().Add(time.Hour))
		j = start(t, host, "sleep 0.5; exit 3")
		if exit := j.end(t, host); exit.Code != 3 || exit.Signal != 0 {
			t.Errorf("the next one ended with %+v", exit)
		}
		if host.Silenced(time.Now()) {
			t.Error("what begins after the silence is said to be ended in it")
		}
	})
}
