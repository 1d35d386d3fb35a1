package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tidewheel/tidewheel/blob"
	"github.com/tidewheel/tidewheel/blob/gateway"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/executor/cache"
	"github.com/tidewheel/tidewheel/internal/certs"
	"github.com/tidewheel/tidewheel/web/service"
)

// checkWorkingFolder reports what to do where the embedded S3 cannot start: its library enters the folder that the server is
// started in, and reads it.
func checkWorkingFolder() error {
	dir, err := os.Getwd()
	if err == nil {
		err = unix.Access(dir, unix.R_OK|unix.X_OK)
	}
	if err != nil {
		return usage("the folder that the server is started in is closed to user %d, or is gone (%w): start it in another one, "+
			"such as after `cd /`, or with WorkingDirectory= of systemd", os.Geteuid(), err)
	}
	return nil
}

func (s *Server) openBlobs(ctx context.Context) error {
	config := blob.Config{
		Endpoint: s.config.S3Endpoint, Region: s.config.S3Region, Bucket: s.config.S3Bucket,
		AccessKey: s.config.S3AccessKey, SecretKey: s.config.S3SecretKey, PathStyle: true, Logger: s.log,
	}
	if s.config.S3CAFile != "" {
		trust, err := certs.OpenTrust(s.config.S3CAFile, s.log, time.Now)
		if err != nil {
			return usage("--s3-ca-file: %w", err)
		}
		config.Trusted = trust.Pool
	}
	if s.config.S3Endpoint == "" {
		if err := checkWorkingFolder(); err != nil {
			return err
		}
		opened, err := gateway.Start(ctx, gateway.Config{Dir: s.data.dir, Listen: s.config.S3Listen, TLS: s.listenTLS("--s3-listen", s.config.S3Listen), Region: s.config.S3Region, Logger: s.log})
		if errors.Is(err, gateway.ErrAddressInUse) {
			return usage("--s3-listen: %w", err)
		}
		if err != nil {
			return err
		}
		s.gateway = opened
		keys := opened.Credentials()
		config.Endpoint, config.Region = opened.Endpoint(), opened.Region()
		config.AccessKey, config.SecretKey = keys.AccessKey, keys.SecretKey
	}
	opened, err := blob.Open(ctx, config)
	if err != nil {
		if s.config.S3Endpoint != "" {
			return fmt.Errorf("--s3-endpoint: %w", err)
		}
		return err
	}
	s.blobs = opened
	return nil
}

// serviceBlobs is the blob store as web/service wants it: with its errors and types.
type serviceBlobs struct{ store *blob.Store }

var _ service.Blobs = serviceBlobs{}

// PutBinary stores an upload.
func (b serviceBlobs) PutBinary(ctx context.Context, r io.Reader, bounds service.UploadBounds) (service.Uploaded, error) {
	info, err := b.store.PutBinary(ctx, r, blob.PutOptions{MaxSize: bounds.MaxSize, SHA256: bounds.SHA256})
	if err != nil {
		return service.Uploaded{}, uploadError(err)
	}
	uploaded := service.Uploaded{SHA256: info.SHA256, Size: info.Size, Kind: string(info.Kind), Arch: info.Arch, Problem: info.Problem}
	if reason, foreign := blob.Foreign(info.Kind, info.Arch, runtime.GOOS, runtime.GOARCH); foreign {
		uploaded.Foreign = reason
	}
	return uploaded, nil
}

func uploadError(err error) error {
	var large *blob.TooLargeError
	var digest *blob.DigestError
	switch {
	case errors.Is(err, blob.ErrEmpty):
		return fmt.Errorf("%w: %w", service.ErrEmpty, err)
	case errors.As(err, &large):
		return &service.TooLargeError{Limit: large.Limit}
	case errors.As(err, &digest):
		return &service.DigestError{Want: digest.Want, Got: digest.Got}
	case strings.Contains(err.Error(), "StatusCode: 507"), errors.Is(err, syscall.ENOSPC):
		return diskFull(err)
	case errors.Is(err, blob.ErrUnreachable):
		return &service.Error{Kind: service.KindUnavailable, Code: "unavailable", Detail: "S3 does not answer: try again", Err: err}
	}
	return err
}

// GetBinary opens the bytes of a digest.
func (b serviceBlobs) GetBinary(ctx context.Context, digest string) (io.ReadCloser, int64, error) {
	content, size, err := b.store.GetBinary(ctx, digest)
	if err != nil {
		return nil, 0, notFound(err)
	}
	return compared{content}, size, nil
}

