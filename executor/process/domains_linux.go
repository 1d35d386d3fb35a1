package process

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// domains make a Landlock domain for each program of a Host whose programs run as one user. In its domain a program
// reaches what that user reaches, but for what is closed: the executor's files and the work folders of others. It
// cannot trace processes outside of its domain or read their memory and environment, nor signal them.
//
// Landlock grants, and cannot take back below what it has granted. So the entries of each folder that lies above
// something closed are granted one by one, and the folder itself is not: programs cannot list it, nor make, rename or
// remove what lies right in it. What is put there later is reached by programs that start after that.
type domains struct {
	abi            int
	rights, scopes uint64
	closed         []string // files and folders that programs cannot reach; what exists of them is looked up each time
	log            *slog.Logger

	mu       sync.RWMutex
	readable []string // files and folders in what is closed that programs may read and execute by name
	mounts   *os.File // changes when something is mounted
	rules    []rule
	above    map[string]time.Time // the folders above what is closed, with the time of their last change
	listed   time.Time
	logged   string // the folders that the log has named
}

// rule grants rights below a file or folder, which is open as O_PATH.
type rule struct {
	fd     int
	rights uint64
}

// CheckOwnDomains returns why programs would have no domains of their own, or what these would not keep them from.
func CheckOwnDomains() (gaps []string, err error) {
	abi, err := landlockABI()
	return domainGaps(abi), err
}

func openDomains(threads *threads, config *Config) (*domains, error) {
	abi, err := landlockABI()
	if err != nil {
		return nil, err
	}
	if threads.mount != nil {
		return nil, errors.New("programs see other mounts than this executor, which may mount")
	}
	d := &domains{abi: abi, closed: slices.Concat([]string{config.Dir}, config.Closed, config.Readable), log: config.Logger}
	d.readable = slices.Clone(config.Readable)
	d.rights, d.scopes = handledBy(abi)
	if len(config.Guardian) > 0 {
		d.readable = append(d.readable, config.Guardian[0]) // it becomes programs with limits
	}
	if d.mounts, err = os.Open("/proc/self/mountinfo"); err != nil {
		return nil, err
	}
	if err := d.list(); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// gaps returns what the domains do not keep programs from.
func (d *domains) gaps() []string {
	if d == nil {
		return nil
	}
	return domainGaps(d.abi)
}

// share lets programs read a file that lies in what is closed.
func (d *domains) share(path string) error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	d.readable = append(d.readable, path)
	d.mu.Unlock()
	return d.list()
}

// ruleset makes the rules of the domain of a program that works in a folder. The caller must close it.
func (d *domains) ruleset(folder string) (_ int, err error) {
	if !d.current() {
		if err := d.list(); err != nil {
			return -1, err
		}
	}
	own, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open work folder: %w", err)
	}
	defer closeAll(own)
	set, err := newRuleset(d.rights, d.scopes)
	if err != nil {
		return -1, err
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	err = grant(set, own, d.rights)
	for i := 0; i < len(d.rules) && err == nil; i++ {
		err = grant(set, d.rules[i].fd, d.rules[i].rights)
	}
	if err != nil {
		closeAll(set)
		return -1, fmt.Errorf("add a Landlock rule: %w", err)
	}
	return set, nil
}

// current reports whether nothing was put into the folders above what is closed since they were listed, and nothing
// was mounted.
func (d *domains) current() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if len(d.above) == 0 {
		return false
	}
	changed := []unix.PollFd{{Fd: int32(d.mounts.Fd()), Events: unix.POLLPRI}}
	if n, err := unix.Poll(changed, 0); err != nil || n > 0 {
		return false
	}
	for dir, at := range d.above {
		if info, err := os.Stat(dir); err != nil || !info.ModTime().Equal(at) || d.listed.Sub(at) < fresh {
			return false
		}
	}
	return true
}

