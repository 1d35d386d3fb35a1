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

// Folder is where one program works. It belongs to that program alone while the program lives.
type Folder struct {
	Path string
	Temp string // for TMPDIR, below Path
	Keep string // for files that outlive the folder, below Path; "" where there is none

	// UID and GID own the folder, and its program runs as them; negative ones are the executor's own.
	UID, GID int

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
	uid, gid int    // the owner of all folders; negative: the executor's own user
	users    *users // gives each folder an owner of its own; nil: uid and gid own all

	mu   sync.Mutex
	next int
	free []*Folder
}

// fresh is how long after its making a folder's times cannot tell whether it was touched: file systems stamp changes
// with a clock that ticks every few milliseconds.
const fresh = 50 * time.Millisecond

// TakeFolder returns an empty folder that belongs to the user whom programs run as. It must be given back.
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
	h.folders.users.put(folder.UID)
	return nil
}

func (f *folders) take() (_ *Folder, err error) {
	f.mu.Lock()
	if last := len(f.free) - 1; last >= 0 {
		folder := f.free[last]
		f.free = f.free[:last]
		f.mu.Unlock()
		return folder, f.renew(folder)
	}
	f.next++
	path := filepath.Join(f.dir, strconv.Itoa(f.next))
	f.mu.Unlock()
	folder := &Folder{
		Path: path, Temp: filepath.Join(path, tempName), Keep: filepath.Join(path, keepName),
		UID: f.uid, GID: f.gid, made: time.Now(),
	}
	if f.users != nil {
		if folder.UID, err = f.users.take(); err != nil {
			return nil, err
		}
		folder.GID = folder.UID
	}
	if err := folder.make(); err != nil {
		_ = removeAll(path) // the error in hand says what to do
		f.users.put(folder.UID)
		return nil, err
	}
	return folder, nil
}

// renew gives a folder that was left untouched to a user whom no program has run as for long: what the last program
// has left elsewhere, in /tmp or /dev/shm, is not the next one's to read.
func (f *folders) renew(folder *Folder) error {
	if f.users == nil {
		return nil
	}
	f.users.put(folder.UID)
	uid, err := f.users.take() // there is one now
	if err != nil {
		return err
	}
	folder.UID, folder.GID, folder.made = uid, uid, time.Now()
	return folder.give()
}

// make makes the folder and those in it.
func (f *Folder) make() error {
	for _, dir := range f.all() {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	return f.give()
}

// give gives the folders to their owner, from the inside out and through their descriptors: none is exchanged for a
// link to a file that would be given away instead, since the outer one is closed to all programs until the inner ones
// are given. It notes them as they are before their program begins.
func (f *Folder) give() (err error) {
	all := f.all()
	for _, i := range []int{1, 2, 0} {
		if f.changed[i], err = giveFolder(all[i], f.UID, f.GID); err != nil {
			return err
		}
	}
	return nil
}

// giveFolder changes the owner of a folder, and of nothing else that is found under its name.
func giveFolder(dir string, uid, gid int) (changed syscall.Timespec, err error) {
	file, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return changed, err
	}
	defer file.Close()
	if uid >= 0 {
		if err := file.Chown(uid, gid); err != nil {
			return changed, err
		}
	}
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(file.Fd()), &stat); err != nil {
		return changed, err
	}
	return changeTime(&stat), nil
}

func (f *Folder) all() [3]string { return [3]string{f.Path, f.Temp, f.Keep} }

// Used reports, once the program has ended, whether anything may have been made, removed or renamed in Path itself and in
// Keep. A folder that is not used costs a look at each, and ReturnFolder does not look again.
func (f *Folder) Used() (path, keep bool) {
	if !f.seen && f.Keep != "" {
		f.seen = true
		f.used = [2]bool{!f.untouched(0, f.Path, keepName, tempName), !f.untouched(2, f.Keep)}
	}
	return f.used[0], f.used[1]
}

// untouched reports whether nothing was made, removed or renamed in one of the folders, and neither mode nor owner
// changed: each of these moves its change time, which no program can set. names are its entries as it was made.
func (f *Folder) untouched(i int, dir string, names ...string) bool {
	var stat syscall.Stat_t
	if syscall.Lstat(dir, &stat) != nil || changeTime(&stat) != f.changed[i] {
		return false
	}
	return time.Since(f.made) > fresh || holdsOnly(dir, names...)
}

// holdsOnly reports whether a folder has these entries, in the order of their names, and no others.
func holdsOnly(dir string, names ...string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.EqualFunc(entries, names, func(entry fs.DirEntry, name string) bool { return entry.Name() == name })
}

// removeAll removes a folder even if its owner may not write to it or to what is in it. It follows no link, also where
// a program exchanges what is in the folder meanwhile.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || os.Geteuid() == 0 { // root needs no permission
		return err
	}
	root, opened := openClosed(dir)
	if opened != nil {
		return err
	}
	defer root.Close()
	// Anybody else gives the permission to himself. WalkDir reads a folder after it was visited.
	_ = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = root.Chmod(path, 0o700) // if it fails, so does the removal, and says why
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// openClosed opens a folder that its owner may have closed to himself. The folder above must be one that no program can
// write to.
func openClosed(dir string) (*os.Root, error) {
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		_ = os.Chmod(dir, 0o700) // if it fails, so does opening it
	}
	return os.OpenRoot(dir)
}

// Place returns the folder to use for files that programs must reach: dir itself if the user with these ids may pass
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
	if err := oursAlone(instead); err != nil {
		return "", err
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

// reachable reports whether a user may pass through all existing folders above path, and through path itself.
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