// compared says in the service's words that bytes are not those of their digest.
type compared struct{ io.ReadCloser }

func (p compared) Read(buffer []byte) (int, error) {
	n, err := p.ReadCloser.Read(buffer)
	var wrong *blob.DigestError
	if errors.As(err, &wrong) {
		err = &service.DigestError{Want: wrong.Want, Got: wrong.Got}
	}
	return n, err
}

// HasBinary reports whether a digest is stored.
func (b serviceBlobs) HasBinary(ctx context.Context, digest string) (bool, error) {
	return b.store.HasBinary(ctx, digest)
}

// OpenLog opens the stored output of an attempt.
func (b serviceBlobs) OpenLog(ctx context.Context, run string, attempt int) (service.StoredLog, error) {
	opened, err := b.store.OpenLog(ctx, run, attempt)
	if err != nil {
		return nil, notFound(err)
	}
	return storedLog{opened}, nil
}

// OpenArtifact opens a file that a run has left.
func (b serviceBlobs) OpenArtifact(ctx context.Context, a *service.StoredArtifact, offset, length int64) (content io.ReadCloser, err error) {
	if length < 0 {
		content, err = b.store.GetArtifact(ctx, a.Run, a.Attempt, a.Name, a.SHA256)
	} else {
		content, err = b.store.GetArtifactRange(ctx, a.Run, a.Attempt, a.Name, offset, length)
	}
	if err != nil {
		return nil, notFound(err)
	}
	return content, nil
}

// Ping reports whether S3 answers.
func (b serviceBlobs) Ping(ctx context.Context) error { return b.store.Ping(ctx) }

type storedLog struct{ *blob.LogReader }

// ReadLines returns lines in the service's type.
func (l storedLog) ReadLines(ctx context.Context, from, count int64) ([]service.LogLine, error) {
	lines, err := l.LogReader.ReadLines(ctx, from, count)
	if err != nil {
		return nil, err
	}
	converted := make([]service.LogLine, len(lines))
	for i, line := range lines {
		converted[i] = service.LogLine{Number: line.Number, Offset: line.Offset, Text: line.Text, Truncated: line.Truncated}
	}
	return converted, nil
}

// executorBlobs is the blob store as the executor wants it.
type executorBlobs struct{ store *blob.Store }

var _ executor.Blobs = executorBlobs{}

// GetBinary opens the bytes of a digest.
func (b executorBlobs) GetBinary(ctx context.Context, digest string) (io.ReadCloser, int64, error) {
	content, size, err := b.store.GetBinary(ctx, digest)
	if err != nil {
		return nil, 0, notFound(err)
	}
	return verified{content}, size, nil
}

// verified says in the executor's words that bytes are not those of their digest.
type verified struct{ io.ReadCloser }

func (p verified) Read(buffer []byte) (int, error) {
	n, err := p.ReadCloser.Read(buffer)
	var wrong *blob.DigestError
	if errors.As(err, &wrong) {
		err = &cache.DigestError{Want: wrong.Want, Got: wrong.Got}
	}
	return n, err
}

// NewLogWriter begins the output of an attempt.
func (b executorBlobs) NewLogWriter(ctx context.Context, run string, attempt int) (executor.LogWriter, error) {
	writer, err := b.store.NewLogWriter(ctx, run, attempt)
	if err != nil {
		return nil, err
	}
	return logWriter{writer}, nil
}

// PutArtifact stores a file that an attempt has left.
func (b executorBlobs) PutArtifact(ctx context.Context, run string, attempt int, name string, content *io.SectionReader) (string, error) {
	return b.store.PutArtifact(ctx, run, attempt, name, content)
}

// GetArtifact opens such a file.
func (b executorBlobs) GetArtifact(ctx context.Context, run string, attempt int, name, digest string) (io.ReadCloser, error) {
	content, err := b.store.GetArtifact(ctx, run, attempt, name, digest)
	if err != nil {
		return nil, notFound(err)
	}
	return verified{content}, nil
}

type logWriter struct{ *blob.LogWriter }

// Close stores the rest.
func (w logWriter) Close() (executor.LogInfo, error) {
	info, err := w.LogWriter.Close()
	return executor.LogInfo{Size: info.Size, Lines: info.Lines, Chunks: info.Chunks}, err
}

// notFound puts the blob store's answer into the words of the engine.
func notFound(err error) error {
	if errors.Is(err, blob.ErrNotFound) {
		return fmt.Errorf("%w: %w", engine.ErrNotFound, err)
	}
	return err
}
