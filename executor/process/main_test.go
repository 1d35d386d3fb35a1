package process_test

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"
	"testing"

	"github.com/tidewheel/tidewheel/executor/process"
)

// The test binary is also the guardian, and an executor that can be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		var err error
		switch os.Args[1] {
		case "__guard":
			err = process.Guard(os.Args[2:], os.Stdin, os.Stdout)
		case "__swap":
			err = swap(os.Args[2], os.Args[3])
		case "__capable":
			err = capable(os.Args[2], os.Args[3])
		case "__attack":
			err = attackDomain(os.Args[2:])
		case "__mount":
			err = attackMount(os.Args[2])
		case "__uncover":
			err = attackCover(os.Args[2])
		case "__masked":
			err = maskProc()
		case "__check":
			err = process.CheckNamespaces([]string{"/proc/self/exe", "__guard"})
		case "__honest":
			err = workHonestly(os.Args[2], os.Args[3])
		case "__remove":
			err = attackRemoval(os.Args[2])
		case "__closed":
			err = removeClosed(os.Args[2])
		case "__executor":
			err = victim(os.Args[2], os.Args[3], os.Args[4])
		default:
			os.Exit(m.Run())
		}
		status := 0
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
		syscall.Exit(status) // os.Exit waits for a second for other threads' races
	}
	os.Exit(m.Run())
}

// victim runs a script until it is killed.
func victim(dir, cgroups, script string) error {
	if cgroups == "namespaces" { // as servers do
		if err := process.Shield(); err != nil {
			return err
		}
	}
	host, err := process.Open(process.Config{
		Dir: dir, UID: -1, GID: -1, Guardian: []string{"/proc/self/exe", "__guard"},
		NoCgroups: cgroups != "yes", OwnNamespaces: cgroups == "namespaces", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	folder, err := host.TakeFolder()
	if err != nil {
		return err
	}
	running, err := host.Start(process.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Folder: folder,
		Env: []string{"PATH=/usr/bin:/bin", process.Marker + "=" + folder.Path},
	}, io.Discard, nil)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, folder.Path)
	running.Wait()
	return nil
}
