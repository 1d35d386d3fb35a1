package process

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Folder is where one program works. Nobody else has it while the program lives.
type Folder struct {
	Path string
	Temp string // for TMPDIR, below Path

	made    time.Time
	changed [2]syscall.Timespec // of Path and Temp, as they were made
}

// folders makes folders, and hands out again those that a program has left untouched: on a journaling file system,
// making and removing two folders costs as much as a third of a whole small process.
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
	if folder.untouched() {
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
	folder := &Folder{Path: path, Temp: filepath.Join(path, "tmp"), made: time.Now()}
	for i, dir := range []string{folder.Path, folder.Temp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		if f.uid >= 0 {
			if err := os.Chown(dir, f.uid, f.gid); err != nil {
				return nil, err
			}
		}
		if i == 1 { // both are as they stay
			for j, dir := range []string{folder.Path, folder.Temp} {
				var stat syscall.Stat_t
				if err := syscall.Lstat(dir, &stat); err != nil {
					return nil, err
				}
				folder.changed[j] = changeTime(&stat)
			}
		}
	}
	return folder, nil
}

// untouched tells whether nothing was made, removed or renamed in the folder, and neither mode nor owner changed: each
// of these moves its change time, which no program can set.
func (f *Folder) untouched() bool {
	for i, dir := range []string{f.Path, f.Temp} {
		var stat syscall.Stat_t
		if err := syscall.Lstat(dir, &stat); err != nil || changeTime(&stat) != f.changed[i] {
			return false
		}
	}
	return time.Since(f.made) > fresh || (emptyBut(f.Path, "tmp") && emptyBut(f.Temp, ""))
}

func emptyBut(dir, name string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	return len(entries) == 0 || (len(entries) == 1 && entries[0].Name() == name)
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
