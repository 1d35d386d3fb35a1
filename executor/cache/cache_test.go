package cache_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidewheel/tidewheel/executor/cache"
)

// shop sells what it has, and counts.
type shop struct {
	mu      sync.Mutex
	goods   map[string][]byte
	fetched atomic.Int64
	gate    chan struct{} // if set, fetches wait for it
}

var errGone = errors.New("gone")

func (s *shop) fetch(ctx context.Context, digest string) (io.ReadCloser, int64, error) {
	s.fetched.Add(1)
	if s.gate != nil {
		select {
		case <-s.gate:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.goods[digest]
	if !ok {
		return nil, 0, errGone
	}
	return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
}

func (s *shop) add(data []byte) string {
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.goods[digest] = data
	return digest
}

func newShop() *shop { return &shop{goods: make(map[string][]byte)} }

func open(t *testing.T, dir string, limit int64, s *shop) *cache.Cache {
	t.Helper()
	c, err := cache.Open(dir, limit, s.fetch)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func get(t *testing.T, c *cache.Cache, digest string) *cache.File {
	t.Helper()
	file, err := c.Get(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestContentIsWhatWasAskedFor(t *testing.T) {
	s := newShop()
	c := open(t, t.TempDir(), 1<<20, s)
	digest := s.add(bytes.Repeat([]byte("program"), 1000))
	file := get(t, c, digest)
	data, err := os.ReadFile(file.Path)
	if err != nil || !bytes.Equal(data, s.goods[digest]) || !bytes.Equal(file.Head, data[:cache.HeadSize]) {
		t.Errorf("the file holds something else: %v", err)
	}
	if info, err := os.Stat(file.Path); err != nil || info.Mode() != 0o555 {
		t.Errorf("mode is %v, %v", info.Mode(), err)
	}
	file.Release()
	bad := s.add([]byte("good"))
	s.goods[bad] = []byte("evil")
	var wrong *cache.DigestError
	if _, err := c.Get(t.Context(), bad); !errors.As(err, &wrong) || wrong.Want != bad {
		t.Errorf("got %v", err)
	}
	if _, err := c.Get(t.Context(), digest[:63]+"x"); err == nil {
		t.Error("a digest that is none was fetched")
	}
	unknown := hex.EncodeToString(make([]byte, 32))
	if _, err := c.Get(t.Context(), unknown); !errors.Is(err, errGone) {
		t.Errorf("got %v", err)
	}
	s.goods[bad] = []byte("good")
	get(t, c, bad).Release()
}

func TestConcurrentRequestsFetchOnce(t *testing.T) {
	s := newShop()
	s.gate = make(chan struct{})
	c := open(t, t.TempDir(), 1<<20, s)
	digest := s.add([]byte("program"))
	// The first gives up; the others are served all the same.
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := c.Get(ctx, digest)
		first <- err
	}()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			file, err := c.Get(t.Context(), digest)
			if err != nil {
				t.Error(err)
				return
			}
			file.Release()
		})
	}
	cancel()
	<-first
	close(s.gate)
	all.Wait()
	if n := s.fetched.Load(); n > 2 {
		t.Errorf("fetched %d times", n)
	}
}

func TestRoomIsBoundedAndWhatIsInUseStays(t *testing.T) {
	s := newShop()
	dir := t.TempDir()
	c := open(t, dir, 3000, s)
	digests := make([]string, 5)
	for i := range digests {
		digests[i] = s.add(bytes.Repeat([]byte{byte(i)}, 1000))
	}
	used := get(t, c, digests[0])
	for _, digest := range digests[1:3] {
		get(t, c, digest).Release()
	}
	get(t, c, digests[1]).Release() // now 2 is the oldest that is free
	get(t, c, digests[3]).Release()
	has := func(want ...int) {
		t.Helper()
		names, err := os.ReadDir(dir)
		if err != nil || len(names) != len(want) {
			t.Errorf("the folder holds %v, %v, want %v", names, err, want)
		}
		for _, i := range want {
			if _, err := os.Stat(filepath.Join(dir, digests[i])); err != nil {
				t.Error(err)
			}
		}
	}
	has(0, 1, 3)
	big := s.add(bytes.Repeat([]byte("b"), 9000))
	digests = append(digests, big)
	file := get(t, c, big) // larger than all there is room for
	has(0, 5)
	file.Release()
	has(0)
	used.Release()
	has(0)
}

func TestFilesSurviveARestartAndAreVerified(t *testing.T) {
	s := newShop()
	dir := t.TempDir()
	good, damaged := s.add([]byte("good one")), s.add([]byte("damaged one"))
	c := open(t, dir, 1<<20, s)
	get(t, c, good).Release()
	get(t, c, damaged).Release()
	path := filepath.Join(dir, damaged)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("damaged 0ne"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, good+".part"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.fetched.Store(0)
	c = open(t, dir, 1<<20, s)
	if _, err := os.Stat(filepath.Join(dir, good+".part")); err == nil {
		t.Error("half a file is still there")
	}
	get(t, c, good).Release()
	if n := s.fetched.Load(); n != 0 {
		t.Errorf("a good file was fetched %d times", n)
	}
	file := get(t, c, damaged)
	defer file.Release()
	if data, err := os.ReadFile(file.Path); err != nil || string(data) != "damaged one" {
		t.Errorf("got %q, %v", data, err)
	}
	if n := s.fetched.Load(); n != 1 {
		t.Errorf("a damaged file was fetched %d times", n)
	}
}

func TestFileThatWasChangedIsFetchedAgain(t *testing.T) {
	s := newShop()
	dir := t.TempDir()
	digest := s.add([]byte("the good one"))
	c := open(t, dir, 1<<20, s)
	path := filepath.Join(dir, digest)
	running := get(t, c, digest) // so that the file is in use while it is found to be bad
	defer running.Release()
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	change := map[string]func() error{
		"written to": func() error { return os.WriteFile(path, []byte("an evil one"), 0o755) },
		"removed":    func() error { return os.Remove(path) },
		"exchanged, of the same size and time": func() error {
			if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("the evil one"), 0o755)); err != nil {
				return err
			}
			return os.Chtimes(path, before.ModTime(), before.ModTime())
		},
	}
	for _, how := range []string{"written to", "removed", "exchanged, of the same size and time"} {
		if err := errors.Join(os.Chmod(path, 0o755), change[how]()); err != nil {
			t.Fatal(err)
		}
		file := get(t, c, digest)
		if data, err := os.ReadFile(file.Path); err != nil || string(data) != "the good one" {
			t.Errorf("%s: got %q, %v", how, data, err)
		}
		file.Release()
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o555 {
			t.Errorf("%s: %v, %v", how, info, err)
		}
		s.fetched.Store(0)
		get(t, c, digest).Release()
		if n := s.fetched.Load(); n != 0 {
			t.Errorf("%s: the good file was fetched %d times more", how, n)
		}
	}
}

