package process_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// target is what attacks are aimed at: the data folder, the work folder of another program, the executor and that program.
type target struct {
	data, folder    string
	executor, other int
	socket          string // of the executor, without the null byte
	temp            string // a file of the other program in /tmp
}

// attack is something that a program must not be able to do. It returns nil where it has succeeded.
type attack struct {
	name   string
	try    func(target) error
	traces bool // systems with Yama refuse it anyway
	never  bool // as does every kernel to users without rights, or a distribution
	open   bool // it succeeds in a domain: only namespaces prevent it
}

func reads(path string) error {
	content, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(content), "secret") {
		err = fmt.Errorf("it reads %q", content)
	}
	return err
}

func writes(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return file.Close()
}

// lists sees a name in a folder.
func lists(dir, name string) error {
	entries, err := os.ReadDir(dir)
	if err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name }) {
		err = fmt.Errorf("it sees %q", entries)
	}
	return err
}

func proc(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

func opens(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return file.Close()
}

// attacks are tried in this order; those that end the other program come last.
var attacks = []attack{
	{name: "read the token", try: func(t target) error { return reads(t.data + "/token") }},
	{name: "read the token by a link", try: func(t target) error {
		return errors.Join(os.Symlink(t.data+"/token", "link"), reads("link"))
	}},
	{name: "read the token by a hard link", try: func(t target) error {
		if err := os.Link(t.data+"/token", "hard"); err != nil {
			return err
		}
		return reads("hard")
	}},
	{name: "read the token by a hard link in /tmp", try: func(t target) error {
		path := fmt.Sprintf("/tmp/tidewheel-%d", os.Getpid())
		defer os.Remove(path)
		if err := os.Link(t.data+"/token", path); err != nil {
			return err
		}
		return reads(path)
	}},
	{name: "read the token below /proc/self/root", try: func(t target) error { return reads("/proc/self/root" + t.data + "/token") }},
	{name: "read the token below /proc/self/cwd", try: func(t target) error { return reads("/proc/self/cwd/../../../token") }},
	{name: "read the token by a descriptor of its folder", try: func(t target) error {
		fd, err := unix.Open(t.data, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		return reads(fmt.Sprintf("/proc/self/fd/%d/token", fd))
	}},
	{name: "open the token by its handle", never: true, try: func(t target) error {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, t.data+"/token", 0)
		if err != nil {
			return err
		}
		_, err = unix.OpenByHandleAt(unix.AT_FDCWD, handle, unix.O_RDONLY)
		return err
	}},
	{name: "mount the data folder elsewhere", never: true, try: func(t target) error {
		mount := exec.Command("/proc/self/exe", "__mount", t.data)
		mount.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		}
		return mount.Run()
	}},
	{name: "move the token", try: func(t target) error {
		return errors.Join(os.Rename(t.data+"/token", "moved"), os.Rename("moved", t.data+"/token"))
	}},
	{name: "exchange the token", try: func(t target) error {
		return errors.Join(os.WriteFile("other", []byte("secret"), 0o600), os.Rename("other", t.data+"/token"))
	}},
	{name: "write to the database", try: func(t target) error { return writes(t.data + "/database") }},
	{name: "truncate the database", try: func(t target) error { return os.Truncate(t.data+"/database", 1) }},
	{name: "remove the database", try: func(t target) error { return os.Remove(t.data + "/database") }},
	{name: "list the data folder", try: func(t target) error { return lists(t.data, "token") }},
	{name: "make a file in the data folder", try: func(t target) error { return os.WriteFile(t.data+"/new", nil, 0o600) }},
	{name: "list the cache", try: func(t target) error { return lists(t.data+"/cache", "another") }},
	{name: "write to a program in the cache", try: func(t target) error {
		return errors.Join(os.Chmod(t.data+"/cache/another", 0o700), writes(t.data+"/cache/another"))
	}},
	{name: "exchange a program in the cache", try: func(t target) error {
		return errors.Join(os.WriteFile("evil", nil, 0o700), os.Rename("evil", t.data+"/cache/another"))
	}},
	{name: "list the work folders", try: func(t target) error { return lists(filepath.Dir(t.folder), filepath.Base(t.folder)) }},
	{name: "list the work folder of the other program", try: func(t target) error { return lists(t.folder, "file") }},
	{name: "read a file of the other program", try: func(t target) error { return reads(t.folder + "/file") }},
	{name: "write to a file of the other program", try: func(t target) error { return writes(t.folder + "/file") }},
	{name: "hand a file to the other program", try: func(t target) error { return os.WriteFile(t.folder+"/artifacts/false", nil, 0o600) }},
	{name: "move its own folder", try: func(target) error {
		own, err := os.Getwd()
		if err != nil {
			return err
		}
		return errors.Join(os.Rename(own, own+"-away"), os.Rename(own+"-away", own))
	}},
	{name: "read the executor's environment", try: func(t target) error { return opens(proc(t.executor, "environ")) }},
	{name: "see the executor's files", try: func(t target) error { _, err := os.Readlink(proc(t.executor, "fd/0")); return err }},
	{name: "read the other program's environment", try: func(t target) error { return reads(proc(t.other, "environ")) }},
	{name: "pass through the other program's folder", try: func(t target) error { return reads(proc(t.other, "cwd/file")) }},
	{name: "open the other program's output", try: func(t target) error { return opens(proc(t.other, "fd/1")) }},
	{name: "open the other program's memory", traces: true, try: func(t target) error { return opens(proc(t.other, "mem")) }},
	{name: "open the executor's memory", traces: true, try: func(t target) error { return opens(proc(t.executor, "mem")) }},
	{name: "take a file of the other program", traces: true, try: func(t target) error {
		fd, err := unix.PidfdOpen(t.other, 0)
		if err != nil {
			return err
		}
		_, err = unix.PidfdGetfd(fd, 1, 0)
		return err
	}},
	{name: "trace the other program", traces: true, try: func(t target) error {
		runtime.LockOSThread()
		if err := syscall.PtraceAttach(t.other); err != nil {
			return err
		}
		var status syscall.WaitStatus
		_, _ = syscall.Wait4(t.other, &status, 0, nil)
		return syscall.PtraceDetach(t.other)
	}},
	{name: "connect to the executor's abstract socket", try: func(t target) error {
		connection, err := net.Dial("unix", "\x00"+t.socket)
		if err != nil {
			return err
		}
		return connection.Close()
	}},
	{name: "signal the executor", try: func(t target) error { return unix.Kill(t.executor, 0) }},
	{name: "signal the other program", try: func(t target) error { return unix.Kill(t.other, unix.SIGCONT) }},
	{name: "signal the other program by its descriptor", try: func(t target) error {
		fd, err := unix.PidfdOpen(t.other, 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0)
	}},
	{name: "connect to a socket in the data folder", open: true, try: func(t target) error {
		connection, err := net.Dial("unix", t.data+"/socket")
		if err != nil {
			return err
		}
		return connection.Close()
	}},
	{name: "see another process", open: true, try: func(target) error {
		entries, err := os.ReadDir("/proc")
		for _, entry := range entries {
			if pid, notOne := strconv.Atoi(entry.Name()); notOne == nil && pid != os.Getpid() {
				_, err = os.ReadFile(proc(pid, "cmdline"))
				return err
			}
		}
		return errors.Join(err, errors.New("it sees itself alone"))
	}},
	{name: "change a file of the other program by its name", open: true, try: func(t target) error { return os.Chmod(t.folder+"/file", 0o600) }},
	{name: "read what the other program has left in /tmp", open: true, try: func(t target) error { return reads(t.temp) }},
	{name: "lower a limit of the other program", open: true, try: func(t target) error {
		return unix.Prlimit(t.other, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
	}},
	{name: "mount over its folder", never: true, try: func(target) error { return unix.Mount("tmpfs", "tmp", "tmpfs", 0, "") }},
	{name: "uncover the data folder in a user namespace", try: func(t target) error {
		uncover := exec.Command("/proc/self/exe", "__uncover", t.data)
		uncover.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		}
		if output, err := uncover.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
		return nil
	}},
	{name: "enter the namespaces of the first process", never: true, try: func(target) error {
		runtime.LockOSThread()
		fd, err := unix.Open("/proc/1/ns/mnt", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(unix.Unshare(unix.CLONE_FS), unix.Setns(fd, unix.CLONE_NEWNS))
	}},
	{name: "trace the first process", never: true, try: func(target) error {
		runtime.LockOSThread()
		if err := syscall.PtraceAttach(1); err != nil {
			return err
		}
		return syscall.PtraceDetach(1)
	}},
	{name: "end the other program", try: func(t target) error { return unix.Kill(t.other, unix.SIGTERM) }},
}

// attackDomain tries all of them and prints what it has reached.
func attackDomain(args []string) error {
	executor, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	other, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	aim := target{data: args[0], folder: args[1], executor: executor, other: other, socket: args[4], temp: args[5]}
	for _, one := range attacks {
		if err := one.try(aim); err != nil {
			fmt.Fprintln(os.Stdout, "cannot", one.name, err)
			continue
		}
		fmt.Fprintln(os.Stdout, "reached", one.name)
	}
	return nil
}

// attackMount mounts the data folder on the working folder, as root of a user namespace.
func attackMount(data string) error {
	if err := unix.Mount(data, "tmp", "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return reads("tmp/token")
}

// attackCover takes away, as root of a user namespace, what lies over the data folder and the folders above it.
func attackCover(data string) error {
	for dir := data; dir != "/"; dir = filepath.Dir(dir) {
		_ = unix.Unmount(dir, unix.MNT_DETACH) // it need not be a mount
		if reads(data+"/token") == nil {
			return nil
		}
		if unix.Mount(dir, "tmp", "", unix.MS_BIND, "") == nil { // without what is mounted on it
			rest, err := filepath.Rel(dir, data)
			if err == nil && reads(filepath.Join("tmp", rest, "token")) == nil {
				return nil
			}
		}
	}
	return reads(data + "/token")
}

// workHonestly does what programs do.
func workHonestly(shared, address string) error {
	var errs []error
	script := `set -e
test "$(cat ` + shared + `)" = "{}"
echo done > tmp/file; ln tmp/file file; rm tmp/file; ln file hard; ln -s file link; test "$(cat link)" = "$(cat hard)"
mkdir folder; mv file folder/; rm hard link; ls . folder > /dev/null
made=$(mktemp /tmp/tidewheel-XXXXXX); echo x > $made; test $(cat $made) = x; mv $made here; mv here $made; rm $made
cat /dev/stdin > /dev/stdout < /dev/null; echo to stderr > /dev/stderr
grep -q Name /proc/self/status; test -r /etc/passwd; head -c 10 /dev/urandom > /dev/null; ls /usr > /dev/null
sleep 1000 & kill $!; wait $! || true
printf done > artifacts/result
`
	shell := exec.Command("/bin/sh", "-c", script)
	shell.Stdout, shell.Stderr = os.Stdout, os.Stderr
	errs = append(errs, shell.Run())
	connection, err := net.Dial("tcp", address)
	if err == nil {
		err = connection.Close()
	}
	errs = append(errs, err)
	own, err := os.Open("/proc/self/environ")
	if err == nil {
		_, err = io.Copy(io.Discard, own)
		_ = own.Close() // it was only read
	}
	return errors.Join(append(errs, err)...)
}
