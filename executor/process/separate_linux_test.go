package process_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tidewheel/tidewheel/executor/process"
)

// A program that runs as a user of its own can reach nothing of another one, which is a neighbour of the same Host.
func TestProgramsWithUsersOfTheirOwnAreSeparated(t *testing.T) {
	needRoot(t)
	host := open(t, process.Config{Dir: filepath.Join(passable(t), "work"), UID: nobody, GID: nobody, OwnUsers: true})
	if kind := host.Isolation(); kind != process.IsolationOwnUser {
		t.Fatalf("the isolation in force is %q", kind)
	}
	neighbour := start(t, host, `echo secret > file; echo $$; sleep 1000`, func(c *process.Command) { c.Env = append(c.Env, "SECRET=secret") })
	ended := make(chan struct{})
	go func() { defer close(ended); neighbour.end(t, host) }()
	defer func() { neighbour.Kill(); <-ended }()
	pid := <-neighbour.output.come
	script := fmt.Sprintf(`
for file in /proc/%[1]s/environ /proc/%[1]s/cmdline /proc/%[1]s/root/etc/passwd %[2]s/file /proc/%[3]d/environ /proc/%[3]d/cmdline; do
	cat $file && echo reached $file
done
ls %[2]s && echo reached the folder
kill -9 %[1]s && echo killed the neighbour
kill -9 %[3]d && echo killed the executor
ls -d /proc/[0-9]*
grep NoNewPrivs /proc/self/status
`, pid, neighbour.folder.Path, os.Getpid())
	spy := start(t, host, "exec 2>&1\n"+script)
	spy.end(t, host)
	output := spy.output.String()
	for _, bad := range []string{"reached", "killed", "secret", "/proc/" + pid + "\n", "/proc/1\n"} {
		if strings.Contains(output, bad) && !(bad == "/proc/1\n" && !host.Hides()) {
			t.Errorf("a program found %q of others:\n%s", bad, output)
		}
	}
	if !strings.Contains(output, "NoNewPrivs:\t1") {
		t.Errorf("a program may gain privileges:\n%s", output)
	}
	if spy.folder.UID == neighbour.folder.UID {
		t.Errorf("both ran as user %d", spy.folder.UID)
	}
}

// A program opens its input and outputs again by their names, also with limits and also as a user of its own.
func TestProgramOpensItsOutputByName(t *testing.T) {
	needRoot(t)
	const script = `cat /dev/stdin > /dev/stdout; echo again > /dev/stderr; echo more >> /proc/self/fd/1`
	for name, config := range map[string]process.Config{
		"shared user": {UID: nobody, GID: nobody}, "own user": {UID: nobody, GID: nobody, OwnUsers: true}, "root": {UID: -1, GID: -1},
	} {
		for _, files := range []int{0, 64} {
			t.Run(fmt.Sprintf("%s, %d files", name, files), func(t *testing.T) {
				config.Dir = filepath.Join(passable(t), "work")
				host := open(t, config)
				for range 2 { // the second has the folder of the first
					job := start(t, host, script, func(c *process.Command) { c.Stdin, c.Limits.OpenFiles = []byte("given\n"), files })
					exit := job.end(t, host)
					if got := job.output.String(); exit.Code != 0 || got != "given\nagain\nmore\n" {
						t.Errorf("the program ended with %+v and printed %q", exit, got)
					}
				}
			})
		}
	}
}

// What has left its group, closed its output and cleared its environment is found by its user.
func TestHiddenProcessOfAUserOfItsOwnIsEnded(t *testing.T) {
	needRoot(t)
	host := open(t, process.Config{Dir: filepath.Join(passable(t), "work"), UID: nobody, GID: nobody, OwnUsers: true, NoCgroups: true})
	hidden := start(t, host, `env -i setsid sh -c 'echo $$ > pid; exec sleep 1000' > /dev/null 2>&1 < /dev/null & while ! test -s pid; do sleep 0.01; done; cat pid`)
	exit := hidden.Wait()
	pid := strings.TrimSpace(hidden.output.String())
	if exit.Code != 0 || pid == "" {
		t.Fatalf("the program ended with %+v and printed %q", exit, hidden.output)
	}
	if status, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && strings.Contains(string(status), "sleep") {
		t.Errorf("process %s outlives its program", pid)
	}
	if err := host.ReturnFolder(hidden.folder); err != nil {
		t.Error(err)
	}
}

// Two executors of one machine never run programs as the same user.
func TestExecutorsOfAMachineShareNoUsers(t *testing.T) {
	needRoot(t)
	seen := make(map[int]bool)
	for range 3 {
		host := open(t, process.Config{Dir: filepath.Join(passable(t), "work"), UID: nobody, GID: nobody, OwnUsers: true})
		for range 20 {
			folder, err := host.TakeFolder()
			if err != nil {
				t.Fatal(err)
			}
			if seen[folder.UID] || folder.UID == nobody {
				t.Fatalf("user %d is taken twice", folder.UID)
			}
			seen[folder.UID] = true
			if folder.UID%2 == 0 {
				if err := host.ReturnFolder(folder); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// An executor that is not root, and may change users, gives programs users of their own, and namespaces as well; they get
// none of its capabilities.
func TestCapabilitiesGiveProgramsUsersOfTheirOwn(t *testing.T) {
	needRoot(t)
	six := []uintptr{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID}
	for _, c := range []struct {
		name         string
		isolation    process.Isolation
		capabilities []uintptr
	}{
		{"six", process.IsolationOwnUser, six},
		{"six, in user namespaces", process.IsolationStrict, six},
		{"and that for namespaces", process.IsolationStrict, append([]uintptr{unix.CAP_SYS_ADMIN}, six...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := passable(t)
			if err := os.Chown(dir, nobody, nobody); err != nil {
				t.Fatal(err)
			}
			executor := exec.Command("/proc/self/exe", "__capable", filepath.Join(dir, "work"), string(c.isolation))
			executor.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, AmbientCaps: c.capabilities}
			output, err := executor.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			var kind string
			var uid, folder int
			var capabilities string
			if _, err := fmt.Sscan(string(output), &kind, &uid, &folder, &capabilities); err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			if kind != string(c.isolation) || uid == nobody || uid != folder || strings.Trim(capabilities, "0") != "" {
				t.Errorf("programs run with %q", output)
			}
		})
	}
}

// capable is that executor.
func capable(dir, isolation string) error {
	host, err := process.Open(process.Config{
		Dir: dir, UID: -1, GID: -1, OwnUsers: process.CanOwnUsers(), OwnNamespaces: isolation == string(process.IsolationStrict), Guardian: []string{"/proc/self/exe", "__guard"}, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	folder, err := host.TakeFolder()
	if err != nil {
		return err
	}
	running, err := host.Start(process.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", `id -u; touch file; stat -c %u file; sed -n 's/^CapEff://p' /proc/self/status`}, Folder: folder,
		Env: []string{"PATH=/usr/bin:/bin", process.Marker + "=" + folder.Path},
	}, os.Stdout, nil)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, host.Isolation())
	running.Wait()
	return errors.Join(host.ReturnFolder(folder), host.Close())
}
