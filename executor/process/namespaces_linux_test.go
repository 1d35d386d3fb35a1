package process_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tidewheel/tidewheel/executor/process"
)

// A program in namespaces of its own reaches nothing of the executor and of another program: with a user of its own, where
// the executor is root, and in a user namespace elsewhere.
func TestProgramReachesNothingOutsideOfItsNamespaces(t *testing.T) {
	asBoth(t, func(t *testing.T) { attackFrom(t, process.IsolationStrict) })
}

// What a program has business with it can do in its namespaces.
func TestProgramWorksInItsNamespaces(t *testing.T) {
	asBoth(t, func(t *testing.T) { workFrom(t, process.IsolationStrict) })
}

// besideVariable names the folder below which a site is made.
const besideVariable = "TIDEWHEEL_TEST_BESIDE"

// asBoth runs a test as root, where that is possible, and as a user without rights.
func asBoth(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	if os.Geteuid() == 0 {
		beside := fmt.Sprintf("/srv/tidewheel-test-%d", os.Getpid()) // not among what programs have of their own
		defer os.RemoveAll(beside)
		if err := errors.Join(os.Mkdir(beside, 0o777), os.Chmod(beside, 0o777)); err != nil {
			t.Fatal(err)
		}
		t.Setenv(besideVariable, beside)
		test(t)
	}
	if unprivileged(t) {
		test(t)
	}
}

// A program that detaches itself, clears its environment and closes its output ends with its attempt. It escapes where
// there are neither namespaces nor cgroups nor a user for each attempt.
func TestDaemonEndsWithItsAttempt(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		for _, isolation := range []process.Isolation{process.IsolationStrict, process.IsolationNone} {
			t.Run(string(isolation), func(t *testing.T) {
				if isolation == process.IsolationStrict {
					needNamespaces(t)
				}
				host := open(t, process.Config{
					Dir: filepath.Join(passable(t), "work"), UID: -1, GID: -1, NoCgroups: true, OwnNamespaces: isolation == process.IsolationStrict,
				})
				seconds := uniqueSeconds()
				script := `env -i setsid sh -c 'sleep ` + seconds + ` & echo $$ > pid' > /dev/null 2>&1 < /dev/null & while ! test -s pid; do sleep 0.01; done`
				job := start(t, host, script)
				if exit := job.end(t, host); exit.Code != 0 {
					t.Fatalf("the program ended with %+v", exit)
				}
				escaped := withArgument(t, seconds)
				for _, pid := range escaped {
					_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
				}
				if (len(escaped) > 0) != (isolation == process.IsolationNone) {
					t.Errorf("daemons %d outlive their attempt", escaped)
				}
			})
		}
	})
}

// uniqueSeconds is how long a process sleeps that is known by that.
func uniqueSeconds() string { return fmt.Sprintf("98765.%d", os.Getpid()) }

// withArgument lists the processes whose command line holds a text.
func withArgument(t *testing.T, text string) (pids []int) {
	t.Helper()
	for _, pid := range processes(t) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.Contains(line, []byte(text)) && !bytes.Contains(line, []byte("__executor")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// A program in namespaces dies with its executor, from its first moment and though nothing marks it.
func TestProgramInNamespacesEndsWithItsExecutor(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		needNamespaces(t)
		seconds := uniqueSeconds()
		executor := exec.Command("/proc/self/exe", "__executor", filepath.Join(passable(t), "work"), "namespaces", "exec env -i sleep "+seconds)
		stdout, err := executor.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := executor.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil { // it has started the program
			t.Fatal(err)
		}
		program := withArgument(t, seconds)
		for len(program) == 0 && t.Context().Err() == nil { // while it becomes another program, it shows no command line
			runtime.Gosched()
			program = withArgument(t, seconds)
		}
		if err := executor.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = executor.Wait() // it was killed
		for _, pid := range program {
			ended(t, pid)
		}
	})
}

// The first process of a program's namespaces gives it nothing but its input, its outputs and its environment, and tells
// of all that it cannot see itself.
func TestProgramInNamespacesSeesOnlyWhatIsItsOwn(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		needNamespaces(t)
		t.Setenv("LEAK", "this must not be seen")
		defer syscall.Umask(syscall.Umask(0o077)) // as units have it
		host := open(t, process.Config{Dir: filepath.Join(passable(t), "work"), UID: -1, GID: -1, OwnUsers: os.Geteuid() == 0, OwnNamespaces: true})
		job := start(t, host, `
env | grep -v ^_= | cut -d= -f1 | sort | tr '\n' ' '; ls /proc/self/fd | tr '\n' ' '; echo
ls -A /tmp /var/tmp /dev/shm | grep -v ^Test; stat -c %a /tmp /var/tmp /dev/shm
tr '\0' ' ' < /proc/1/environ 2>/dev/null
sed -n 's/^\(NoNewPrivs\|CapEff\|CapPrm\|CapAmb\|SigIgn\|SigBlk\):\t//p' /proc/self/status | tr '\n' ' '; exit 3`, func(c *process.Command) { c.Env = append(c.Env, "GODEBUG=inittrace=1") }) // which the init must not obey
		exit := job.end(t, host)
		const none = "0000000000000000 "
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(status), "SigIgn:\t")
		ignored, _, _ := strings.Cut(after, "\n") // a program ignores what its executor does, and nothing else
		signals := none + ignored + " " + strings.Repeat(none, 3) + "1"
		want := "GODEBUG PATH PWD " + process.Marker + " 0 1 2 3 \n/dev/shm:\n\n/tmp:\n\n/var/tmp:\n1777\n1777\n1777\n"
		got := job.output.String()
		if !strings.HasPrefix(got, want) || !strings.Contains(got, signals) || exit.Code != 3 || strings.Contains(got, "LEAK") || strings.Contains(got, "=") {
			t.Errorf("it ended with %+v and printed %q, want %q", exit, got, want)
		}
	})
}

