package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// namespaces start each program of a Host in a mount, a PID and an IPC namespace of its own. The first process of the PID
// namespace is an init, which is this executable: it arranges the mounts, starts the program, passes signals on, reaps
// orphans, and says how the program ended. When it ends, the kernel kills all that is left in the namespace, so that
// nothing is looked for under /proc.
//
// An executor without CAP_SYS_ADMIN needs a user namespace for each program to make the others in.
type namespaces struct {
	init   []string // the command line of an init
	within bool     // of a user namespace
	scopes uint64   // of the Landlock domain of each program: abstract sockets are not shut in by namespaces
	hidden []string // files and folders that programs do not find; what exists of them is looked up each time

	mu     sync.Mutex
	shared []string // files in what is hidden that all programs may read
}

// initArgument is the first argument of the guardian's command line when it is to be an init.
const initArgument = "init"

// Files of an init beside its standard ones: what it is to do, and what it says.
const (
	ordersFile = 3
	reportFile = 4
)

// orders define what an init is to do. Without a Path it arranges everything, and starts nothing.
type orders struct {
	Path     string
	Args     []string
	Env      []string
	Dir      string
	UID, GID int // negative: its own
	Limits   []resourceLimit
	Hidden   []string      // files and folders that are not there
	Readable []string      // files in them that are
	Temp     int64         // bytes of /tmp; 0: half of the machine's memory
	Scopes   uint64        // of a Landlock domain; 0: none
	Before   time.Duration // of clock: when the program must have begun; 0: never
}

// said is what an init says: once when it has started the program, or could not, and once when that has ended.
type said struct {
	Errno  syscall.Errno // of the program's start
	Error  string        // of what comes before; "": all is well
	Late   bool          // the program was not started: ErrLate
	Status syscall.WaitStatus
	CPU    time.Duration
	MaxRSS int64
}

// openNamespaces fails where this executor cannot give programs namespaces of their own, and says what is missing.
func openNamespaces(threads *threads, config *Config, users *users) (*namespaces, error) {
	if len(config.Guardian) == 0 {
		return nil, errors.New("process: namespaces need a guardian, whose program is their init")
	}
	n := &namespaces{
		init:   append(slices.Clone(config.Guardian), initArgument),
		within: !hasCapabilities(1 << unix.CAP_SYS_ADMIN),
		hidden: slices.Concat([]string{config.Dir}, config.Closed, config.Readable),
	}
	if abi, err := landlockABI(); err == nil {
		_, n.scopes = handledBy(abi)
	}
	folder := &Folder{UID: config.UID, GID: config.GID}
	if users != nil {
		folder.UID, folder.GID = users.first, users.first
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	child, err := n.start(threads, n.orders(nil, Command{}), folder, nil, [3]int{int(null.Fd()), int(null.Fd()), int(null.Fd())})
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, n.cure())
	}
	_, _ = syscall.Wait4(child.pid, nil, 0, nil) // it ends at once
	child.close()
	return n, nil
}

// CheckNamespaces reports why programs could not have namespaces of their own. The command line is that of a guardian.
func CheckNamespaces(guardian []string) error {
	threads, err := openThreads()
	if err != nil {
		return err
	}
	defer threads.close()
	_, err = openNamespaces(threads, &Config{Dir: "/nonexistent", UID: -1, GID: -1, Guardian: guardian}, nil)
	return err
}

// gaps returns what programs can do although they have namespaces of their own.
func (n *namespaces) gaps() []string {
	if n == nil || n.scopes != 0 {
		return nil
	}
	return []string{"connect to abstract sockets of this machine (Linux 6.12 prevents it)"}
}

// cure returns what an executor needs that cannot make namespaces, as far as that can be seen.
func (n *namespaces) cure() string {
	if !n.within {
		return ": it has CAP_SYS_ADMIN, so that a filter of system calls or a security module (AppArmor, SELinux) withholds it: allow clone, mount, open_tree, move_mount and mount_setattr"
	}
	var all []string
	for _, one := range []struct{ file, bad, cure string }{
		{"/proc/sys/user/max_user_namespaces", "0", "set the sysctl user.max_user_namespaces to 10000"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "set the sysctl kernel.unprivileged_userns_clone to 1"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "set the sysctl kernel.apparmor_restrict_unprivileged_userns to 0, or give this program an AppArmor profile with userns"},
	} {
		if value, err := os.ReadFile(one.file); err == nil && strings.TrimSpace(string(value)) == one.bad {
			all = append(all, one.cure)
		}
	}
	if status, err := os.ReadFile("/proc/self/status"); err == nil && slices.Equal(statusField(status, "Seccomp:"), []string{"2"}) {
		all = append(all, "let its filter of system calls (RestrictNamespaces= and SystemCallFilter= of a unit, seccomp of a container) allow user namespaces and mounts")
	}
	const always = "start the executor as root with CAP_SYS_ADMIN, or let it make user namespaces and mount a /proc that is not masked (docs/deploy.md)"
	return ": it has no CAP_SYS_ADMIN: " + strings.Join(append(all, always), "; or ")
}

// share lets all programs read a file that lies in what is hidden.
func (n *namespaces) share(path string) {
	if n != nil {
		n.mu.Lock()
		n.shared = append(n.shared, path)
		n.mu.Unlock()
	}
}

