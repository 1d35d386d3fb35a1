package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// mostSubjects is how many earlier subjects of a definition are remembered.
const mostSubjects = 20

// listening is the data of a record of kindListener: the subjects that the definition has, or has had. The definition itself is the truth.
type listening struct {
	At       time.Time `json:"at"` // when it was saved last
	Subjects []string  `json:"subjects"`
}

// Listen writes down which messages a definition is about to listen to. The caller must call it before it saves such a definition.
func (b *Book) Listen(ctx context.Context, namespace, definition, subject string) error {
	var data listening
	return b.update(ctx, kindListener, name(namespace, definition), &data, func() {
		if !slices.Contains(data.Subjects, subject) {
			data.Subjects = append(data.Subjects, subject)
			data.Subjects = data.Subjects[max(0, len(data.Subjects)-mostSubjects):]
		}
		data.At = b.now().UTC()
	})
}

// Listener starts what waits for messages. Each message is handed to it until it returns nil.
type Listener struct {
	book    *Book
	service Service
}

// NewListener makes a listener of what a book knows.
func NewListener(book *Book, service Service) *Listener { return &Listener{book, service} }

// Handle starts the jobs and DAGs that a message is for. A message that nothing waits for is dealt with. After an error some may have
// been started; they are not started again.
func (l *Listener) Handle(ctx context.Context, message engine.TriggerMessage) error {
	// The records are read after the message came: whatever was saved before it was published is among them.
	filter := engine.RecordFilter{Kind: kindListener, Prefix: message.Namespace + "/", Limit: page}
	var errs []error
	for {
		records, err := l.book.records.Records(ctx, filter)
		if err != nil {
			return fmt.Errorf("list what waits for messages: %w", err)
		}
		for i := range records {
			if err := l.offer(ctx, &records[i], &message); err != nil {
				errs = append(errs, err)
			}
		}
		if len(records) < page {
			return errors.Join(errs...)
		}
		filter.After = records[len(records)-1].Key
	}
}

// offer starts one definition if it waits for the message.
func (l *Listener) offer(ctx context.Context, record *engine.Record, message *engine.TriggerMessage) error {
	var data listening
	if err := json.Unmarshal(record.Data, &data); err != nil {
		return fmt.Errorf("read %s: %w", record.Key, err)
	}
	takes := func(subject string) bool { return (&spec.MessageTrigger{Subject: subject}).Takes(message.Subject) }
	if !slices.ContainsFunc(data.Subjects, takes) {
		return nil
	}
	namespace, definition, _ := strings.Cut(record.Key, "/")
	of, err := l.service.Triggered(ctx, namespace, definition)
	switch {
	case errors.Is(err, engine.ErrNotFound) || err == nil && (of.Triggers == nil || of.Triggers.Message == nil):
		return l.book.forget(ctx, record, data.At)
	case err != nil:
		return err
	case !of.Triggers.Message.Takes(message.Subject):
		return nil
	}
	event := Event{Source: Message, ID: message.ID, By: "message " + message.Subject, Instead: true}
	if len(message.Data) > 0 {
		if event.Payload = message.Data; !json.Valid(event.Payload) {
			return l.service.Refuse(ctx, namespace, definition, event, "the message to "+message.Subject+" is not JSON, and it is the payload")
		}
	}
	return l.service.Start(ctx, namespace, definition, event)
}
