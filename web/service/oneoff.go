package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// OneOff asks to run a program once.
type OneOff struct {
	By      string
	Binary  string          // name, name@version, name@alias or sha256:…
	At      time.Time       // zero: now
	Payload json.RawMessage // any JSON value, or nil
	Retries int
	Key     string // idempotency key: the same key is the same job; "" draws one
}

// CreateOneOff defines a job with a single slot, which is removed some time after it has run, and returns the run that
// it will have. Asked twice with one key while the job is kept it returns the first job, with existed true; asked with it
// for something else of the same program it refuses.
func (s *Service) CreateOneOff(ctx context.Context, namespace string, ask OneOff) (job engine.Job, run string, existed bool, err error) {
	key := ask.Key
	if key == "" {
		key = NewUID()
	}
	name := oneOffName(ask.Binary, key)
	if ask.Key != "" {
		if job, run, err := s.oneOff(ctx, namespace, name, &ask); !missing(err) {
			return job, run, err == nil, err
		}
	}
	at := ask.At
	if at.IsZero() {
		at = s.now()
	}
	at = at.UTC().Truncate(time.Millisecond)
	definition := &spec.Job{Name: name, Binary: ask.Binary, Payload: ask.Payload, At: &at, Retry: spec.Retry{MaxAttempts: ask.Retries + 1}}
	definition.ApplyDefaults()
	if ask.At.IsZero() {
		if err := s.hasRoom(ctx, definition.Tier); err != nil {
			return engine.Job{}, "", false, err
		}
	}
	if err := s.maySubmit(ctx, namespace, waitsNow(ask.At.IsZero())); err != nil {
		return engine.Job{}, "", false, err
	}
	job, change, err := s.Jobs.Save(ctx, namespace, definition, Save{By: ask.By, Create: true, OneOff: true})
	var known *Error
	if errors.As(err, &known) && known.Kind == KindExists { // the same request came twice at a time
		job, run, err := s.oneOff(ctx, namespace, name, &ask)
		return job, run, err == nil, err
	}
	if err != nil {
		return engine.Job{}, "", false, oneOffWords(err)
	}
	return job, engine.SlotRunID(job.UID, at), change == Unchanged, nil
}

// oneOff returns a one-off job that exists already. Its name holds its binary and its key. The rest of the request is in
// its first version, whatever users have changed since.
func (s *Service) oneOff(ctx context.Context, namespace, name string, ask *OneOff) (job engine.Job, run string, err error) {
	job, err = s.Jobs.Get(ctx, namespace, name)
	if err != nil {
		return engine.Job{}, "", err
	}
	forms, err := s.store.Jobs().Generations(ctx, job.UID, 2, 1)
	if err != nil {
		return engine.Job{}, "", fmt.Errorf("read the first form of job %s: %w", name, err)
	}
	if len(forms) == 1 {
		if part := ask.differs(&forms[0].Spec, job.CreatedAt); part != "" {
			return engine.Job{}, "", keyReused("job "+name, part)
		}
	}
	if job.Spec.At == nil {
		return engine.Job{}, "", conflict("key_reused", "the job %q of this Idempotency-Key has been edited and is none that runs once: take a new key", name)
	}
	return job, engine.SlotRunID(job.UID, *job.Spec.At), nil
}

func missing(err error) bool {
	var known *Error
	return errors.As(err, &known) && known.Kind == KindNotFound
}

// oneOffName makes a name that tells the program and is the same for the same key.
func oneOffName(binary, key string) string {
	sum := sha256.Sum256([]byte(binary + "\n" + key))
	suffix := "-" + hex.EncodeToString(sum[:8])
	readable := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '-'
	}, strings.ToValidUTF8(binary, "-"))
	readable = strings.TrimLeft(readable, "-_")
	if readable == "" {
		readable = "once"
	}
	return readable[:min(len(readable), spec.MaxNameLength-len(suffix))] + suffix
}

// oneOffWords puts the fields of a definition into the words of the one-call form.
func oneOffWords(err error) error {
	var known *Error
	if !errors.As(err, &known) {
		return err
	}
	refused := *known
	refused.Fields = make([]Field, len(known.Fields))
	for i, fault := range known.Fields {
		switch fault.Location {
		case "body.binary":
			fault.Location = "body.job_type"
		case "body.at":
			fault.Location = "body.schedule_time"
		case "body.retry.max_attempts":
			fault.Location = "body.retries"
		}
		refused.Fields[i] = fault
	}
	return &refused
}
