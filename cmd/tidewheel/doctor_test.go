package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
)

func TestDoctorSeesDeletedAndDamagedBinaries(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	for _, name := range []string{"whole", "gone", "broken"} {
		s.push(name, "echo "+name)
	}
	if result := s.run("doctor"); !strings.Contains(result.out, "3 contents read and whole") {
		t.Errorf("of whole ones the doctor says %s%s", result.out, result.err)
	}
	bytesOf := func(name string) string {
		binary := decode[wire.Binary](t, s.must("get", "binary", name, "-o", "json"))
		return filepath.Join(s.config.Data, "s3", "tidewheel", "binaries", binary.Versions[0].SHA256)
	}
	if err := os.Remove(bytesOf("gone")); err != nil {
		t.Fatal(err)
	}
	broken, err := os.ReadFile(bytesOf("broken"))
	if err != nil {
		t.Fatal(err)
	}
	broken[len(broken)-2] ^= 1
	if err := os.WriteFile(bytesOf("broken"), broken, 0o600); err != nil {
		t.Fatal(err)
	}
	result := s.run("doctor")
	for _, want := range []string{"gone version 1 is missing", "broken version 1 is damaged"} {
		if result.status != exitFailed || !strings.Contains(result.out, want) {
			t.Errorf("exit %d without %q:\n%s", result.status, want, result.out)
		}
	}
	if strings.Contains(result.out, "whole version") {
		t.Errorf("a whole one is reported as well:\n%s", result.out)
	}
}

// A server elsewhere is not judged by this machine.
func TestDoctorOfARemoteServerChecksOnlyThatServer(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	checks := func(args ...string) []string {
		result := s.run(append([]string{"doctor", "-o", "json"}, args...)...)
		var names []string
		for _, item := range decode[wire.List[checked]](t, result.out).Items {
			names = append(names, item.Check)
		}
		return names
	}
	ofMachine := []string{"data folder", "disk", "port", "user", "cgroups"}
	far := checks("--url", s.server.URL())
	for _, name := range ofMachine {
		if slices.Contains(far, name) {
			t.Errorf("with --url it checks this machine's %s", name)
		}
	}
	if !slices.Contains(far, "server") || !slices.Contains(far, "slot ledger") || !slices.Contains(far, "binaries") {
		t.Errorf("with --url it checks %v only", far)
	}
	both := checks("--url", s.server.URL(), "--data", s.config.Data)
	delete(s.env, "TIDEWHEEL_URL")
	here := checks()
	for _, name := range ofMachine {
		if !slices.Contains(both, name) || !slices.Contains(here, name) {
			t.Errorf("this machine's %s is not checked: %v, %v", name, both, here)
		}
	}
}

func TestDataFolderThatOthersCanWriteToIsRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o777, 0o775, 0o702} {
		config := serverConfigFor(t)
		if err := os.MkdirAll(config.Data, 0o711); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(config.Data, mode); err != nil {
			t.Fatal(err)
		}
		server, err := NewServer(config, testLog(t), &safeBuffer{})
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("others may write to %s (mode %o)", config.Data, mode)
		if err := server.Start(t.Context()); exitStatus(err) != exitRefused || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "chmod go-w") {
			t.Errorf("mode %o: %v", mode, err)
			_ = server.Close(t.Context())
		}
		if got := checkData(config.Data); got.Result != checkFail || !strings.Contains(got.Detail, want) {
			t.Errorf("mode %o: the doctor says %+v", mode, got)
		}
	}
	if os.Geteuid() == 0 { // only root can give a folder away
		config := serverConfigFor(t)
		if err := os.MkdirAll(config.Data, 0o711); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(config.Data, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if _, err := openDataFolder(config.Data); exitStatus(err) != exitRefused || !strings.Contains(err.Error(), "belongs to user 65534") {
			t.Errorf("of another user: %v", err)
		}
	}
}

func TestKeysOfAnS3WithoutItsEndpointAreRefused(t *testing.T) {
	c := newTestCLI(t)
	key, secret := keepSecret(t, "the-access-key"), keepSecret(t, "the-secret-key")
	c.refused(exitRefused, "--s3-endpoint", "server", "--data", t.TempDir(), "--s3-access-key-file", key, "--s3-secret-key-file", secret)
	c.refused(exitRefused, "--s3-endpoint", "server", "--data", t.TempDir(), "--s3-access-key-file", key)
	c.refused(exitRefused, "--s3-endpoint", "server", "--data", t.TempDir(), "--s3-bucket", "mine")
}

func TestBackupSaysInWordsWhatWentWrong(t *testing.T) {
	folder := t.TempDir()
	c := newTestCLI(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }))
	defer elsewhere.Close()
	result := c.run("backup", filepath.Join(folder, "all.backup"), "--url", elsewhere.URL)
	if result.status != exitFailed || !strings.Contains(result.err, "what was written is no whole backup") || strings.Contains(result.err, temporaryPrefix) {
		t.Errorf("of what is no backup: exit %d, %s", result.status, result.err)
	}
	c.refused(exitRefused, "name the file", "backup", "", "--url", elsewhere.URL)
	for _, c := range []struct {
		err    error
		status int
		words  string
	}{
		{&os.PathError{Op: "write", Path: "t", Err: os.ErrPermission}, exitRefused, "all.backup cannot be written: permission denied: name another file"},
		{&os.LinkError{Op: "rename", Old: "t", New: "all.backup", Err: os.ErrPermission}, exitRefused, "all.backup cannot be written: permission denied: name another file"},
		{&os.PathError{Op: "write", Path: "another", Err: os.ErrPermission}, exitFailed, "write another: permission denied"},
		{&os.PathError{Op: "write", Path: "t", Err: syscall.ENOSPC}, exitFailed, "the disk of all.backup is full: free some space there, or name a file on another disk"},
		{&os.PathError{Op: "write", Path: "t", Err: syscall.EDQUOT}, exitFailed, "the disk of all.backup is full: free some space there, or name a file on another disk"},
		{&os.PathError{Op: "write", Path: "t", Err: syscall.EFBIG}, exitRefused, "all.backup cannot be written: this user or disk allows no file as large: name a file on another disk, or raise the limit (ulimit -f)"},
	} {
		if got := explainWrite("all.backup", "t", c.err); exitStatus(got) != c.status || got.Error() != c.words {
			t.Errorf("%v: exit %d, %v", c.err, exitStatus(got), got)
		}
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 0 {
		t.Errorf("it left %v", entries)
	}
}
