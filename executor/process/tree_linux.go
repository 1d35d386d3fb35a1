package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// tempDirs are the folders that every user may write to. Each program has its own of them, in memory.
var tempDirs = []struct{ path, name string }{{"/var/tmp", "var-tmp"}, {"/dev/shm", "shm"}, {tempDir, "tmp"}}

const tempDir = "/tmp"

// arrange arranges what is seen in the calling process's mount namespace, which must be a new one: hidden files and
// folders are empty and closed but for those in visible, cgroups can only be read, /proc shows the processes of this PID
// namespace, and the folders that everybody may write to are empty. temp bounds what these hold; 0 is half of the memory.
// Of what is visible, folders may be written to.
func arrange(hidden, visible []string, temp int64) error {
	defer unix.Umask(unix.Umask(0o022)) // programs must pass through what is made here
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("take the mounts out of their peer groups: %w", err)
	}
	info, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	mounts, err := readMounts(info)
	_ = info.Close() // it was only read
	if err != nil {
		return err
	}
	covers := coversOf(hidden, mounts)
	all, err := openShown(visible)
	if err != nil {
		return err
	}
	layer, err := layTemp(temp)
	if err != nil {
		return err
	}
	covered, err := layer.cover(covers)
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := one.put(); err != nil {
			return err
		}
	}
	for _, path := range covered {
		if err := readOnly(path); err != nil {
			return err
		}
	}
	for _, m := range mounts { // programs could move themselves into other groups, and kill these
		if m.kind == "cgroup2" || m.kind == "cgroup" {
			err := readOnly(m.point)
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.EINVAL) { // those are covered by another mount
				return err
			}
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "hidepid=2"); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

// cover is what lies over a file or folder that is hidden.
type cover struct {
	path string
	file bool
}

// coversOf finds what hides files and folders under all their names: the outermost ones are enough.
func coversOf(hidden []string, mounts []mount) (covers []cover) {
	var paths []string
	for _, path := range hidden {
		path = resolve(path)
		paths = append(append(paths, path), otherNames(path, mounts)...)
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		within := slices.ContainsFunc(covers, func(c cover) bool { _, below := relative(c.path, path); return below })
		info, err := os.Lstat(path)
		if within || err != nil || info.Mode()&fs.ModeSymlink != 0 { // nothing is there, or what it leads to is covered
			continue
		}
		covers = append(covers, cover{path: path, file: !info.IsDir()})
	}
	return covers
}

// layer is a file system in memory, from which folders are laid over others.
type layer struct{ fd int }

// layTemp puts it over /tmp, and its folders over those that everybody may write to.
func layTemp(size int64) (*layer, error) {
	options := "mode=0755"
	if size > 0 {
		options += ",size=" + strconv.FormatInt(size, 10)
	}
	if err := unix.Mount("tmpfs", tempDir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return nil, fmt.Errorf("mount a file system in memory on %s: %w", tempDir, err)
	}
	fd, err := unix.Open(tempDir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", tempDir, err)
	}
	l := &layer{fd}
	for _, dir := range tempDirs {
		target, err := filepath.EvalSymlinks(dir.path)
		if err != nil || target == tempDir && dir.path != tempDir {
			continue // there is none of its own
		}
		if err := errors.Join(unix.Mkdirat(fd, dir.name, 0o777), unix.Fchmodat(fd, dir.name, 0o777|unix.S_ISVTX, 0)); err != nil {
			return nil, fmt.Errorf("make an empty %s: %w", dir.path, err)
		}
		if err := l.put(dir.name, target); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// cover hides files and folders, and returns where something is hidden. A folder in one that is empty now is made there, so
// that no program makes it.
func (l *layer) cover(covers []cover) (covered []string, err error) {
	for i, one := range covers {
		name := "hidden-" + strconv.Itoa(i)
		if one.file {
			if _, err := os.Lstat(one.path); err != nil {
				continue // it was in a folder that is empty now
			}
			fd, err := unix.Openat(l.fd, name, unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0)
			if err != nil {
				return nil, fmt.Errorf("hide %s: %w", one.path, err)
			}
			closeAll(fd)
		} else if err := errors.Join(unix.Mkdirat(l.fd, name, 0o755), os.MkdirAll(one.path, 0o755)); err != nil {
			return nil, fmt.Errorf("hide %s: %w", one.path, err)
		}
		if err := l.put(name, one.path); err != nil {
			return nil, err
		}
		covered = append(covered, one.path)
	}
	return covered, nil
}

// put lays something of the layer over a file or folder.
func (l *layer) put(name, target string) error {
	tree, err := unix.OpenTree(l.fd, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("cover %s: %w", target, err)
	}
	defer closeAll(tree)
	return place(tree, target)
}

// place mounts a tree.
func place(tree int, target string) error {
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s: %w", target, err)
	}
	return nil
}

// shown is a file or folder that stays where it is although all around it is hidden.
type shown struct {
	path string
	tree int // a mount of it
	file bool
}

// openShown takes hold of them before they are hidden.
func openShown(paths []string) (all []shown, err error) {
	for _, path := range paths {
		tree, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", path, err)
		}
		var stat unix.Stat_t
		if err := unix.Fstat(tree, &stat); err != nil {
			return nil, fmt.Errorf("look at %s: %w", path, err)
		}
		all = append(all, shown{path, tree, stat.Mode&unix.S_IFMT != unix.S_IFDIR})
	}
	return all, nil
}

// put puts it back.
func (s *shown) put() error {
	dir := s.path
	if s.file {
		dir = filepath.Dir(s.path)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("show %s: %w", s.path, err)
	}
	if !s.file {
		return place(s.tree, s.path)
	}
	at, err := os.OpenFile(s.path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err == nil {
		_ = at.Close() // nothing was written
	} else if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("show %s: %w", s.path, err)
	}
	if err := place(s.tree, s.path); err != nil {
		return err
	}
	return readOnly(s.path)
}

// readOnly makes a mount one that can only be read; what is mounted below it stays as it is.
func readOnly(path string) error {
	err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if err != nil {
		return fmt.Errorf("make %s one that can only be read: %w", path, err)
	}
	return nil
}