// What all processes of a program have in memory counts together, and nothing of its init's.
func TestMemoryOfAllProcessesInNamespacesIsLimited(t *testing.T) {
	needNamespaces(t)
	host := open(t, process.Config{UID: -1, GID: -1, OwnNamespaces: true, NoCgroups: true})
	const script = `for i in 1 2 3 4; do (x=$(head -c 6000000 /dev/zero | tr '\0' x); sleep %d) & done; wait; echo done`
	for _, c := range []struct {
		limit   int64
		over    process.Over
		seconds int // for which each of them holds its memory
	}{{16 << 20, process.OverMemory, 60}, {128 << 20, process.OverNone, 1}} {
		exit := start(t, host, fmt.Sprintf(script, c.seconds), func(command *process.Command) { command.Limits.Memory = c.limit }).end(t, host)
		if exit.Over != c.over {
			t.Errorf("with a limit of %d bytes it ended with %+v", c.limit, exit)
		}
	}
}

// Programs cannot leave their cgroup or end others by theirs, even where every user may write to these.
func TestCgroupsCannotBeChangedInNamespaces(t *testing.T) {
	needRoot(t)
	needNamespaces(t)
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	group := ""
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); fields[2] == "cgroup2" || fields[2] == "cgroup" {
			group = filepath.Join(fields[1], fmt.Sprintf("tidewheel-attack-%d", os.Getpid()))
		}
	}
	if group == "" {
		t.Skip("no cgroups are mounted")
	}
	for _, namespaces := range []bool{true, false} {
		host := open(t, process.Config{UID: -1, GID: -1, OwnNamespaces: namespaces})
		exit := start(t, host, "mkdir "+group+" && rmdir "+group).end(t, host)
		if (exit.Code == 0) == namespaces {
			t.Errorf("namespaces=%t: a program of root that makes a cgroup ended with %+v", namespaces, exit)
		}
	}
}

// What a program leaves in /tmp lies in memory, and is bounded by its limit.
func TestTemporaryFilesAreBoundedByTheMemoryLimit(t *testing.T) {
	needNamespaces(t)
	host := open(t, process.Config{UID: -1, GID: -1, OwnNamespaces: true, NoCgroups: true})
	job := start(t, host, `head -c 30000000 /dev/zero > /dev/shm/file && head -c 3000000 /dev/zero > /tmp/file && echo fits
head -c 9000000 /dev/zero > /var/tmp/file || echo full`, func(c *process.Command) { c.Limits.Memory = 40 << 20 })
	if exit := job.end(t, host); !strings.HasPrefix(job.output.String(), "fits\n") || !strings.HasSuffix(job.output.String(), "full\n") {
		t.Errorf("it ended with %+v and printed %q", exit, job.output)
	}
}

// An executor that cannot make namespaces does not start, and says what it needs.
func TestExecutorThatCannotMakeNamespacesSaysWhatItNeeds(t *testing.T) {
	if err := process.CheckNamespaces([]string{"/bin/false"}); err == nil || !strings.Contains(err.Error(), "has died before its start") {
		t.Errorf("without an init: %v", err)
	}
	_, err := process.Open(process.Config{Dir: t.TempDir(), UID: -1, GID: -1, OwnNamespaces: true, Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "guardian") {
		t.Errorf("without a guardian: %v", err)
	}
	needRoot(t)
	needNamespaces(t)
	masked := exec.Command("/proc/self/exe", "__masked")
	masked.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	output, err := masked.CombinedOutput()
	if err == nil || !bytes.Contains(output, []byte("mount /proc: operation not permitted: it has no CAP_SYS_ADMIN: start the executor as root with CAP_SYS_ADMIN, or let it make user namespaces and mount a /proc that is not masked")) {
		t.Errorf("with a masked /proc: %v: %s", err, output)
	}
}

// maskProc covers a folder of /proc, as containers have it, and looks what a user without rights can make then.
func maskProc() error {
	if err := errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("tmpfs", "/proc/sys", "tmpfs", 0, "")); err != nil {
		return err
	}
	check := exec.Command("/proc/self/exe", "__check")
	check.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	output, err := check.CombinedOutput()
	return fmt.Errorf("%w: %s", err, output)
}

// A program that cannot start in namespaces and namespaces that cannot be made are different errors.
func TestStartErrorsInNamespacesAreTheSystems(t *testing.T) {
	needNamespaces(t)
	host := open(t, process.Config{UID: -1, GID: -1, OwnNamespaces: true})
	folder, err := host.TakeFolder()
	if err != nil {
		t.Fatal(err)
	}
	_, err = host.Start(process.Command{Path: "/no/such/program", Args: []string{"program"}, Folder: folder}, nil, nil)
	var failed *process.StartError
	if !errors.As(err, &failed) || !errors.Is(err, syscall.ENOENT) || failed.Path != "/no/such/program" {
		t.Errorf("got %v", err)
	}
}
