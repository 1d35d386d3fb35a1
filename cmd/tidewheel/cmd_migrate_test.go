package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/moving"
)

// The way there and back is tested with a real MongoDB protocol in store/mongo/mongotest. Here: what is refused.
func TestMovesThatMakeNoSense(t *testing.T) {
	config := serverConfigFor(t)
	s := startServer(t, config)
	const nobody = "mongodb://127.0.0.1:1"
	s.refused(exitRefused, "another tidewheel server uses", "migrate", "--from", config.Data, "--to-mongodb", nobody)
	s.stop()
	other := filepath.Join(filepath.Dir(config.Data), "other")
	for _, call := range []struct {
		status int
		words  string
		args   []string
	}{
		{exitRefused, "say from where and to where", nil},
		{exitRefused, "say from where and to where", []string{"--from", config.Data}},
		{exitRefused, "copy the folder itself", []string{"--from", config.Data, "--to", other}},
		{exitRefused, "mongodump and mongorestore", []string{"--from-mongodb", nobody, "--to-mongodb", nobody}},
		{exitRefused, "the tools of S3", []string{"--from-s3-endpoint", "http://127.0.0.1:1", "--to-s3-endpoint", "http://127.0.0.1:2"}},
		{exitRefused, "one side is a data folder", []string{"--from-mongodb", nobody, "--to-s3-endpoint", "http://127.0.0.1:1"}},
		{exitRefused, "give --from alone", []string{"--from", config.Data, "--from-s3-endpoint", "http://127.0.0.1:1", "--to-mongodb", nobody}},
		{exitRefused, "is no data folder of Tidewheel", []string{"--from", other, "--to-mongodb", nobody}},
		{exitRefused, "--to-mongodb", []string{"--from", config.Data, "--to-mongodb", "http://127.0.0.1:1"}},
		{exitUnreachable, "--to-mongodb: mongo: ping: MongoDB does not answer", []string{"--from", config.Data, "--to-mongodb", nobody}},
		{exitUnreachable, "--to-s3-endpoint", []string{"--from", config.Data, "--to-s3-endpoint", "http://127.0.0.1:1", "--to-s3-access-key", "a", "--to-s3-secret-key", "b"}},
		{exitRefused, "belong together", []string{"--from", config.Data, "--to-s3-endpoint", "http://127.0.0.1:1", "--to-s3-access-key", "a"}},
		{exitRefused, "usage: tidewheel migrate", []string{"there"}},
	} {
		s.refused(call.status, call.words, append([]string{"migrate"}, call.args...)...)
	}
	s.start() // nothing of it has harmed the folder
	s.must("get", "jobs")
}

func TestNoFileIsLeftByABackupThatBreaksOff(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "all.backup")
	if err := os.WriteFile(path, []byte("the one before"), 0o600); err != nil {
		t.Fatal(err)
	}
	broke := errors.New("it broke")
	if err := writeWhole(path, func(file *os.File) error {
		_, err := file.WriteString("half")
		return errors.Join(err, broke)
	}); !errors.Is(err, broke) {
		t.Errorf("got %v", err)
	}
	text, err := os.ReadFile(path)
	entries, _ := os.ReadDir(folder)
	if string(text) != "the one before" || err != nil || len(entries) != 1 {
		t.Errorf("got %q, %v, and %v", text, err, entries)
	}
	for _, impossible := range []string{folder, filepath.Join(folder, "none", "all.backup"), filepath.Join(path, "below")} {
		if err := writeWhole(impossible, func(*os.File) error { return nil }); exitStatus(err) != exitRefused {
			t.Errorf("%s: %v", impossible, err)
		}
	}
	c := newTestCLI(t)
	c.refused(exitUnreachable, "", "backup", filepath.Join(folder, "new.backup"), "--url", "http://127.0.0.1:1")
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("it left %v", entries)
	}
}

func TestABackupThatNoDiskHolds(t *testing.T) {
	err := roomFor(filepath.Join(t.TempDir(), "deep", "data"), &moving.Manifest{Sections: []moving.Section{{Bytes: 1 << 60}}})
	if exitStatus(err) != exitRefused || !strings.Contains(err.Error(), "make space, or give a folder on another disk") {
		t.Errorf("got %v", err)
	}
}

// A restore that the operator interrupts leaves the folder as it was.
func TestAnInterruptedRestoreLeavesNothing(t *testing.T) {
	config := serverConfigFor(t)
	s := startServer(t, config)
	s.push("hello", "echo hello")
	file := filepath.Join(t.TempDir(), "all.backup")
	s.must("backup", file)
	s.stop()
	target := filepath.Join(filepath.Dir(config.Data), "restored")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := newCLI(nil, &safeBuffer{}, &safeBuffer{})
	c.now = func() time.Time { // which is asked when the target is marked
		cancel(context.Canceled)
		return time.Now()
	}
	if err := c.restore(ctx, file, placeConfig{names: ownPlace, data: target}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if entries, err := os.ReadDir(target); len(entries) > 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
	s.must("restore", file, "--data", target)
}