func (n *namespaces) orders(limits []resourceLimit, command Command) *orders {
	n.mu.Lock()
	defer n.mu.Unlock()
	var before time.Duration
	if !command.Before.IsZero() {
		before = max(clock()+time.Until(command.Before), 1)
	}
	return &orders{
		Before: before, Path: command.Path, Args: command.Args, Env: command.Env, Limits: limits, Temp: command.Limits.Memory,
		Hidden: n.hidden, Readable: slices.Concat(n.shared, command.Files), Scopes: n.scopes,
	}
}

// initProcess is the executor's end of an init.
type initProcess struct {
	pid    int
	report *os.File
	words  *json.Decoder
}

// start starts an init, and returns when it has started the program.
func (n *namespaces) start(threads *threads, orders *orders, folder *Folder, group *group, files [3]int) (_ *initProcess, err error) {
	orders.Dir, orders.UID, orders.GID = folder.Path, folder.UID, folder.GID
	read, write, err := pipe()
	if err != nil {
		return nil, fmt.Errorf("process: make pipe: %w", err)
	}
	heard, report, err := pipe()
	if err != nil {
		closeAll(read, write)
		return nil, fmt.Errorf("process: make pipe: %w", err)
	}
	attributes := &syscall.ProcAttr{
		Dir: "/", Env: []string{Marker + "=" + folder.Path}, // and nothing of the job's: an init has more rights than a job
		Files: []uintptr{uintptr(files[0]), uintptr(files[1]), uintptr(files[2]), uintptr(read), uintptr(report)},
		Sys:   n.attributes(folder, group),
	}
	child := &initProcess{report: os.NewFile(uintptr(heard), "report")}
	child.words = json.NewDecoder(child.report)
	err = retryBusy(func() error {
		child.pid, err = threads.forkExec(n.init[0], n.init, attributes, -1, time.Time{}) // the init looks at the time
		return err
	})
	closeAll(read, report)
	if err != nil {
		closeAll(write)
		child.close()
		return nil, fmt.Errorf("process: start in namespaces of its own: %w", err)
	}
	if n.within {
		if err := mapIDs(child.pid, folder); err != nil {
			closeAll(write) // without orders the init ends
			_, _ = syscall.Wait4(child.pid, nil, 0, nil)
			child.close()
			return nil, fmt.Errorf("process: map users in namespaces of its own: %w", err)
		}
	}
	encoded := os.NewFile(uintptr(write), "orders")
	_ = json.NewEncoder(encoded).Encode(orders) // an init that does not read them says why, or has died
	_ = encoded.Close()                         // as above
	if err := child.begun(orders.Path); err != nil {
		_, _ = syscall.Wait4(child.pid, nil, 0, nil) // it ends at once
		child.close()
		return nil, err
	}
	return child, nil
}

// begun waits until the program was started.
func (i *initProcess) begun(path string) error {
	var word said
	switch err := i.words.Decode(&word); {
	case errors.Is(err, io.EOF):
		return errors.New("process: the init of a program has died before its start")
	case err != nil:
		return fmt.Errorf("process: hear of the start in namespaces: %w", err)
	case word.Late:
		return ErrLate
	case word.Errno != 0:
		return &StartError{Path: path, Err: word.Errno}
	case word.Error != "":
		return fmt.Errorf("process: prepare namespaces: %s", word.Error)
	}
	return nil
}

// ended returns how the program ended; not known where its init was killed. The init must have ended.
func (i *initProcess) ended() (word said, known bool) {
	err := i.words.Decode(&word)
	i.close()
	return word, err == nil
}

func (i *initProcess) close() { _ = i.report.Close() } // it was only read

// initCapabilities are what an init needs, besides being root or not.
var initCapabilities = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL, unix.CAP_DAC_OVERRIDE,
}

// attributes are those of an init. In a user namespace it has all that it needs there and nothing outside, elsewhere what of
// that this executor has.
func (n *namespaces) attributes(folder *Folder, group *group) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{
		Setpgid: true, Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC,
	}
	if group != nil {
		attributes.UseCgroupFD, attributes.CgroupFD = true, group.fd
	}
	if n.within {
		attributes.Cloneflags |= syscall.CLONE_NEWUSER
	}
	for _, capability := range initCapabilities {
		if n.within || hasCapabilities(1<<capability) {
			attributes.AmbientCaps = append(attributes.AmbientCaps, capability)
		}
	}
	return attributes
}

// mapIDs maps the users and groups of an init and its program to themselves in their user namespace. It comes after the
// init's exec: until then it belongs to root, as a copy of an executor that has shielded itself.
func mapIDs(pid int, folder *Folder) error {
	proc := "/proc/" + strconv.Itoa(pid) + "/"
	if folder.UID < 0 { // who may not change groups must not leave any either
		if err := os.WriteFile(proc+"setgroups", []byte("deny"), 0); err != nil {
			return err
		}
	}
	return errors.Join(
		os.WriteFile(proc+"uid_map", sameIDs(os.Geteuid(), folder.UID), 0),
		os.WriteFile(proc+"gid_map", sameIDs(os.Getegid(), folder.GID), 0),
	)
}

// sameIDs writes a map as user_namespaces(7) has it.
func sameIDs(own, other int) []byte {
	lines := fmt.Appendf(nil, "%d %d 1\n", own, own)
	if other >= 0 && other != own {
		lines = fmt.Appendf(lines, "%d %d 1\n", other, other)
	}
	return lines
}
