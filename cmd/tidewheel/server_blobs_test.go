package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDamagedProgramIsNeverRun(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("report", "echo the good one")
	s.apply("kind: Job\nname: report\nbinary: report\n")
	s.must("run", "report", "--wait")
	damage := func(folder string) {
		t.Helper()
		damaged := 0
		err := filepath.WalkDir(filepath.Join(s.config.Data, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(content), "the good one") {
				return err
			}
			damaged++
			return errors.Join(os.Chmod(path, 0o755), os.WriteFile(path, []byte("#!/bin/sh\necho the evil one"), 0o755))
		})
		if err != nil || damaged != 1 {
			t.Fatalf("%d copies of the program under %s: %v", damaged, folder, err)
		}
	}

	damage("cache") // there is a good one in S3
	if out := s.must("run", "report", "--wait"); !strings.Contains(out, "the good one") {
		t.Errorf("with a damaged copy in the cache: %s", out)
	}

	damage("cache")
	damage("s3")
	got := s.run("run", "report", "--wait")
	if got.status != exitFailed || strings.Contains(got.out, "evil") || !strings.Contains(got.err, "damaged where it is stored") {
		t.Errorf("with no good copy: exit %d, %s, %s", got.status, got.out, got.err)
	}

	s.push("report", "echo the good one") // the same bytes mend it
	if out := s.must("run", "report", "--wait"); !strings.Contains(out, "the good one") {
		t.Errorf("after another upload: %s", out)
	}
}

func TestServerSaysWhatToDoWhereItsFolderIsGone(t *testing.T) {
	config := serverConfigFor(t)
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	server, err := NewServer(config, testLog(t), &safeBuffer{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close(t.Context())
	if err := server.Start(t.Context()); exitStatus(err) != exitRefused || !strings.Contains(err.Error(), "start it in another one") {
		t.Errorf("exit %d, %v", exitStatus(err), err)
	}
}
