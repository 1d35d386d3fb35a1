package trigger

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	// MostObjects is how many objects may be under the prefix of a definition: what was dealt with is to be moved or deleted.
	MostObjects = 10_000
	// inboxEvery is how often a bucket is listed.
	inboxEvery = 5 * time.Second
)

// Object is an object of S3.
type Object struct {
	Bucket   string    `json:"bucket"`
	Key      string    `json:"key"`
	Size     int64     `json:"size"` // in bytes
	ETag     string    `json:"etag"`
	Modified time.Time `json:"modified_at"`
}

// mark stands for an object and what is in it: one that is written again is another one.
func (o *Object) mark() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", o.Bucket, o.Key, o.ETag, o.Modified.UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Buckets lists objects.
type Buckets interface {
	// Objects returns at most limit objects of a bucket whose keys begin with a prefix, in the order of their keys.
	Objects(ctx context.Context, bucket, prefix string, limit int) ([]Object, error)
}

// inbox is the data of a record of kindInbox.
type inbox struct {
	Bucket string    `json:"bucket"`
	Prefix string    `json:"prefix"`
	At     time.Time `json:"at"`    // when it was saved last
	Since  time.Time `json:"since"` // when it was first saved with these
	// Seen are the marks of the objects that were there when it was listed last; nil before the first time.
	Seen []string `json:"seen"`
}

// Watch writes down which objects a definition is about to wait for. The caller must call it before it saves such a definition. Objects
// that are there already when they are listed first, and are older than the definition, start nothing. again says that the definition
// waits for the same ones already; otherwise it restarts, whatever was seen for an earlier version of it.
func (b *Book) Watch(ctx context.Context, namespace, definition, bucket, prefix string, again bool) error {
	var data inbox
	return b.update(ctx, kindInbox, name(namespace, definition), &data, func() {
		now := b.now().UTC()
		if !again || data.Bucket != bucket || data.Prefix != prefix {
			data = inbox{Bucket: bucket, Prefix: prefix, Since: now}
		}
		data.At = now
	})
}

// forget removes a record of a definition that has no such trigger, unless it was written so late that the definition may be about to be
// saved.
func (b *Book) forget(ctx context.Context, record *engine.Record, at time.Time) error {
	if b.now().Sub(at) < unused {
		return nil
	}
	err := b.records.DeleteRecord(ctx, record.Kind, record.Key, record.Revision)
	if errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	return err
}

// Inboxes starts what waits for objects.
type Inboxes struct {
	book    *Book
	buckets Buckets
	service Service
	log     *slog.Logger
	refused map[string]string // why inboxes could not be read, by the keys of their records
}

// NewInboxes watches what a book knows.
func NewInboxes(book *Book, buckets Buckets, service Service, log *slog.Logger) *Inboxes {
	return &Inboxes{book, buckets, service, log, map[string]string{}}
}

// refuse records once why an inbox starts nothing, or not all; "" where it does.
func (w *Inboxes) refuse(ctx context.Context, key, reason string) error {
	if w.refused[key] == reason {
		return nil
	}
	if reason != "" {
		namespace, definition, _ := strings.Cut(key, "/")
		if err := w.service.Refuse(ctx, namespace, definition, Event{Source: Objects}, reason); err != nil {
			return err
		}
	}
	w.refused[key] = reason
	return nil
}

// Run looks every five seconds while mine reports true, until ctx ends. One engine is enough; where two look, each object starts one run.
func (w *Inboxes) Run(ctx context.Context, mine func() bool) error {
	ticker := time.NewTicker(inboxEvery)
	defer ticker.Stop()
	for {
		if mine() {
			if err := w.Look(ctx); err != nil && ctx.Err() == nil {
				w.log.Warn("looking for new objects failed; trying again", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Look lists the objects that definitions wait for once, and starts what is to be started.
func (w *Inboxes) Look(ctx context.Context) error {
	var errs []error
	err := w.book.each(ctx, kindInbox, func(record *engine.Record) error {
		if err := w.look(ctx, record.Key); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", record.Key, err))
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}

func (w *Inboxes) look(ctx context.Context, key string) error {
	namespace, definition, _ := strings.Cut(key, "/")
	of, err := w.service.Triggered(ctx, namespace, definition)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	// It is read after the definition, so that it is not of an earlier version of it: see Watch.
	record, missing := w.book.records.Record(ctx, kindInbox, key)
	if errors.Is(missing, engine.ErrNotFound) {
		return nil
	}
	if missing != nil {
		return missing
	}
	var data inbox
	if err := json.Unmarshal(record.Data, &data); err != nil {
		return err
	}
	switch {
	case err != nil || of.Triggers == nil || of.Triggers.Objects == nil:
		return w.book.forget(ctx, &record, data.At)
	case of.Triggers.Objects.Bucket != data.Bucket || of.Triggers.Objects.Prefix != data.Prefix:
		return nil // it is about to be saved
	}
	objects, err := w.buckets.Objects(ctx, data.Bucket, data.Prefix, MostObjects+1)
	if err != nil {
		return errors.Join(err, w.refuse(ctx, key, err.Error()))
	}
	reason := ""
	if len(objects) > MostObjects {
		objects = objects[:MostObjects]
		reason = fmt.Sprintf("there are more than %d objects: move or delete those that were dealt with; until then those whose keys come last start nothing", MostObjects)
	}
	if err := w.refuse(ctx, key, reason); err != nil {
		return err
	}
	seen, changed := w.start(ctx, namespace, definition, &data, objects)
	if !changed {
		return nil
	}
	data.Seen = seen
	err = w.book.write(ctx, record, &data)
	if errors.Is(err, engine.ErrConflict) {
		return nil // another engine looked as well, or the definition was changed: what was started is not started again
	}
	return err
}

// start starts a run for each object that was not there before, the oldest first. It returns the marks of those that are dealt with, in
// order, and whether they differ from those of before.
func (w *Inboxes) start(ctx context.Context, namespace, definition string, data *inbox, objects []Object) (seen []string, changed bool) {
	known := make(map[string]bool, len(data.Seen))
	for _, mark := range data.Seen {
		known[mark] = true
	}
	slices.SortStableFunc(objects, func(a, b Object) int { return a.Modified.Compare(b.Modified) })
	seen = []string{}
	for i := range objects {
		object := &objects[i]
		mark := object.mark()
		old := data.Seen == nil && object.Modified.Before(data.Since.Truncate(time.Second))
		if !known[mark] && !old {
			payload, err := json.Marshal(struct {
				Event Source `json:"event"`
				*Object
			}{Objects, object})
			if err == nil {
				err = w.service.Start(ctx, namespace, definition, Event{Source: Objects, ID: mark, By: "object " + object.Key, Payload: payload})
			}
			if err != nil {
				w.log.Warn("an object starts nothing yet; trying again", "namespace", namespace, "definition", definition, "key", object.Key, "error", err)
				continue
			}
		}
		seen = append(seen, mark)
	}
	slices.Sort(seen)
	return seen, data.Seen == nil || !slices.Equal(seen, data.Seen)
}
