package process_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/executor/process"
)

// modes runs a test with cgroups, where they are writable, and without.
func modes(t *testing.T, test func(t *testing.T, host *process.Host)) {
	for _, without := range []bool{false, true} {
		t.Run(fmt.Sprintf("cgroups=%t", !without), func(t *testing.T) {
			test(t, open(t, process.Config{UID: -1, GID: -1, NoCgroups: without}))
		})
	}
}

// needNamespaces skips a test where programs cannot have namespaces of their own.
func needNamespaces(t testing.TB) {
	t.Helper()
	if err := process.CheckNamespaces([]string{"/proc/self/exe", "__guard"}); err != nil {
		t.Skip(err)
	}
}

// everyMode is modes, and once more in namespaces. Process ids in these differ from those that the test sees.
func everyMode(t *testing.T, test func(t *testing.T, host *process.Host)) {
	modes(t, test)
	t.Run("namespaces", func(t *testing.T) {
		needNamespaces(t)
		test(t, open(t, process.Config{UID: -1, GID: -1, OwnNamespaces: true}))
	})
}

func open(t testing.TB, config process.Config) *process.Host {
	t.Helper()
	if config.Dir == "" {
		config.Dir = t.TempDir()
	}
	config.Guardian = []string{"/proc/self/exe", "__guard"}
	config.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	host, err := process.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	return host
}

type job struct {
	*process.Process
	folder *process.Folder
	output *lines
}

// start starts a shell script.
func start(t testing.TB, host *process.Host, script string, change ...func(*process.Command)) *job {
	t.Helper()
	folder, err := host.TakeFolder()
	if err != nil {
		t.Fatal(err)
	}
	command := process.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Folder: folder,
		Env: []string{"PATH=/usr/bin:/bin", process.Marker + "=" + folder.Path},
	}
	for _, f := range change {
		f(&command)
	}
	output := &lines{come: make(chan string, 1024)}
	running, err := host.Start(command, output, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &job{running, folder, output}
}

// With two writers each stream goes to its own; with one, both go to it in the order of writing.
func TestStreamsAreApartOrInOrder(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells which of two pipes was first")
	}
	host := open(t, process.Config{Dir: filepath.Join(t.TempDir(), "work"), UID: -1, GID: -1})
	folder, err := host.TakeFolder()
	if err != nil {
		t.Fatal(err)
	}
	const script = `i=0; while [ $i -lt 200 ]; do echo o$i; echo e$i >&2; i=$((i + 1)); done; exec 2>&-; sleep 0.05; echo end`
	command := process.Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Folder: folder}
	var out, failed, both bytes.Buffer
	running, err := host.Start(command, &out, &failed)
	if err != nil {
		t.Fatal(err)
	}
	running.Wait()
	if running, err = host.Start(command, &both, nil); err != nil {
		t.Fatal(err)
	}
	running.Wait()
	var wantOut, wantFailed, wantBoth strings.Builder
	for i := range 200 {
		fmt.Fprintf(&wantOut, "o%d\n", i)
		fmt.Fprintf(&wantFailed, "e%d\n", i)
		fmt.Fprintf(&wantBoth, "o%d\ne%[1]d\n", i)
	}
	if out.String() != wantOut.String()+"end\n" || failed.String() != wantFailed.String() {
		t.Errorf("apart: %q and %q", out.String(), failed.String())
	}
	if both.String() != wantBoth.String()+"end\n" {
		t.Errorf("together: %q", both.String())
	}
	if err := host.ReturnFolder(folder); err != nil {
		t.Error(err)
	}
}

func (j *job) end(t testing.TB, host *process.Host) process.Exit {
	t.Helper()
	exit := j.Wait()
	if err := host.ReturnFolder(j.folder); err != nil {
		t.Error(err)
	}
	return exit
}

// lines keeps output, and returns its lines.
type lines struct {
	mu   sync.Mutex
	all  bytes.Buffer
	rest []byte
	come chan string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Write(p)
	l.rest = append(l.rest, p...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte{'\n'})
		if !ok {
			return len(p), nil
		}
		select {
		case l.come <- string(line):
		default:
		}
		l.rest = rest
	}
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// ended waits until a process is gone: it is not a child of this process, so the only event is that of its descriptor.
func ended(t testing.TB, pid int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for alive(pid) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there", pid)
		}
		<-tick.C
	}
}

// alive reports whether a process exists and is no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return fields[0] != "Z" && fields[0] != "X"
}

func number(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		t.Fatalf("%q is no process id", s)
	}
	return n
}

func TestExitReportsCodeOutputAndUsage(t *testing.T) {
	everyMode(t, func(t *testing.T, host *process.Host) {
		j := start(t, host, "echo out; echo err >&2; exit 7")
		exit := j.end(t, host)
		if exit.Code != 7 || exit.Signal != 0 || j.output.String() != "out\nerr\n" {
			t.Errorf("got %+v with output %q", exit, j.output)
		}
		if exit.CPU <= 0 {
			t.Errorf("usage is %+v", exit)
		}
		exit = start(t, host, "kill -SEGV $$").end(t, host)
		if exit.Signal != syscall.SIGSEGV || exit.Code != 0 {
			t.Errorf("got %+v", exit)
		}
	})
}

