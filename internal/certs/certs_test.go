package certs_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/internal/certs"
	"github.com/tidewheel/tidewheel/internal/certs/certstest"
)

// world is a pair whose clock the test sets.
type world struct {
	*certs.Pair
	t         *testing.T
	ca        *certstest.Authority
	cert, key string
	now       time.Time
	log       bytes.Buffer
}

func open(t *testing.T, ca *certstest.Authority, cert, key string) *world {
	t.Helper()
	w := &world{t: t, ca: ca, cert: cert, key: key, now: time.Now()}
	var err error
	w.Pair, err = certs.Open(cert, key, slog.New(slog.NewTextHandler(&w.log, nil)), func() time.Time { return w.now })
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func newWorld(t *testing.T) *world {
	ca := certstest.New(t)
	cert, key := ca.Issue(nextYear(), "one.example")
	return open(t, ca, cert, key)
}

func nextYear() time.Time { return time.Now().Add(300 * 24 * time.Hour) }

// serves checks which name the certificate has after a while.
func (w *world) serves(name string, after time.Duration) {
	w.t.Helper()
	w.now = w.now.Add(after)
	if got := w.Certificate().Leaf.DNSNames; len(got) != 1 || got[0] != name {
		w.t.Errorf("the certificate of %q is served, want %s", got, name)
	}
}

func TestReplacedFilesAreReadAgain(t *testing.T) {
	w := newWorld(t)
	w.ca.IssueTo(w.cert, w.key, nextYear(), "two.example")
	w.serves("one.example", 500*time.Millisecond) // not looked at more often than once a second
	w.serves("two.example", 500*time.Millisecond)
	if !strings.Contains(w.log.String(), w.cert) {
		t.Errorf("the log does not name the file: %s", &w.log)
	}

	// As an atomic replacement does it: another file under the name.
	cert, key := w.ca.Issue(nextYear(), "three.example")
	for from, to := range map[string]string{cert: w.cert, key: w.key} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	w.serves("three.example", time.Second)
	w.now = w.now.Add(-time.Hour) // a clock that is set back does not end it
	w.ca.IssueTo(w.cert, w.key, nextYear(), "four.example")
	w.serves("four.example", 0)
}

// Kubernetes mounts ..data -> ..TIME, tls.crt -> ..data/tls.crt, and swaps ..data.
func TestSwappedSymbolicLinksAreFollowed(t *testing.T) {
	ca, dir := certstest.New(t), t.TempDir()
	put := func(folder, name string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		ca.IssueTo(filepath.Join(dir, folder, "tls.crt"), filepath.Join(dir, folder, "tls.key"), nextYear(), name)
		if err := os.Symlink(folder, filepath.Join(dir, "..new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	put("..1", "one.example")
	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	w := open(t, ca, filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	put("..2", "two.example")
	w.serves("two.example", time.Second)
}

func TestUnusableNewFilesKeepTheCertificateOfBefore(t *testing.T) {
	w := newWorld(t)
	_, foreign := w.ca.Issue(nextYear(), "other.example")
	for what, spoil := range map[string]func() error{
		"a key of another": func() error { return os.Rename(foreign, w.key) },
		"no certificate":   func() error { return os.WriteFile(w.cert, []byte("nonsense"), 0o600) },
		"missing":          func() error { return os.Remove(w.cert) },
	} {
		w.log.Reset()
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		w.serves("one.example", time.Second)
		w.serves("one.example", time.Second)
		if said := w.log.String(); strings.Count(said, "level=ERROR") != 1 || !strings.Contains(said, w.cert) && !strings.Contains(said, w.key) {
			t.Errorf("%s: the log says %s", what, said)
		}
	}
	w.ca.IssueTo(w.cert, w.key, nextYear(), "two.example")
	w.serves("two.example", time.Second)
}

func TestFilesThatCannotBeUsedAreRefusedByName(t *testing.T) {
	ca := certstest.New(t)
	cert, key := ca.Issue(nextYear(), "one.example")
	_, otherKey := ca.Issue(nextYear(), "two.example")
	for name, files := range map[string]struct{ cert, key, words string }{
		"no certificate": {cert + "x", key, cert + "x"},
		"no key":         {cert, key + "x", key + "x"},
		"another's key":  {cert, otherKey, otherKey},
		"exchanged":      {key, cert, key},
	} {
		if _, err := certs.Open(files.cert, files.key, slog.New(slog.DiscardHandler), time.Now); err == nil || !strings.Contains(err.Error(), files.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := certs.Authorities(ca.File); err != nil {
		t.Error(err)
	}
	for _, file := range []string{key, ca.File + "x"} {
		if _, err := certs.Authorities(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("authorities of %s: %v", file, err)
		}
	}
}

func TestExpiryIsWarnedOfOnceADay(t *testing.T) {
	ca := certstest.New(t)
	for words, until := range map[string]time.Time{
		"has expired":  time.Now().Add(-time.Hour),
		"expires soon": time.Now().Add(5 * 24 * time.Hour),
	} {
		cert, key := ca.Issue(until, "one.example")
		w := open(t, ca, cert, key)
		for range 3 {
			w.serves("one.example", time.Hour)
		}
		if said := w.log.String(); strings.Count(said, "level=WARN") != 1 || !strings.Contains(said, words) || !strings.Contains(said, cert) {
			t.Errorf("the log says %s", said)
		}
		w.serves("one.example", 24*time.Hour)
		if said := w.log.String(); strings.Count(said, "level=WARN") != 2 {
			t.Errorf("a day later the log says %s", said)
		}
	}
	if w := newWorld(t); w.log.Len() > 0 {
		t.Errorf("of a certificate that is good the log says %s", &w.log)
	}
}

func TestReplacedAuthoritiesAreReadAgain(t *testing.T) {
	first, second := certstest.New(t), certstest.New(t)
	var log bytes.Buffer
	now := time.Now()
	trust, err := certs.OpenTrust(first.File, slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	before := trust.Pool()
	now = now.Add(time.Second)
	if trust.Pool() != before {
		t.Error("there is another pool though nothing has changed")
	}
	if err := os.WriteFile(first.File, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	if trust.Pool() != before || !strings.Contains(log.String(), first.File) {
		t.Errorf("a file without certificates is used, or not named: %s", &log)
	}
	if err := os.Rename(second.File, first.File); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	if after := trust.Pool(); after == before || after.Equal(before) {
		t.Error("the new authorities are not trusted")
	}
	if _, err := certs.OpenTrust(second.File, slog.New(slog.DiscardHandler), time.Now); err == nil {
		t.Error("a missing file was taken")
	}
}
