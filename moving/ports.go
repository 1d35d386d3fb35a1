package moving

import (
	"context"
	"fmt"
	"io"

	"github.com/tidewheel/tidewheel/engine"
)

// Source is a store that documents are read from.
type Source interface {
	// View calls read with pages of all documents, each once.
	View(ctx context.Context, read func(engine.DocumentPages) error) error
}

// Store is a store that documents are put into.
type Store interface {
	Source
	// PutDocuments puts documents into their places as they are, over whatever stands there.
	PutDocuments(ctx context.Context, documents []engine.Document) error
	// DropDocuments removes a whole collection.
	DropDocuments(ctx context.Context, of engine.Collection) error
}

// Objects is a bucket.
type Objects interface {
	// Objects calls each with every object of a folder, the index of a log before its chunks.
	Objects(ctx context.Context, folder string, each func(Object) error) error
	// OpenObject opens an object; engine.ErrNotFound if there is none. The caller closes it.
	OpenObject(ctx context.Context, key string) (content io.ReadCloser, size int64, err error)
	// PutObject stores size bytes under a key, over what stands there, whole or not at all.
	PutObject(ctx context.Context, key string, content io.Reader, size int64) error
}

// Object is something that a bucket holds.
type Object struct {
	Key  string // begins with its folder
	Size int64  // bytes
}

// The folders of a bucket.
const (
	Binaries  = "binaries/" // by their sha256, in hex
	Logs      = "logs/"
	Artifacts = "artifacts/"
)

// pageSize is how many documents are moved at one time.
const pageSize = 500

// Folders lists them, in the order in which they are moved.
func Folders() []string { return []string{Binaries, Logs, Artifacts} }

// Progress receives what is being done, and how many documents or objects are done.
type Progress func(doing string, done int64)

func (p Progress) tell(doing string, done int64) {
	if p != nil {
		p(doing, done)
	}
}

// eachPage calls do for all pages of a collection, beginning after a place, with the place that follows each.
func eachPage(ctx context.Context, pages engine.DocumentPages, of engine.Collection, from string, do func(page []engine.Document, next string) error) error {
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		page, next, err := pages(of, from, pageSize)
		if err != nil {
			return err
		}
		if err := do(page, next); err != nil {
			return err
		}
		if next == "" {
			return nil
		}
		from = next
	}
}

// Empty reports whether a store holds no documents. Keys that nodes share do not count: a server that was started once
// has made them.
func Empty(ctx context.Context, store Source) (bool, error) {
	empty := true
	err := store.View(ctx, func(pages engine.DocumentPages) error {
		for _, of := range engine.Collections() {
			if of == engine.CollectionSharedKeys {
				continue
			}
			page, next, err := pages(of, "", 1)
			for err == nil && len(page) == 0 && next != "" { // a page may be empty and not the last
				page, next, err = pages(of, next, 1)
			}
			if err != nil {
				return fmt.Errorf("look whether there are %s: %w", of, err)
			}
			if len(page) > 0 {
				empty = false
				return nil
			}
		}
		return nil
	})
	return empty, err
}
