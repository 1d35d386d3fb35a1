package webtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
)

// Blobs keeps bytes in memory. Programs above 1 MiB are counted and hashed, and not kept.
type Blobs struct {
	// Lose makes reading programs fail.
	Lose bool

	mu    sync.Mutex
	bytes map[string][]byte
	logs  map[string]service.StoredLog
	files map[string]string
	down  error
}

// NewBlobs makes an empty one.
func NewBlobs() *Blobs {
	return &Blobs{bytes: map[string][]byte{}, logs: map[string]service.StoredLog{}, files: map[string]string{}}
}

func fileKey(run string, attempt int, name string) string {
	return run + "/" + strconv.Itoa(attempt) + "/" + name
}

// SetArtifact stores a file that an attempt has left.
func (b *Blobs) SetArtifact(run string, attempt int, name, content string) engine.Artifact {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files[fileKey(run, attempt, name)] = content
	sum := sha256.Sum256([]byte(content))
	return engine.Artifact{Name: name, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

// OpenArtifact implements service.Blobs.
func (b *Blobs) OpenArtifact(_ context.Context, a *service.StoredArtifact, offset, length int64) (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, ok := b.files[fileKey(a.Run, a.Attempt, a.Name)]
	switch {
	case !ok:
		return nil, engine.ErrNotFound
	case length < 0:
		length = int64(len(content))
	}
	return io.NopCloser(io.NewSectionReader(strings.NewReader(content), offset, length)), nil
}

// Script is a program.
func Script(text string) io.Reader { return strings.NewReader("#!/bin/sh\n" + text + "\n") }

// What PutBinary takes for programs that will not run here, by how they begin.
const (
	ForeignProgram = "\x7fELF-foreign"
	BrokenProgram  = "\x7fELF-broken"
)

const keptBytes = 1 << 20

// PutBinary implements service.Blobs.
func (b *Blobs) PutBinary(_ context.Context, r io.Reader, bounds service.UploadBounds) (service.Uploaded, error) {
	hash, kept := sha256.New(), &bytes.Buffer{}
	limited := &io.LimitedReader{R: r, N: bounds.MaxSize + 1}
	if bounds.MaxSize <= 0 {
		limited.N = 1 << 62
	}
	var size int64
	buffer := make([]byte, 64<<10)
	for {
		n, err := limited.Read(buffer)
		_, _ = hash.Write(buffer[:n])
		if kept.Len() < keptBytes {
			_, _ = kept.Write(buffer[:n])
		}
		size += int64(n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return service.Uploaded{}, err
		}
	}
	digest := hex.EncodeToString(hash.Sum(nil))
	switch {
	case size == 0:
		return service.Uploaded{}, service.ErrEmpty
	case bounds.MaxSize > 0 && size > bounds.MaxSize:
		return service.Uploaded{}, &service.TooLargeError{Limit: bounds.MaxSize}
	case bounds.SHA256 != "" && bounds.SHA256 != digest:
		return service.Uploaded{}, &service.DigestError{Want: bounds.SHA256, Got: digest}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes[digest] = kept.Bytes()
	info := service.Uploaded{SHA256: digest, Size: size, Kind: service.KindUnknown}
	switch begin := kept.String(); {
	case strings.HasPrefix(begin, "#!"):
		info.Kind = "script"
	case strings.HasPrefix(begin, ForeignProgram):
		info.Kind, info.Arch, info.Foreign = "elf", "arm64", "the program is built for linux/arm64, and this server runs linux/amd64"
	case strings.HasPrefix(begin, BrokenProgram):
		info.Kind, info.Problem = "elf", "the ELF file is cut off"
	}
	return info, nil
}

// GetBinary implements service.Blobs.
func (b *Blobs) GetBinary(_ context.Context, digest string) (io.ReadCloser, int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.bytes[digest]
	switch {
	case b.Lose:
		return nil, 0, errors.New("webtest: the bytes are lost")
	case !ok:
		return nil, 0, engine.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
}

// HasBinary implements service.Blobs.
func (b *Blobs) HasBinary(_ context.Context, digest string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.bytes[digest]
	return ok, nil
}

// Fail makes Ping answer with an error; nil mends it.
func (b *Blobs) Fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = err
}

// Ping implements service.Blobs.
func (b *Blobs) Ping(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.down
}

// SetLog stores the first attempt's output of a run.
func (b *Blobs) SetLog(run string, log service.StoredLog) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.logs[run] = log
}

// OpenLog implements service.Blobs.
func (b *Blobs) OpenLog(_ context.Context, run string, attempt int) (service.StoredLog, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	log, ok := b.logs[run]
	if !ok || attempt != 1 {
		return nil, engine.ErrNotFound
	}
	return log, nil
}

// TextLog is output that lies in memory.
type TextLog string

// Size implements service.StoredLog.
func (l TextLog) Size() int64 { return int64(len(l)) }

// Lines implements service.StoredLog.
func (l TextLog) Lines() int64 { return lines(string(l)) }

// Marks implements service.StoredLog.
func (l TextLog) Marks() []byte { return nil }

// ReadAt implements service.StoredLog.
func (l TextLog) ReadAt(_ context.Context, p []byte, offset int64) (int, error) {
	return strings.NewReader(string(l)).ReadAt(p, offset)
}

// CopyTo implements service.StoredLog.
func (l TextLog) CopyTo(_ context.Context, w io.Writer, offset int64) (int64, error) {
	n, err := io.WriteString(w, string(l[offset:]))
	return int64(n), err
}

// ReadLines implements service.StoredLog.
func (l TextLog) ReadLines(_ context.Context, from, count int64) ([]service.LogLine, error) {
	var found []service.LogLine
	offset, number := int64(0), int64(0)
	for line := range strings.Lines(string(l)) {
		if number >= from && int64(len(found)) < count {
			found = append(found, service.LogLine{Number: number, Offset: offset, Text: []byte(strings.TrimSuffix(line, "\n"))})
		}
		number, offset = number+1, offset+int64(len(line))
	}
	return found, nil
}

// HugeLog is output of so many bytes, all of them 'x', that lies nowhere.
type HugeLog int64

// Marks implements service.StoredLog.
func (l HugeLog) Marks() []byte { return nil }

// Size implements service.StoredLog.
func (l HugeLog) Size() int64 { return int64(l) }

// Lines implements service.StoredLog.
func (l HugeLog) Lines() int64 { return 1 }

// ReadAt implements service.StoredLog.
func (l HugeLog) ReadAt(_ context.Context, p []byte, offset int64) (int, error) {
	n := int(min(int64(len(p)), int64(l)-offset))
	for i := range p[:n] {
		p[i] = 'x'
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// CopyTo implements service.StoredLog.
func (l HugeLog) CopyTo(_ context.Context, w io.Writer, offset int64) (total int64, err error) {
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	for offset+total < int64(l) {
		n, err := w.Write(chunk[:min(int64(len(chunk)), int64(l)-offset-total)])
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// ReadLines implements service.StoredLog.
func (l HugeLog) ReadLines(context.Context, int64, int64) ([]service.LogLine, error) {
	return []service.LogLine{{Text: []byte("x"), Truncated: true}}, nil
}