func TestInputOfAnySizeReachesTheProgramOrIsDropped(t *testing.T) {
	everyMode(t, func(t *testing.T, host *process.Host) {
		for _, size := range []int{0, 1, 65536, 65537, 3 << 20} {
			input := bytes.Repeat([]byte{'x'}, size)
			j := start(t, host, "wc -c", func(c *process.Command) { c.Stdin = input })
			if j.end(t, host); number(t, j.output.String()) != size {
				t.Errorf("of %d bytes the program saw %s", size, j.output)
			}
			if exit := start(t, host, "exit 0", func(c *process.Command) { c.Stdin = input }).end(t, host); exit.Code != 0 {
				t.Errorf("a program that does not read %d bytes ended with %+v", size, exit)
			}
		}
		j := start(t, host, "wc -c")
		if j.end(t, host); number(t, j.output.String()) != 0 {
			t.Errorf("without input the program saw %s bytes", j.output)
		}
	})
}

func TestNothingOfAProgramOutlivesIt(t *testing.T) {
	for name, script := range map[string]string{
		"in its group, holding the output":   "sleep 1000 & echo $!",
		"in its group, silent":               "sleep 1000 >/dev/null 2>&1 & echo $!",
		"ignoring signals":                   "(trap '' TERM INT HUP; sleep 1000) & echo $!",
		"in a session, holding the output":   "setsid sh -c 'echo $$; : > said; exec sleep 1000' & while ! test -e said; do sleep 0.01; done",
		"after its parent closed the output": "sleep 1000 & echo $!; exec >&- 2>&-; sleep 0.05",
	} {
		t.Run(name, func(t *testing.T) {
			modes(t, func(t *testing.T, host *process.Host) {
				j := start(t, host, script)
				j.end(t, host)
				if pid := number(t, j.output.String()); alive(pid) {
					t.Errorf("process %d is still there", pid)
				}
			})
		})
	}
}

func TestKillReachesWhatHasLeftTheSession(t *testing.T) {
	modes(t, func(t *testing.T, host *process.Host) {
		j := start(t, host, `setsid sh -c 'echo $$; exec sleep 1000' </dev/null & sleep 1000`)
		done := make(chan process.Exit)
		go func() { done <- j.Wait() }()
		pid := number(t, <-j.output.come)
		j.Kill()
		if exit := <-done; exit.Signal != syscall.SIGKILL {
			t.Errorf("got %+v", exit)
		}
		if alive(pid) {
			t.Errorf("process %d is still there", pid)
		}
		if err := host.ReturnFolder(j.folder); err != nil {
			t.Error(err)
		}
	})
}

func TestSignalGoesToTheWholeGroup(t *testing.T) {
	everyMode(t, func(t *testing.T, host *process.Host) {
		j := start(t, host, `trap 'wait; echo parent; exit 3' TERM; (trap 'echo child; exit' TERM; echo ready; while :; do sleep 0.01; done) & wait`)
		done := make(chan process.Exit)
		go func() { done <- j.Wait() }()
		<-j.output.come
		j.Signal(syscall.SIGTERM)
		exit := <-done
		if out := j.output.String(); exit.Code != 3 || !strings.Contains(out, "child\n") || !strings.Contains(out, "parent\n") {
			t.Errorf("got %+v with output %q", exit, out)
		}
		j.Signal(syscall.SIGKILL) // after its end: no process is hit
		j.Kill()
		if err := host.ReturnFolder(j.folder); err != nil {
			t.Error(err)
		}
	})
}

func TestEachProgramFindsAnEmptyFolder(t *testing.T) {
	everyMode(t, func(t *testing.T, host *process.Host) {
		for _, script := range []string{
			"true", "true", "touch file", "mkdir -p d/e && touch d/e/f && chmod 0500 d/e d", "touch tmp/x; rm tmp/x", "rm -r tmp", "chmod 0755 .", "touch artifacts/x", "rmdir artifacts", "mv artifacts x; mkdir artifacts", "touch .hidden tmp/.hidden",
			"i=0; while [ $i -lt 500 ]; do : > f$i; i=$((i+1)); done", "true",
		} {
			j := start(t, host, `ls -A; ls -A tmp artifacts; stat -c %a . tmp artifacts; `+script)
			if exit := j.end(t, host); exit.Code != 0 || j.output.String() != "artifacts\ntmp\nartifacts:\n\ntmp:\n700\n700\n700\n" {
				t.Fatalf("before %q: %+v with output %q", script, exit, j.output)
			}
		}
	})
}

