package process

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Folder is where one program works. Nobody else has it while the program lives.
type Folder struct {
	Path string
	Temp string // for TMPDIR, below Path
	Keep string // for files that outlive the folder, below Path; "" where there is none

	made    time.Time
	changed [3]syscall.Timespec // of Path, Temp and Keep, as they were made
	seen    bool                // Used was asked
	used    [2]bool             // and what it found in Path and Keep
}

// The folders below Path.
const (
	tempName = "tmp"
	keepName = "artifacts"
)

// folders makes folders, and hands out again those that a program has left untouched: on a journaling file system,
// making and removing folders costs as much as a third of a whole small process.
type folders struct {
	dir      string
	uid, gid int

	mu   sync.Mutex
	next int
	free []*Folder
}

// fresh is how long after its making a folder's times cannot tell whether it was touched: file systems stamp changes
// with a clock that ticks every few milliseconds.
const fresh = 50 * time.Millisecond

// TakeFolder gives an empty folder that belongs to the user whom programs run as. It must be given back.
func (h *Host) TakeFolder() (*Folder, error) {
	folder, err := h.folders.take()
	if err != nil {
		return nil, fmt.Errorf("process: make work folder: %w", err)
	}
	return folder, nil
}

// ReturnFolder removes what a program has left. No process may use the folder any more.
func (h *Host) ReturnFolder(folder *Folder) error {
	if path, keep := folder.Used(); !path && !keep && folder.untouched(1, folder.Temp) {
		folder.seen = false
		h.folders.mu.Lock()
		h.folders.free = append(h.folders.free, folder)
		h.folders.mu.Unlock()
		return nil
	}
	if err := removeAll(folder.Path); err != nil {
		return fmt.Errorf("process: remove work folder: %w", err)
	}
	return nil
}

func (f *folders) take() (*Folder, error) {
	f.mu.Lock()
	if last := len(f.free) - 1; last >= 0 {
		folder := f.free[last]
		f.free = f.free[:last]
		f.mu.Unlock()
		return folder, nil
	}
	f.next++
	path := filepath.Join(f.dir, strconv.Itoa(f.next))
	f.mu.Unlock()
	folder := &Folder{Path: path, Temp: filepath.Join(path, tempName), Keep: filepath.Join(path, keepName), made: time.Now()}
	for _, dir := range folder.all() {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		if f.uid >= 0 {
			if err := os.Chown(dir, f.uid, f.gid); err != nil {
				return nil, err
			}
		}
	}
	for i, dir := range folder.all() { // they are as they stay
		var stat syscall.Stat_t
		if err := syscall.Lstat(dir, &stat); err != nil {
			return nil, err
		}
		folder.changed[i] = changeTime(&stat)
	}
	return folder, nil
}

func (f *Folder) all() [3]string { return [3]string{f.Path, f.Temp, f.Keep} }

// Used tells, once the program has ended, whether anything may have been made, removed or renamed in Path itself and in
// Keep. A folder that is not used costs a look at each, and ReturnFolder does not look again.
func (f *Folder) Used() (path, keep bool) {
	if !f.seen && f.Keep != "" {
		f.seen = true
		f.used = [2]bool{!f.untouched(0, f.Path, keepName, tempName), !f.untouched(2, f.Keep)}
	}
	return f.used[0], f.used[1]
}

// untouched tells whether nothing was made, removed or renamed in one of the folders, and neither mode nor owner
// changed: each of these moves its change time, which no program can set. names are its entries as it was made.
func (f *Folder) untouched(i int, dir string, names ...string) bool {
	var stat syscall.Stat_t
	if syscall.Lstat(dir, &stat) != nil || changeTime(&stat) != f.changed[i] {
		return false
	}
	return time.Since(f.made) > fresh || holdsOnly(dir, names...)
}

// holdsOnly tells whether a folder has these entries, in the order of their names, and no others.
func holdsOnly(dir string, names ...string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.EqualFunc(entries, names, func(entry fs.DirEntry, name string) bool { return entry.Name() == name })
}

// removeAll removes a folder even if its owner may not write to it or to what is in it.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	// Root needs no permission; anybody else gives it to himself. WalkDir reads a folder after it was visited.
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) // if it fails, so does the removal, and says why
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// Place gives the folder to use for files that programs must reach: dir itself if the user with these ids may pass
// through all the folders above it, else one of its own below the system's folder for temporary files. A data folder
// that is closed to others is good practice, and a program that runs as nobody could not enter it.
func Place(dir string, uid, gid int) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("process: find folder: %w", err)
	}
	if uid <= 0 || reachable(dir, uint32(uid), uint32(gid)) {
		return dir, nil
	}
	instead := filepath.Join(os.TempDir(), "tidewheel-"+shortHash(dir))
	if !reachable(instead, uint32(uid), uint32(gid)) {
		return "", fmt.Errorf("process: user %d, whom programs run as, cannot reach %s: open the folders above it (chmod o+x), choose another one, or let programs run as root", uid, dir)
	}
	if err := os.Mkdir(instead, 0o711); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("process: make folder: %w", err)
	}
	// Anybody can make a folder there, so that it must be looked at.
	var stat syscall.Stat_t
	if err := syscall.Lstat(instead, &stat); err != nil {
		return "", fmt.Errorf("process: look at %s: %w", instead, err)
	}
	if stat.Mode&syscall.S_IFMT != syscall.S_IFDIR || int(stat.Uid) != os.Geteuid() || stat.Mode&0o022 != 0 {
		return "", fmt.Errorf("process: %s exists and is not ours alone: remove it", instead)
	}
	return instead, nil
}

// Leave removes a folder that Place gave in the place of another one, with all that is in it.
func Leave(place string) error {
	if err := removeAll(place); err != nil {
		return fmt.Errorf("process: remove %s: %w", place, err)
	}
	return nil
}

// reachable tells whether a user may pass through all existing folders above path, and through path itself.
func reachable(path string, uid, gid uint32) bool {
	for dir := path; ; dir = filepath.Dir(dir) {
		var stat syscall.Stat_t
		err := syscall.Stat(dir, &stat)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return false
		case stat.Uid == uid:
			if stat.Mode&0o100 == 0 {
				return false
			}
		case stat.Gid == gid:
			if stat.Mode&0o010 == 0 {
				return false
			}
		case stat.Mode&0o001 == 0:
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}
