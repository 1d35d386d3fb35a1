//go:build !linux

package chaos

import (
	"errors"
	"os/exec"
	"testing"
)

func newNamespaces(*testing.T, []string, map[string]service) (*roads, error) {
	return nil, errors.New("this system has no network namespaces")
}

type disk struct{ path string }

func newDisk(*testing.T, string, int) (*disk, error) {
	return nil, errors.New("this system has no file systems in memory")
}

func (*disk) fill() error { return nil }
func (*disk) free() error { return nil }

func dieWithUs(*exec.Cmd) {}
