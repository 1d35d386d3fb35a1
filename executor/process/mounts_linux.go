package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mount is a line of proc_pid_mountinfo(5).
type mount struct {
	device string // major:minor
	root   string // the folder of the file system that is shown
	point  string // where it is shown
	kind   string // of file system
}

// readMounts reads what is mounted from an open mountinfo file, from its beginning.
func readMounts(file *os.File) ([]mount, error) {
	if _, err := file.Seek(0, 0); err != nil {
		return nil, err
	}
	text := new(strings.Builder)
	if _, err := file.WriteTo(text); err != nil {
		return nil, err
	}
	var all []mount
	for line := range strings.Lines(text.String()) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !ok || len(fields) < 5 {
			continue
		}
		kind, _, _ := strings.Cut(after, " ")
		all = append(all, mount{device: fields[2], root: unescape(fields[3]), point: unescape(fields[4]), kind: kind})
	}
	return all, nil
}

// unescape undoes \040 and the like, which stand for the characters that part the fields.
func unescape(field string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(field, '\\')
		if at < 0 || at+4 > len(field) {
			return b.String() + field
		}
		b.WriteString(field[:at])
		if code, err := strconv.ParseUint(field[at+1:at+4], 8, 8); err == nil {
			b.WriteByte(byte(code))
		} else {
			b.WriteString(field[at : at+4])
		}
		field = field[at+4:]
	}
}

// otherNames returns the other paths under which mounts show a file or folder, or folders in it: bind mounts.
func otherNames(path string, mounts []mount) (names []string) {
	var on *mount
	for i, m := range mounts {
		if _, below := relative(m.point, path); below && (on == nil || len(m.point) >= len(on.point)) { // a later one covers
			on = &mounts[i]
		}
	}
	if on == nil {
		return nil
	}
	rest, _ := relative(on.point, path)
	inside := filepath.Join(on.root, rest)
	for _, m := range mounts {
		if m.device != on.device {
			continue
		}
		if rest, below := relative(m.root, inside); below {
			names = append(names, filepath.Join(m.point, rest))
		} else if _, below := relative(inside, m.root); below {
			names = append(names, m.point)
		}
	}
	return names
}

// relative returns the path from a folder to what is below it, or is it; both are absolute and clean.
func relative(folder, path string) (string, bool) {
	if folder == "/" || folder == path {
		return strings.TrimPrefix(path, folder), true
	}
	return strings.CutPrefix(path, folder+"/")
}
