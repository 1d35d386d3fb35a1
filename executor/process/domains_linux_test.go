package process_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/tidewheel/tidewheel/executor/process"
)

// unprivileged reports whether the caller may continue. A test that root runs is run again, as a user without rights, and
// ends with that.
func unprivileged(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	again := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	again.Dir, again.Env = "/", []string{"PATH=" + os.Getenv("PATH"), besideVariable + "=" + os.Getenv(besideVariable)}
	output, err := again.CombinedOutput()
	if err != nil || !bytes.Contains(output, []byte("--- PASS: "+t.Name())) && !bytes.Contains(output, []byte("--- SKIP: "+t.Name())) {
		t.Errorf("as another user: %v\n%s", err, output)
	}
	if bytes.Contains(output, []byte("--- SKIP: "+t.Name())) {
		t.Skipf("as another user:\n%s", output)
	}
	return false
}

// site is an executor's machine: its data folder, with a cache in it that holds this test binary as a program.
type site struct {
	data, cache, program string
	host                 *process.Host
}

func newSite(t testing.TB, isolation process.Isolation) *site {
	t.Helper()
	if gaps, err := process.CheckOwnDomains(); err != nil || len(gaps) > 0 {
		t.Skipf("the kernel's Landlock is not enough: %v, %q", err, gaps)
	}
	if isolation == process.IsolationStrict {
		needNamespaces(t)
	}
	t.Setenv("TMPDIR", cmp.Or(os.Getenv(besideVariable), "/var/tmp")) // beside /tmp, which programs use
	data := passable(t)                                               // so that it is the isolation that keeps programs out
	s := &site{data: data, cache: filepath.Join(data, "cache"), program: filepath.Join(data, "cache", "program")}
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.cache, 0o711); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"cache/program": own, "cache/another": own[:1024], "token": []byte("secret"), "database": []byte("secret"),
	} {
		path := filepath.Join(data, name)
		if err := errors.Join(os.WriteFile(path, content, 0o700), os.Chmod(path, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	s.host = open(t, process.Config{
		Dir: filepath.Join(data, "work"), UID: -1, GID: -1, Closed: []string{data}, Readable: []string{s.cache},
		OwnDomains: isolation == process.IsolationOwnDomain, OwnNamespaces: isolation == process.IsolationStrict,
		OwnUsers: isolation == process.IsolationStrict && os.Geteuid() == 0,
	})
	if s.host.Isolation() != isolation {
		t.Fatalf("the isolation in force is %q", s.host.Isolation())
	}
	return s
}

// run runs this test binary in a work folder, as one of those that attacks and honest work are.
func (s *site) run(t *testing.T, limits process.Limits, args ...string) *job {
	t.Helper()
	return start(t, s.host, "", func(c *process.Command) {
		c.Path, c.Args, c.Limits, c.Files = s.program, append([]string{"program"}, args...), limits, []string{s.program}
	})
}

// A program in a domain of its own reaches nothing of the executor and of another program, and all of that without one.
func TestProgramReachesNothingOutsideOfItsDomain(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	for _, isolation := range []process.Isolation{process.IsolationOwnDomain, process.IsolationNone} {
		t.Run(string(isolation), func(t *testing.T) { attackFrom(t, isolation) })
	}
}

// attackFrom starts a program that tries all attacks.
func attackFrom(t *testing.T, isolation process.Isolation) {
	yama, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	traced := len(yama) == 0 || yama[0] == '0'
	s := newSite(t, isolation)
	address := fmt.Sprintf("\x00tidewheel-%d-%s", os.Getpid(), isolation)
	for _, address := range []string{address, filepath.Join(s.data, "socket")} {
		socket, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", address)
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
	}
	temp := fmt.Sprintf("/tmp/tidewheel-left-%d-%s", os.Getpid(), isolation)
	defer os.Remove(temp)
	neighbour := start(t, s.host, `echo secret > file; echo secret > `+temp+`; echo started; exec sleep 1000`, func(c *process.Command) {
		c.Env = append(c.Env, "SECRET=secret")
	})
	ended := make(chan struct{})
	go func() { defer close(ended); neighbour.end(t, s.host) }()
	defer func() { neighbour.Kill(); <-ended }()
	<-neighbour.output.come
	spy := s.run(t, process.Limits{}, "__attack", s.data, neighbour.folder.Path, fmt.Sprint(os.Getpid()),
		fmt.Sprint(marked(t, neighbour.folder.Path)), address[1:], temp)
	exit := spy.end(t, s.host)
	output := spy.output.String()
	if exit.Code != 0 || exit.Signal != 0 {
		t.Fatalf("the program ended with %+v:\n%s", exit, output)
	}
	for _, one := range attacks {
		reached := strings.Contains(output, "reached "+one.name+"\n")
		switch {
		case isolation == process.IsolationNone && !reached && !one.never && (traced || !one.traces):
			t.Errorf("without isolation a program cannot %s either: this attack shows nothing", one.name)
		case isolation == process.IsolationNone || isolation == process.IsolationOwnDomain && one.open:
		case reached:
			t.Errorf("a program can %s", one.name)
		}
	}
	if t.Failed() {
		t.Log(output)
	}
}

// marked returns the process id of the program that works in a folder, as this test sees it.
func marked(t *testing.T, folder string) int {
	t.Helper()
	for t.Context().Err() == nil { // while it becomes another program, it shows no environment
		for _, pid := range processes(t) {
			environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			if err == nil && bytes.Contains(environment, []byte("SECRET=secret")) && bytes.Contains(environment, []byte(folder)) {
				return pid
			}
		}
		runtime.Gosched()
	}
	t.Fatalf("no program works in %s", folder)
	return 0
}

// processes lists all that this test sees.
func processes(t testing.TB) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// What a program has business with it can do in its domain, with limits as well, which are set by way of the guardian.
func TestProgramWorksInItsDomain(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	workFrom(t, process.IsolationOwnDomain)
}

func workFrom(t *testing.T, isolation process.Isolation) {
	s := newSite(t, isolation)
	shared, err := s.host.Share("no-inputs.json", []byte("{}\n"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, files := range []int{0, 64} {
		t.Run(fmt.Sprintf("%d files", files), func(t *testing.T) {
			honest := s.run(t, process.Limits{OpenFiles: files}, "__honest", shared, listener.Addr().String())
			if exit := honest.Wait(); exit.Code != 0 {
				t.Errorf("the program ended with %+v:\n%s", exit, honest.output)
			}
			if kept, err := os.ReadFile(filepath.Join(honest.folder.Keep, "result")); string(kept) != "done" {
				t.Errorf("it left %q (%v)", kept, err)
			}
			if err := s.host.ReturnFolder(honest.folder); err != nil {
				t.Error(err)
			}
		})
	}
}

// What is put beside the data folder is reached by the programs that start after that, and what becomes a secret is not.
func TestDomainFollowsWhatIsPutBesideIt(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	s := newSite(t, process.IsolationOwnDomain)
	cat := func(path string) string {
		job := start(t, s.host, "cat "+path+" 2>&1")
		job.end(t, s.host)
		return job.output.String()
	}
	beside := s.data + "-beside" // in the folder of this test
	defer os.RemoveAll(beside)
	for i := range 3 { // also within the tick of the file system's clock
		path := filepath.Join(beside, fmt.Sprint(i))
		if err := os.MkdirAll(beside, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("new"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := cat(path); got != "new" {
			t.Errorf("a program that starts later reads %q", got)
		}
		if err := os.RemoveAll(beside); err != nil {
			t.Fatal(err)
		}
	}
	link := s.data + "-link"
	defer os.Remove(link)
	if err := os.Symlink(s.data, link); err != nil {
		t.Fatal(err)
	}
	if got := cat(filepath.Join(link, "token")); !strings.Contains(got, "denied") {
		t.Errorf("by a link that is beside, a program reads %q", got)
	}
}

// Threads that have entered a domain start nothing else, and do not pile up.
func TestEachProgramHasAThreadThatGoesWithIt(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	s := newSite(t, process.IsolationOwnDomain)
	threads := func() int {
		entries, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	folders := []string{s.data}
	run := func() {
		job := start(t, s.host, "pwd; echo mine > file; cat "+strings.Join(folders, "/file ")+"/file 2>/dev/null; exit 0")
		folders = append(folders, job.folder.Path)
		job.Wait() // its folder stays, for the next ones to look at
		if got := job.output.String(); got != job.folder.Path+"\n" {
			t.Errorf("a program in %s printed %q", job.folder.Path, got)
		}
	}
	for range 30 {
		run()
	}
	before := threads()
	for range 100 {
		run()
	}
	if after := threads(); after > before+20 {
		t.Errorf("%d threads became %d", before, after)
	}
	if len(slices.Compact(slices.Sorted(slices.Values(folders)))) != len(folders) {
		t.Error("two programs had one folder")
	}
}
