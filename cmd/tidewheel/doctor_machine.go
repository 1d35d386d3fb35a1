package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/process"
	"github.com/tidewheel/tidewheel/store/sqlite"
)

// checkData reports whether a server could use its data folder. It changes nothing.
func checkData(dir string) checked {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fail("%s", err)
	}
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		above := existing(dir)
		if syscall.Access(above, 2 /* W_OK */) != nil {
			return fail("%s does not exist, and %s is not writable for this user: choose another with --data", dir, above)
		}
		return ok("%s will be made", dir)
	}
	switch {
	case err != nil:
		return fail("%s", explainData(dir, err))
	case !info.IsDir():
		return fail("%s is a file: choose a folder with --data", dir)
	case syscall.Access(dir, 2|1 /* W_OK|X_OK */) != nil:
		return fail("%s is not writable for this user: choose another with --data, or start as its owner", dir)
	}
	if err := checkForeign(dir); err != nil {
		return fail("%s", err)
	}
	if err := checkOwner(dir); err != nil {
		return fail("%s", err)
	}
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err == nil {
		lock := flock.New(filepath.Join(dir, lockFile))
		free, err := lock.TryLock()
		if err == nil && !free {
			return ok("%s is in use by a server", dir)
		}
		if err == nil {
			_ = lock.Unlock() // it was only tried
		}
	}
	folder := &dataFolder{dir: dir}
	if _, err := os.Stat(folder.path(markFile)); err == nil {
		if err := folder.check(); err != nil {
			return fail("%s", err)
		}
	}
	return ok("%s", dir)
}

// databaseLimit is how long the doctor looks through a database.
const databaseLimit = time.Minute

// checkDatabase looks through the database of a data folder that no server uses. A server looks through its own, and is not
// ready if that is damaged.
func checkDatabase(ctx context.Context, config *ServerConfig) checked {
	path := filepath.Join(config.Data, storeFolder, storeFile)
	if _, err := os.Stat(path); config.MongoURI != "" || errors.Is(err, os.ErrNotExist) {
		return ok("there is no embedded one here")
	}
	lock := flock.New(filepath.Join(config.Data, lockFile), flock.SetPermissions(0o600))
	free, err := lock.TryLock()
	switch {
	case err != nil:
		return warn("not known whether it is whole: %s", err)
	case !free:
		return ok("%s is in use by a server, which looks through it", path)
	}
	defer func() { _ = lock.Unlock() }() // no other process wrote meanwhile
	ctx, cancel := context.WithTimeout(ctx, databaseLimit)
	defer cancel()
	switch err := sqlite.Check(ctx, path); {
	case errors.Is(err, engine.ErrDamaged):
		return fail("%s", err)
	case errors.Is(err, context.DeadlineExceeded):
		return warn("%s is too large to be looked through in %s; so far it is whole", path, databaseLimit)
	case err != nil:
		return warn("not known whether it is whole: %s", err)
	}
	return ok("%s is whole", path)
}

// existing returns the nearest folder above a path that is there.
func existing(path string) string {
	for path != filepath.Dir(path) {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return path
		}
		path = filepath.Dir(path)
	}
	return path
}

// lowDisk is from where on the doctor warns, in bytes.
const lowDisk = 1 << 30

func checkDisk(dir string) checked {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fail("%s", err)
	}
	free, err := freeSpace(existing(dir))
	switch {
	case err != nil:
		return fail("%s", err)
	case free < leastFree:
		return fail("the disk is full: %s free for %s: make space, at least %s; a server does not start, and one that runs stands still", bytesOf(free), dir, bytesOf(leastFree))
	case free < lowDisk:
		return warn("%s free for %s: outputs and programs will fill it", bytesOf(free), dir)
	}
	return ok("%s free", bytesOf(free))
}

