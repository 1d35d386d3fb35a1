//go:build !linux

package chaos

import (
	"errors"
	"math/rand/v2"
	"os/exec"
	"testing"
)

func newNamespaces(*testing.T, []string, map[string]service) (*roads, error) {
	return nil, errors.New("this system has no network namespaces")
}

type disk struct{ canFreeze bool }

func newDisk(*testing.T, string, int) (*disk, error) {
	return nil, errors.New("this test mounts disks on Linux only")
}

func (*disk) fill() error                               { return nil }
func (*disk) free() error                               { return nil }
func (*disk) stutter(*rand.Rand, <-chan struct{}) error { return nil }

func dieWithUs(*exec.Cmd) {}
