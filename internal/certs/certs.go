// Package certs reads certificates, keys and certificate authorities from files that are replaced while the server runs.
//
// A Pair serves the certificate that is in its files now: certbot, cert-manager and Kubernetes replace files, folders or
// symbolic links, and all are followed. Files that cannot be used are logged, and the certificate of before is served on.
//
// It imports nothing of Tidewheel.
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// lookEvery is how often the files are looked at, at most.
const lookEvery = time.Second

// expiresSoon is how long before its end the log says that a certificate was not renewed.
const expiresSoon = 7 * 24 * time.Hour

// files are watched for changes. Its owner guards it by a lock.
type files struct {
	names  []string
	now    func() time.Time
	looked time.Time
	read   []os.FileInfo // as they were when they were read last; nil where one was missing
}

func newFiles(now func() time.Time, names ...string) files {
	f := files{names: names, now: now, looked: now()}
	f.read = f.stat()
	return f
}

// changed reports whether the files are others than those that were read last, and counts these as read. It looks at them
// once in lookEvery, and returns false in between.
func (f *files) changed() bool {
	if now := f.now(); now.Sub(f.looked) < lookEvery && !now.Before(f.looked) {
		return false
	}
	f.looked = f.now()
	before := f.read
	f.read = f.stat() // before reading: what changes meanwhile is seen the next time
	return !slices.EqualFunc(f.read, before, same)
}

// stat describes the files that the names lead to now, through symbolic links.
func (f *files) stat() []os.FileInfo {
	found := make([]os.FileInfo, len(f.names))
	for i, name := range f.names {
		if info, err := os.Stat(name); err == nil {
			found[i] = info
		}
	}
	return found
}

func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// Pair is a certificate with its key, in two PEM files. It is safe for concurrent use.
type Pair struct {
	certFile, keyFile string
	log               *slog.Logger
	now               func() time.Time

	mu      sync.Mutex
	files   files
	current *tls.Certificate
	warned  time.Time // when the log last said that the certificate expires
}

// Open reads a certificate, with the chain that follows it in its file, and its key. Its errors name the files.
func Open(certFile, keyFile string, log *slog.Logger, now func() time.Time) (*Pair, error) {
	p := &Pair{certFile: certFile, keyFile: keyFile, log: log, now: now, files: newFiles(now, certFile, keyFile)}
	var err error
	if p.current, err = p.load(); err != nil {
		return nil, err
	}
	p.warnOfExpiry()
	return p, nil
}

// Certificate returns the certificate that the files hold, or the last usable one that they held.
func (p *Pair) Certificate() *tls.Certificate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.files.changed() {
		p.follow()
	}
	p.warnOfExpiry()
	return p.current
}

// Server returns the settings of a server that shows the certificate: TLS 1.2 and later.
func (p *Pair) Server() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.Certificate(), nil },
	}
}

// follow reads the files again.
func (p *Pair) follow() {
	loaded, err := p.load()
	if err != nil {
		p.log.Error("the new certificate cannot be used; the one of before is served on", "error", err)
		return
	}
	p.current = loaded
	p.log.Info("the certificate was read again", "file", p.certFile, "good_until", loaded.Leaf.NotAfter)
}

func (p *Pair) load() (*tls.Certificate, error) {
	cert, err := os.ReadFile(p.certFile)
	if err != nil {
		return nil, unreadable("the certificate", err)
	}
	key, err := os.ReadFile(p.keyFile)
	if err != nil {
		return nil, unreadable("the key of the certificate", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate %s and the key %s do not work together: %w", p.certFile, p.keyFile, err)
	}
	return &pair, nil
}

func unreadable(what string, err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return fmt.Errorf("%s %s cannot be read: %w", what, failed.Path, failed.Err)
	}
	return err
}

// warnOfExpiry says in the log, at most once a day, that the certificate was not renewed in time.
func (p *Pair) warnOfExpiry() {
	now, until := p.now(), p.current.Leaf.NotAfter
	if until.Sub(now) > expiresSoon || now.Sub(p.warned) < 24*time.Hour {
		return
	}
	p.warned = now
	if now.After(until) {
		p.log.Warn("the certificate has expired: clients refuse it until a new one is in the file", "file", p.certFile, "good_until", until)
		return
	}
	p.log.Warn("the certificate expires soon: put a new one into the file", "file", p.certFile, "good_until", until)
}

// Authorities reads the certificates of authorities from a PEM file. Only these are trusted where they are used.
func Authorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, unreadable("the certificates of authorities", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)", file)
	}
	return pool, nil
}

// Trust is the authorities of a PEM file, which is read again when it changes. It is safe for concurrent use.
type Trust struct {
	file string
	log  *slog.Logger

	mu      sync.Mutex
	files   files
	current *x509.CertPool
}

// OpenTrust reads the certificates of authorities.
func OpenTrust(file string, log *slog.Logger, now func() time.Time) (*Trust, error) {
	t := &Trust{file: file, log: log, files: newFiles(now, file)}
	var err error
	t.current, err = Authorities(file)
	return t, err
}

// Pool returns the authorities that the file holds, or the last usable ones; the same pool until the file changes.
func (t *Trust) Pool() *x509.CertPool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files.changed() {
		pool, err := Authorities(t.file)
		if err != nil {
			t.log.Error("the new certificates of authorities cannot be used; those of before are trusted on", "error", err)
			return t.current
		}
		t.current = pool
		t.log.Info("the certificates of authorities were read again", "file", t.file)
	}
	return t.current
}