func TestProgramRunsAsTheGivenUserAndSeesOnlyItsEnvironment(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change users")
	}
	dir := t.TempDir()
	for path := dir; path != filepath.Clean(os.TempDir()) && path != "/"; path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("LEAK", "this must not be seen")
	host := open(t, process.Config{Dir: dir, UID: 65534, GID: 65534})
	j := start(t, host, `id -u; id -g; id -G; env | grep -v ^_= | cut -d= -f1 | sort; touch a tmp/b && ls /proc/self/fd | wc -l`)
	exit := j.end(t, host)
	want := "65534\n65534\n65534\nPATH\nPWD\n" + process.Marker + "\n4\n" // 0, 1, 2 and the one of ls
	if exit.Code != 0 || j.output.String() != want {
		t.Errorf("got %+v with output %q, want %q", exit, j.output, want)
	}
}

func TestPlaceAvoidsFoldersClosedToTheUser(t *testing.T) {
	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := process.Place(filepath.Join(closed, "work"), 65534, 65534)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(dir)
	if strings.HasPrefix(dir, closed) {
		t.Errorf("user 65534 cannot reach %s", dir)
	}
	again, err := process.Place(filepath.Join(closed, "work"), 65534, 65534)
	if err != nil || again != dir {
		t.Errorf("the next start would use %s, %v, not %s", again, err, dir)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if dir, err := process.Place(filepath.Join(closed, "work"), 65534, 65534); err == nil {
		t.Errorf("a folder that anybody may write to was taken: %s", dir)
	}
	if same, err := process.Place(filepath.Join(closed, "work"), -1, -1); err != nil || same != filepath.Join(closed, "work") {
		t.Errorf("who stays himself gets %s, %v", same, err)
	}
}

func TestStartErrorsAreTheSystems(t *testing.T) {
	host := open(t, process.Config{UID: -1, GID: -1})
	folder, err := host.TakeFolder()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	for content, want := range map[string]syscall.Errno{"#!/no/such/interpreter\n": syscall.ENOENT, "\x7fELF nonsense": syscall.ENOEXEC} {
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := host.Start(process.Command{Path: path, Args: []string{path}, Folder: folder}, nil, nil)
		var failed *process.StartError
		if !errors.As(err, &failed) || !errors.Is(failed.Err, want) {
			t.Errorf("%q gives %v, want %v", content, err, want)
		}
	}
}

// The executor reads the clock at the last moment before it starts a program, and leaves nothing of one that would begin
// too late.
func TestProgramBeginsInTimeOrNotAtAll(t *testing.T) {
	for name, config := range map[string]process.Config{
		"as it is": {UID: -1, GID: -1}, "in namespaces": {UID: -1, GID: -1, OwnNamespaces: true, NoCgroups: true},
	} {
		for _, limits := range []process.Limits{{}, {OpenFiles: 100}} {
			t.Run(fmt.Sprint(name, " ", limits.OpenFiles), func(t *testing.T) {
				if config.OwnNamespaces {
					needNamespaces(t)
				}
				host := open(t, config)
				for in, late := range map[time.Duration]bool{-time.Millisecond: true, time.Hour: false} {
					folder, err := host.TakeFolder()
					if err != nil {
						t.Fatal(err)
					}
					running, err := host.Start(process.Command{
						Path: "/bin/sh", Args: []string{"sh", "-c", "echo began > began"}, Env: []string{"PATH=/usr/bin:/bin", process.Marker + "=" + folder.Path},
						Folder: folder, Limits: limits, Before: time.Now().Add(in),
					}, io.Discard, nil)
					if errors.Is(err, process.ErrLate) != late || !late && err != nil {
						t.Errorf("in %s it must have begun: %v", in, err)
					}
					if err == nil {
						running.Wait()
					}
					if _, err := os.Stat(filepath.Join(folder.Path, "began")); errors.Is(err, fs.ErrNotExist) != late {
						t.Errorf("in %s it must have begun: it has: %v", in, err)
					}
					if err := host.ReturnFolder(folder); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// A program that is written and started while others are forked is busy now and then, and must start all the same.
func TestFileThatWasJustWrittenStarts(t *testing.T) {
	host := open(t, process.Config{UID: -1, GID: -1})
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var all sync.WaitGroup
	for worker := range 6 {
		all.Go(func() {
			for i := range 40 {
				path := filepath.Join(dir, fmt.Sprintf("%d-%d", worker, i))
				if err := os.WriteFile(path+".part", program, 0o755); err != nil {
					t.Error(err)
					return
				}
				if err := os.Rename(path+".part", path); err != nil {
					t.Error(err)
					return
				}
				folder, err := host.TakeFolder()
				if err != nil {
					t.Error(err)
					return
				}
				running, err := host.Start(process.Command{Path: path, Args: []string{path}, Folder: folder}, nil, nil)
				if err != nil {
					t.Error(err)
					return
				}
				running.Wait()
				if err := host.ReturnFolder(folder); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestSecondHostOnAFolderIsRefused(t *testing.T) {
	dir := t.TempDir()
	open(t, process.Config{Dir: dir, UID: -1, GID: -1})
	_, err := process.Open(process.Config{Dir: dir, UID: -1, GID: -1, Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "another executor") {
		t.Errorf("got %v", err)
	}
}
