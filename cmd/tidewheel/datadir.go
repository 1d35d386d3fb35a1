package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// dataVersion is the layout of the data folder that this program writes. A folder of a higher version is refused.
const dataVersion = 1

// leastFree is how much of a disk must be free to start on it, in bytes. Below that the parts fail one after another.
const leastFree = 32 << 20

const (
	markFile = "tidewheel.json"
	nodeFile = "node"
	lockFile = "lock"
)

// dataFolder is the folder that holds everything embedded. One server at a time has it. Others may pass through it,
// because jobs may run as another user in a folder below it, and can read nothing in it.
type dataFolder struct {
	dir  string
	lock *flock.Flock
}

// dataMark is the folder's own file: what made it.
type dataMark struct {
	Version   int    `json:"version"`
	Tidewheel string `json:"tidewheel"`
}

// openDataFolder makes the folder if it is missing, takes its lock and checks its version.
func openDataFolder(dir string) (*dataFolder, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	if err := os.MkdirAll(dir, 0o711); err != nil { //nolint:gosec // jobs of other users pass through it to their folders, and read nothing in it
		return nil, explainData(dir, err)
	}
	if err := checkForeign(dir); err != nil {
		return nil, err
	}
	if err := checkOwner(dir); err != nil {
		return nil, err
	}
	if free, err := freeSpace(dir); err == nil && free < leastFree {
		return nil, fmt.Errorf("--data: the disk of %s is full (%s free): make space, at least %s, and start again",
			dir, bytesOf(free), bytesOf(leastFree))
	}
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, explainData(dir, err)
	}
	if !locked {
		return nil, usage("--data: another tidewheel server uses %s: stop it, or give this one a folder of its own", dir)
	}
	folder := &dataFolder{dir: dir, lock: lock}
	if err := folder.check(); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return folder, nil
}

func explainData(dir string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return usage("--data: the folder %s cannot be written to by this user (%w): choose another, or start as its owner", dir, err)
	case errors.Is(err, syscall.ENOTDIR):
		return usage("--data: %s, or something above it, is a file: give a folder", dir)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("--data: the disk of %s is full: make space and start again", dir)
	}
	return fmt.Errorf("--data: %s: %w", dir, err)
}

// checkForeign refuses a folder that holds something else than ours, before anything is written into it.
func checkForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return explainData(dir, err)
	}
	var others []string
	for _, entry := range entries {
		switch name := entry.Name(); {
		case name == markFile:
			return nil
		case name == lockFile || name == "lost+found" || strings.HasPrefix(name, temporaryPrefix):
		default:
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		slices.Sort(others)
		return usage("--data: %s holds other things (such as %s) and is no data folder of Tidewheel: give an empty or a new folder", dir, others[0])
	}
	return nil
}

// checkOwner refuses a folder that others than this user and root may write to: they could put their own token, keys
// and database into it, and a job may run as one of them.
func checkOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return explainData(dir, err)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return usage("--data: others may write to %s (mode %o), and could replace the token and the database in it: chmod go-w %[1]s", dir, mode)
	}
	if of, ok := info.Sys().(*syscall.Stat_t); ok && of.Uid != 0 && int(of.Uid) != os.Geteuid() {
		return usage("--data: %s belongs to user %d, who could replace the token and the database in it: chown it to the user of the server (%d)", dir, of.Uid, os.Geteuid())
	}
	return nil
}

func (d *dataFolder) path(name string) string { return filepath.Join(d.dir, name) }

// folder returns a folder inside that only this user may look into.
func (d *dataFolder) folder(name string) (string, error) {
	path := d.path(name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", explainData(path, err)
	}
	return path, nil
}

func (d *dataFolder) close() error { return d.lock.Unlock() }

// check reads the folder's mark, or makes one in a new folder.
func (d *dataFolder) check() error {
	mark := d.path(markFile)
	text, err := os.ReadFile(mark)
	if errors.Is(err, fs.ErrNotExist) {
		text, err := json.Marshal(dataMark{Version: dataVersion, Tidewheel: version})
		if err != nil {
			return fmt.Errorf("--data: %w", err)
		}
		if err := writeFile(mark, append(text, '\n'), 0o600); err != nil {
			return explainData(d.dir, err)
		}
		return nil
	}
	if err != nil {
		return explainData(mark, err)
	}
	var read dataMark
	if err := json.Unmarshal(text, &read); err != nil || read.Version < 1 {
		return usage("--data: %s is damaged: restore the folder from a backup, or give another one", mark)
	}
	if read.Version > dataVersion {
		return usage("--data: %s was written by a newer Tidewheel (%s, layout %d; this is %s, layout %d): start that version, or give another folder",
			d.dir, read.Tidewheel, read.Version, version, dataVersion)
	}
	return nil
}

// freeSpace reports how many bytes this user may still write on the disk of a folder.
func freeSpace(dir string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil //nolint:unconvert // on other systems Bsize is no int64
}

// temporaryPrefix marks files that are not whole yet.
const temporaryPrefix = ".new-"

// writeFile writes a file whole or not at all, and durably.
func writeFile(path string, text []byte, mode fs.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), temporaryPrefix+"*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	if err := temporary.Chmod(mode); err != nil {
		return errors.Join(err, temporary.Close())
	}
	if _, err := temporary.Write(text); err != nil {
		return errors.Join(err, temporary.Close())
	}
	if err := errors.Join(temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// node returns a name of this node, the same in all of its lives: one server at a time has the folder.
func (d *dataFolder) node() (string, error) {
	path := d.path(nodeFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(strings.TrimSpace(string(text))) == 0 { // a full disk may have left it empty
		text = []byte(strings.ToLower(rand.Text()) + "\n")
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return "", explainData(d.dir, err)
	}
	return strings.TrimSpace(string(text)), nil
}