func TestHasReportsWhatGetReturnsWithoutFetching(t *testing.T) {
	t.Parallel()
	s := newShop()
	digest := s.add([]byte("#!/bin/sh\n"))
	dir := t.TempDir()
	c := open(t, dir, 100, s)
	if file := c.Have(digest); file != nil {
		t.Fatal("a file is had that was never fetched")
	}
	got, err := c.Get(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	file := c.Have(digest)
	if file == nil || file.Path != got.Path || file.Size != got.Size || !bytes.Equal(file.Head, got.Head) {
		t.Fatalf("had %+v, got %+v", file, got)
	}
	file.Release()
	got.Release()
	if n := s.fetched.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	if file := open(t, dir, 100, s).Have(digest); file != nil {
		t.Error("a file of an earlier cache is had before it is verified")
	}
	if err := os.WriteFile(file.Path+".new", []byte("bad"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file.Path+".new", file.Path); err != nil {
		t.Fatal(err)
	}
	if file := c.Have(digest); file != nil {
		t.Error("a file is had that was exchanged")
	}
}

func TestEvictedFileIsFetchedAgainWhileTheOldOneIsInUse(t *testing.T) {
	s := newShop()
	dir := t.TempDir()
	c := open(t, dir, 1<<20, s)
	digest := s.add([]byte("program"))
	old := get(t, c, digest)
	c.Evict(old)
	file := get(t, c, digest)
	if s.fetched.Load() != 2 {
		t.Errorf("fetched %d times", s.fetched.Load())
	}
	old.Release()
	if file.Missing() {
		t.Error("the new file went with the old one")
	}
	file.Release()
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 1 {
		t.Errorf("the folder holds %v, %v", names, err)
	}
}