// checkUser reports whom jobs would run as, what keeps them apart, and whether they could reach their folders.
func checkUser(config *ServerConfig) checked {
	uid, gid, err := jobUser(config)
	if err != nil {
		return fail("%s", err)
	}
	own := ownUsers(config)
	if config.Sandbox == sandboxStrict {
		return checkNamespaces(own)
	}
	if os.Geteuid() != 0 && !own {
		return checkDomains(config)
	}
	if config.AllowRoot && config.RunAs == "" {
		return warn("jobs run as root (--allow-root): everyone who can define a job has root on this machine")
	}
	if own {
		if uid, err = process.CheckOwnUsers(); err != nil {
			return warn("jobs run as one user, and can read each other's files and environments: %s", err)
		}
		gid = uid
	}
	wanted := filepath.Join(config.Data, workFolder)
	place, err := process.Place(wanted, uid, gid)
	if err != nil {
		return fail("%s", err)
	}
	if place != wanted {
		_ = os.Remove(place) // it stays if a server uses it
	}
	if own {
		return ok("each attempt of a job runs as a user of its own, in %s", place)
	}
	return warn("all jobs run as user %d, and can read each other's files and environments: without --run-as each has a user of its own", uid)
}

// checkNamespaces reports whether attempts can have namespaces of their own.
func checkNamespaces(ownUsers bool) checked {
	guardian, err := guardianCommand()
	if err == nil {
		err = process.CheckNamespaces(guardian)
	}
	if err != nil {
		return fail("--sandbox strict is not possible here: %s", err)
	}
	as := "as the same user"
	if ownUsers {
		as = "as a user of its own"
	}
	return ok("each attempt of a job runs in mount, PID and IPC namespaces of its own, %s", as)
}

// checkDomains reports what keeps jobs apart that run as the server's own user.
func checkDomains(config *ServerConfig) checked {
	const open = "jobs run as this user: nothing keeps them from the server's token and database, or from each other: "
	if !ownDomains(config) {
		return warn(open + "start without --run-as and --sandbox off, or as docs/deploy.md says")
	}
	gaps, err := process.CheckOwnDomains()
	if err != nil {
		return warn(open+"%s; start the server as root, or as docs/deploy.md says", err)
	}
	if len(gaps) > 0 {
		return warn("each attempt of a job runs in a Landlock domain of its own, as this user; jobs can still %s", strings.Join(gaps, "; "))
	}
	return ok("each attempt of a job runs in a Landlock domain of its own, as this user: it reaches no files of the server and of other jobs")
}

// checkGroups reports what holds a job's processes together.
func checkGroups() checked {
	root := ""
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} { // the second beside cgroup v1
		if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err == nil {
			root = mount
			break
		}
	}
	if root == "" {
		return warn("there is no cgroup v2: limits are kept for each process, not for all of a job together")
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return warn("the cgroup of this process is not known: %s", err)
	}
	path := ""
	for line := range strings.SplitSeq(string(own), "\n") {
		if below, found := strings.CutPrefix(line, "0::"); found {
			path = filepath.Join(root, below)
		}
	}
	if path == "" || syscall.Access(path, 2 /* W_OK */) != nil {
		return warn("the cgroup %s is not writable: limits are kept for each process; delegate one (systemd: Delegate=yes)", path)
	}
	controllers, err := os.ReadFile(filepath.Join(path, "cgroup.controllers"))
	if err != nil || !strings.Contains(string(controllers), "memory") || !strings.Contains(string(controllers), "cpu") {
		return warn("%s is writable and has no memory and cpu controllers: a job is ended whole, its limits are kept for each process", path)
	}
	return ok("%s is writable: memory and CPU limits hold for all of a job together", path)
}

// enoughFiles serves some hundred jobs at once.
const enoughFiles = 4096

func checkFiles() checked {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return warn("the limit is not known: %s", err)
	}
	if limit.Max < enoughFiles {
		return warn("a process may have %d: raise it to %d or more (ulimit -n, LimitNOFILE)", limit.Max, enoughFiles)
	}
	return ok("%d", limit.Max)
}

func checkProgram(name, flag, without string) checked {
	path, err := exec.LookPath(name)
	if err != nil {
		return warn("it is not installed: %s", without)
	}
	ctx, cancel := context.WithTimeout(context.Background(), examineLimit)
	defer cancel()
	command := exec.CommandContext(ctx, path, flag)
	command.WaitDelay = time.Second
	text, err := command.CombinedOutput()
	if err != nil {
		return warn("%s does not work: %s", path, err)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return ok("%s (%s)", path, first)
}