// list finds what programs may reach.
func (d *domains) list() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listed, d.above = time.Now(), nil // until all has gone well
	mounts, err := readMounts(d.mounts)
	if err != nil {
		return fmt.Errorf("process: read mounts: %w", err)
	}
	found := listing{rights: d.rights, above: make(map[string]time.Time)}
	for _, path := range d.closed {
		path = resolve(path)
		found.closed = append(append(found.closed, path), otherNames(path, mounts)...)
	}
	for _, m := range mounts { // programs could move themselves or the executor into other groups, and kill these
		if m.kind == "cgroup2" || m.kind == "cgroup" {
			found.closed = append(found.closed, m.point)
			found.grant(m.point, unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_READ_DIR, unix.O_NOFOLLOW)
		}
	}
	found.descend("/", found.closed)
	for _, path := range d.readable {
		found.grant(path, readRights, 0)
	}
	if err := errors.Join(found.errs...); err != nil {
		found.close()
		return fmt.Errorf("process: find what programs may reach: %w", err)
	}
	old := listing{rules: d.rules}
	old.close()
	d.rules, d.above = found.rules, found.above
	d.tell(found.writable)
	return nil
}

// tell names in the log the folders in which programs miss something that their user could do.
func (d *domains) tell(writable []string) {
	slices.Sort(writable)
	if folders := strings.Join(writable, " "); folders != d.logged {
		d.logged = folders
		d.log.Info("programs cannot list these folders, nor make files right in them, because the executor's files lie below", "folders", folders)
	}
}

func (d *domains) close() {
	if d == nil {
		return
	}
	old := listing{rules: d.rules}
	old.close()
	_ = d.mounts.Close() // it was only read
}

// listing collects rules.
type listing struct {
	rights   uint64
	closed   []string
	rules    []rule
	above    map[string]time.Time
	writable []string // of those above, where this user may make files
	errs     []error
}

// descend grants all that is in a folder but for what is closed; inside are the closed paths in it.
func (l *listing) descend(dir string, inside []string) {
	info, err := os.Stat(dir)
	if err != nil {
		return // gone, or not to be reached by programs either
	}
	l.above[dir] = info.ModTime()
	if unix.Access(dir, unix.W_OK) == nil {
		l.writable = append(l.writable, dir)
	}
	entries, _ := os.ReadDir(dir) // what cannot be listed is not granted
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		var below []string
		closed := entry.Type()&fs.ModeSymlink != 0 // what it leads to is granted by its own name
		for _, one := range inside {
			if _, is := relative(path, one); is {
				below = append(below, one)
				closed = closed || one == path
			}
		}
		switch {
		case closed:
		case len(below) > 0:
			l.descend(path, below)
		default:
			l.grant(path, l.rights, unix.O_NOFOLLOW)
		}
	}
}

// grant adds a rule for a file or folder, as it is opened with these flags.
func (l *listing) grant(path string, rights uint64, flags int) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return // gone, or not to be reached by programs either
	}
	var stat unix.Stat_t
	if err = unix.Fstat(fd, &stat); err == nil && stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		closeAll(fd)
		return
	}
	if err == nil && stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= readRights | writeRights | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if err != nil {
		closeAll(fd)
		l.errs = append(l.errs, fmt.Errorf("look at %s: %w", path, err))
		return
	}
	l.rules = append(l.rules, rule{fd, rights})
}

func (l *listing) close() {
	for _, one := range l.rules {
		closeAll(one.fd)
	}
}

// resolve returns the path of a file or folder without links, also of one that does not exist yet. Of a secret of
// Kubernetes, a link to ..data/NAME beside it, it gives the folder: what is there in the link's place changes.
func resolve(path string) string {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil && filepath.Dir(path) != path {
		folder = resolve(filepath.Dir(path))
	}
	named := filepath.Join(folder, filepath.Base(path))
	target, err := filepath.EvalSymlinks(named)
	if err != nil {
		return named
	}
	if rest, within := relative(folder, target); within && strings.HasPrefix(rest, "..") {
		return folder
	}
	return target
}
