package moving

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/tidewheel/tidewheel/engine"
)

// handler takes what stands in a backup.
type handler struct {
	header    func(*Header) error
	documents func(of engine.Collection, documents []engine.Document) error
	key       func(name string, content []byte) error
	object    func(key string, content io.Reader, size int64) error
}

// Verify reads a backup to its end, and reports what is in it. Its errors are ErrNotBackup, ErrCutOff, *NewerError and
// *DamagedError, and those of reading.
func Verify(ctx context.Context, from io.Reader, progress Progress) (*Header, *Manifest, error) {
	var header *Header
	var done int64
	counted := func(n int64) error {
		done += n
		progress.tell("verifying the backup", done)
		return nil
	}
	manifest, err := walk(ctx, from, &handler{
		header:    func(h *Header) error { header = h; return nil },
		documents: func(_ engine.Collection, documents []engine.Document) error { return counted(int64(len(documents))) },
		key:       func(string, []byte) error { return nil },
		object: func(_ string, content io.Reader, _ int64) error {
			_, err := io.Copy(io.Discard, content)
			return errors.Join(err, counted(1))
		},
	})
	return header, manifest, err
}

// walk reads a backup from its beginning to its end, and holds it to its manifest.
func walk(ctx context.Context, from io.Reader, handle *handler) (*Manifest, error) {
	buffered := bufio.NewReaderSize(from, 1<<20)
	if _, err := buffered.Peek(1); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: it is empty", ErrNotBackup)
	}
	plain, err := zstd.NewReader(&interruptible{ctx, buffered}, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return nil, fmt.Errorf("read the backup: %w", err)
	}
	defer plain.Close()
	r := &reader{archive: tar.NewReader(plain), handle: handle}
	first, err := r.archive.Next()
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		if _, end := plain.Read(make([]byte, 1)); errors.Is(end, io.ErrUnexpectedEOF) { // the decoder's, not the archive's
			return nil, ErrCutOff
		}
		return nil, ErrNotBackup
	case first.Name != headerEntry:
		return nil, ErrNotBackup
	}
	manifest, err := r.read()
	switch {
	case err == nil:
		return manifest, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return nil, ErrCutOff
	case errors.Is(err, zstd.ErrCRCMismatch), errors.Is(err, zstd.ErrMagicMismatch), errors.Is(err, zstd.ErrWindowSizeExceeded),
		errors.Is(err, zstd.ErrReservedBlockType), errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, tar.ErrHeader):
		return nil, &DamagedError{err.Error()}
	}
	return nil, err
}

// interruptible ends with its context: the decoder reads ahead without checking the context.
type interruptible struct {
	ctx    context.Context
	reader io.Reader
}

// Read implements io.Reader.
func (i *interruptible) Read(p []byte) (int, error) {
	if err := context.Cause(i.ctx); err != nil {
		return 0, err
	}
	return i.reader.Read(p)
}

type reader struct {
	archive *tar.Reader
	handle  *handler
	sums    sums
}

// read continues after the name of the first entry.
func (r *reader) read() (*Manifest, error) {
	var header Header
	if err := r.json(&header); err != nil {
		return nil, err
	}
	if header.Format > format {
		return nil, &NewerError{Format: header.Format, Tidewheel: header.Tidewheel}
	}
	if err := r.handle.header(&header); err != nil {
		return nil, err
	}
	for {
		entry, err := r.archive.Next()
		if err != nil { // a backup ends with its manifest
			return nil, damaged(err)
		}
		if entry.Name == manifestEntry {
			break
		}
		if err := r.entry(entry.Name, entry.Size); err != nil {
			return nil, err
		}
	}
	var manifest Manifest
	if err := r.json(&manifest); err != nil {
		return nil, err
	}
	if _, err := r.archive.Next(); !errors.Is(err, io.EOF) {
		if err == nil {
			return nil, &DamagedError{"it has more data after its end"}
		}
		return nil, damaged(err)
	}
	r.sums.end()
	return &manifest, compareSections(manifest.Sections, r.sums.done)
}

// damaged marks an error in the contents of a backup, as opposed to one of reading it.
func damaged(err error) error { return fmt.Errorf("read the backup: %w", err) }

func compareSections(want, got []Section) error {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			return &DamagedError{got[i].Name + " is not in its manifest"}
		case i >= len(got):
			return &DamagedError{want[i].Name + " is missing"}
		case want[i] != got[i]:
			return &DamagedError{want[i].Name + " is not what the manifest says"}
		}
	}
	return nil
}

func (r *reader) json(to any) error {
	text, err := r.small()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return &DamagedError{err.Error()}
	}
	return nil
}

// small reads an entry into memory.
func (r *reader) small() ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r.archive, largestSmall+1))
	if err != nil {
		return nil, damaged(err)
	}
	if len(text) > largestSmall {
		return nil, &DamagedError{"an entry is larger than it can be"}
	}
	return text, nil
}

func (r *reader) entry(name string, size int64) error {
	section := sectionOf(name)
	if section == "" {
		return &DamagedError{fmt.Sprintf("%q does not belong there", name)}
	}
	r.sums.begin(section, name)
	content := io.TeeReader(r.archive, &r.sums)
	switch {
	case section == "keys":
		text, err := r.small()
		if err != nil {
			return err
		}
		_, _ = r.sums.Write(text) // into memory
		r.sums.add(1)
		return r.handle.key(strings.TrimPrefix(name, keysFolder), text)
	case strings.HasPrefix(section, objectsFolder):
		if err := r.handle.object(strings.TrimPrefix(name, objectsFolder), content, size); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, content); err != nil { // what the handler left
			return damaged(err)
		}
		r.sums.add(1)
		return nil
	}
	return r.documents(engine.Collection(strings.TrimPrefix(section, documentsFolder)), name, content, size)
}

// documents reads a part of a collection, and hands it on by pages.
func (r *reader) documents(of engine.Collection, name string, content io.Reader, size int64) error {
	parse := parsers[of]
	if parse == nil {
		return &DamagedError{fmt.Sprintf("%q is no collection that this version knows", of)}
	}
	if size > largestPart {
		return &DamagedError{name + " is larger than it can be"}
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return damaged(err)
	}
	var page []engine.Document
	var count int64
	for line := range bytes.Lines(text) {
		document, err := parse(line)
		if err != nil {
			return &DamagedError{fmt.Sprintf("%s: line %d: %v", name, count+1, err)}
		}
		count++
		if page = append(page, document); len(page) == pageSize {
			if err := r.handle.documents(of, page); err != nil {
				return err
			}
			page = page[:0]
		}
	}
	r.sums.add(count)
	if len(page) == 0 {
		return nil
	}
	return r.handle.documents(of, page)
}
