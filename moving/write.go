package moving

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/tidewheel/tidewheel/engine"
)

// Contents is what goes into a backup.
type Contents struct {
	Header    Header // Format is filled in
	Documents Source
	Objects   Objects           // nil: none
	Keys      map[string][]byte // secrets of the data folder, by the names of their files
	// NoSecrets leaves out the keys that nodes share.
	NoSecrets bool
	// Watch reads the documents once more in the end, and returns ErrChanged if they are others then: for a source that does
	// not give them all of one moment.
	Watch bool
}

// mostWarnings bounds what a manifest says; one more says that there are others.
const mostWarnings = 100

// writer writes a backup.
type writer struct {
	archive  *tar.Writer
	sums     sums
	warnings []string
	digests  map[string]struct{} // of programs that have been met
	tallies  Tallies             // of the documents written
	at       time.Time
	progress Progress
}

// Write writes a backup. What it returned without an error for is whole. Documents are of one moment where their source
// returns that; objects are read after them, so that what documents name is there.
func Write(ctx context.Context, to io.Writer, contents Contents, progress Progress) (*Manifest, error) {
	compressed, err := zstd.NewWriter(to, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(2))
	if err != nil {
		return nil, fmt.Errorf("compress the backup: %w", err)
	}
	header := contents.Header
	header.Format = format
	w := &writer{archive: tar.NewWriter(compressed), digests: map[string]struct{}{}, tallies: Tallies{}, at: header.CreatedAt, progress: progress}
	manifest, err := w.write(ctx, &header, &contents)
	if err != nil {
		_ = compressed.Close() // it ends its goroutines; what was written is of no use
		return nil, err
	}
	if err := errors.Join(w.archive.Close(), compressed.Close()); err != nil {
		return nil, fmt.Errorf("end the backup: %w", err)
	}
	return manifest, nil
}

func (w *writer) write(ctx context.Context, header *Header, contents *Contents) (*Manifest, error) {
	if err := w.json(headerEntry, header); err != nil {
		return nil, err
	}
	wanted := map[string]string{} // digest → whose it is
	err := contents.Documents.View(ctx, func(pages engine.DocumentPages) error {
		for _, of := range engine.Collections() {
			if of == engine.CollectionSharedKeys && contents.NoSecrets {
				continue
			}
			if err := w.collection(ctx, pages, of, wanted); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if contents.Watch {
		if err := w.watch(ctx, contents); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(contents.Keys)) {
		if err := w.entry("keys", keysFolder+name, contents.Keys[name], 1); err != nil {
			return nil, err
		}
	}
	if contents.Objects != nil {
		for _, folder := range Folders() {
			if folder == Logs && !header.Logs {
				continue
			}
			if err := w.folder(ctx, contents.Objects, folder); err != nil {
				return nil, err
			}
		}
		for _, digest := range slices.Sorted(maps.Keys(wanted)) {
			if _, there := w.digests[digest]; !there {
				w.warn("the bytes of %s (sha256 %s) are not stored: what names it cannot run", wanted[digest], digest)
			}
		}
	}
	w.sums.end()
	manifest := &Manifest{Format: format, Sections: w.sums.done, Warnings: w.warnings}
	return manifest, w.json(manifestEntry, manifest)
}

// watch reads everything again, to see whether the source was written to meanwhile.
func (w *writer) watch(ctx context.Context, contents *Contents) error {
	now, err := Count(ctx, contents.Documents, w.progress)
	if err != nil {
		return err
	}
	if contents.NoSecrets {
		delete(now, engine.CollectionSharedKeys)
	}
	if w.tallies.Compare(now) != nil {
		return ErrChanged
	}
	return nil
}

func (w *writer) warn(text string, args ...any) {
	switch n := len(w.warnings); {
	case n < mostWarnings:
		w.warnings = append(w.warnings, fmt.Sprintf(text, args...))
	case n == mostWarnings:
		w.warnings = append(w.warnings, "and there is more of this kind")
	}
}

func (w *writer) json(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := w.begin(name, int64(len(text))+1); err != nil {
		return err
	}
	_, err = w.archive.Write(append(text, '\n'))
	return failedAt(name, err)
}

func (w *writer) begin(name string, size int64) error {
	return failedAt(name, w.archive.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: w.at.Truncate(time.Second), Format: tar.FormatPAX,
	}))
}

func failedAt(name string, err error) error {
	if err != nil {
		return fmt.Errorf("write %s into the backup: %w", name, err)
	}
	return nil
}

// entry writes an entry that is in memory.
func (w *writer) entry(section, name string, content []byte, count int64) error {
	w.sums.begin(section, name)
	if err := w.begin(name, int64(len(content))); err != nil {
		return err
	}
	if _, err := io.MultiWriter(w.archive, &w.sums).Write(content); err != nil {
		return failedAt(name, err)
	}
	w.sums.add(count)
	return nil
}

// collection writes all documents of a collection, some in each part.
func (w *writer) collection(ctx context.Context, pages engine.DocumentPages, of engine.Collection, wanted map[string]string) error {
	var lines bytes.Buffer
	var count, all int64
	part, tally := 0, &Tally{}
	w.tallies[of] = tally
	flush := func() error {
		part++
		name := fmt.Sprintf("%s%s/%06d.jsonl", documentsFolder, of, part)
		err := w.entry(DocumentsSection(of), name, lines.Bytes(), count)
		lines.Reset()
		count = 0
		return err
	}
	err := eachPage(ctx, pages, of, "", func(page []engine.Document, _ string) error {
		for _, document := range page {
			if binary, is := document.(engine.Binary); is {
				for _, version := range binary.Versions {
					wanted[version.SHA256] = fmt.Sprintf("version %d of binary %s", version.N, binary.Key())
				}
			}
			if err := appendLine(&lines, document); err != nil {
				return err
			}
			if err := tally.Add(document); err != nil {
				return err
			}
			count, all = count+1, all+1
			if lines.Len() >= partBytes {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		w.progress.tell("writing "+title(of), all)
		return nil
	})
	if err != nil || count == 0 {
		return err
	}
	return flush()
}

// folder writes all objects of a folder. One that goes while the backup is made is left out.
func (w *writer) folder(ctx context.Context, objects Objects, folder string) error {
	section := objectsFolder + strings.TrimSuffix(folder, "/")
	var done int64
	return objects.Objects(ctx, folder, func(object Object) (err error) {
		content, size, err := objects.OpenObject(ctx, object.Key)
		if errors.Is(err, engine.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		defer content.Close()
		var source io.Reader = content
		if folder == Binaries {
			digest := strings.TrimPrefix(object.Key, folder)
			w.digests[digest] = struct{}{}
			hashed := sha256.New()
			source = io.TeeReader(content, hashed)
			defer func() {
				if got := hex.EncodeToString(hashed.Sum(nil)); got != digest && err == nil {
					w.warn("the program %s is damaged where the backup was made: its bytes have sha256 %s", digest, got)
				}
			}()
		}
		name := objectsFolder + object.Key
		w.sums.begin(section, name)
		if err := w.begin(name, size); err != nil {
			return err
		}
		n, err := io.Copy(io.MultiWriter(w.archive, &w.sums), source)
		if err == nil && n < size {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return failedAt(name, err)
		}
		w.sums.add(1)
		done++
		w.progress.tell("writing "+strings.TrimSuffix(folder, "/"), done)
		return nil
	})
}
