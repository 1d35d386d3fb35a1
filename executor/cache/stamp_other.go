//go:build !linux

package cache

import (
	"os"
	"time"
)

func changeTime(info os.FileInfo) time.Time { return info.ModTime() }
