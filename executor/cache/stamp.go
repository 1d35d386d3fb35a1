package cache

import (
	"os"
	"time"
)

// stamp distinguishes a file that was verified from one that was written to or exchanged since, without reading it again. A
// program that runs as the executor's own user could change the files.
type stamp struct {
	info    os.FileInfo
	changed time.Time // where the system reports it: unlike the modification time, a program cannot set it
}

func stampOf(info os.FileInfo) stamp { return stamp{info: info, changed: changeTime(info)} }

func unchanged(path string, since stamp) bool {
	info, err := os.Stat(path)
	return err == nil && os.SameFile(info, since.info) && info.Size() == since.info.Size() &&
		info.ModTime().Equal(since.info.ModTime()) && changeTime(info).Equal(since.changed)
}
