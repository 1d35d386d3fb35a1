package service

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Blobs holds the bytes of binaries, big outputs and artifacts.
type Blobs interface {
	// PutBinary stores what r yields, once per content, and leaves nothing behind when it fails: *TooLargeError,
	// ErrEmpty, *DigestError, or a fault of the store.
	PutBinary(ctx context.Context, r io.Reader, bounds UploadBounds) (Uploaded, error)
	// GetBinary opens the bytes with this sha256 (hex); the caller closes them.
	GetBinary(ctx context.Context, digest string) (content io.ReadCloser, size int64, err error)
	HasBinary(ctx context.Context, digest string) (bool, error)
	// OpenLog opens the stored output of an attempt; engine.ErrNotFound where there is none.
	OpenLog(ctx context.Context, run string, attempt int) (StoredLog, error)
	// OpenArtifact opens length bytes of an artifact from an offset; engine.ErrNotFound where there is none. A negative
	// length is all of it, and then reading fails with a *DigestError where its bytes do not have its digest.
	OpenArtifact(ctx context.Context, artifact *StoredArtifact, offset, length int64) (io.ReadCloser, error)
	Ping(ctx context.Context) error
}

// UploadBounds is what an upload must keep to.
type UploadBounds struct {
	MaxSize int64  // bytes
	SHA256  string // hex; empty: not known beforehand
}

// Uploaded describes stored bytes.
type Uploaded struct {
	SHA256 string // hex
	Size   int64  // bytes
	Kind   string // elf, script, jar, macho, pe, unknown
	Arch   string // in Go's words; empty where the kind has none
	// Problem says in words why the program will start nowhere; Foreign why it will not start on this platform.
	Problem string
	Foreign string
}

// KindUnknown is the kind of a program that needs a stated interpreter.
const KindUnknown = "unknown"

// StoredLog reads output that lies in chunks. It is a view of one moment, for one goroutine.
type StoredLog interface {
	Size() int64
	Lines() int64
	// Marks are of engine.EncodeOutputMarks, of an output that may still grow.
	Marks() []byte
	// ReadAt reads as io.ReaderAt does.
	ReadAt(ctx context.Context, p []byte, offset int64) (int, error)
	CopyTo(ctx context.Context, w io.Writer, offset int64) (int64, error)
	// ReadLines returns at most count lines from a line number on; lines count from 0.
	ReadLines(ctx context.Context, from, count int64) ([]LogLine, error)
}

// LogLine is one line of output, without its newline.
type LogLine struct {
	Number    int64 // from 0
	Offset    int64 // of its first byte
	Text      []byte
	Truncated bool // the line is longer than what is shown
}

// ErrEmpty means that an upload held no byte.
var ErrEmpty = errors.New("the upload is empty")

// TooLargeError reports that an upload is larger than allowed.
type TooLargeError struct{ Limit int64 } // bytes

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the upload is larger than the limit of %d bytes", e.Limit)
}

// DigestError reports that bytes do not have the sha256 they should have.
type DigestError struct{ Want, Got string } // hex

func (e *DigestError) Error() string {
	return fmt.Sprintf("the content has sha256 %s, expected %s", e.Got, e.Want)
}
