package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// An idempotency key stands for one request. What the first one asked for is read from what it made, so that nothing
// else is stored: a request with its key that asks for something else is refused, as the IETF's draft on the
// Idempotency-Key header demands (draft-ietf-httpapi-idempotency-key-header, section 2.7).

// keyReused refuses a request with another's key; part is what they differ in.
func keyReused(made, part string) error {
	message := fmt.Sprintf("this Idempotency-Key belongs to another request, which made %s with another %s: take a new key, or send the same request again", made, part)
	return &Error{Kind: KindInvalid, Code: "key_reused", Detail: message, Fields: []Field{{Location: "header.Idempotency-Key", Message: message}}}
}

// differs names what start asks for in another way than the request that made the run, "" if nothing.
func (s *Start) differs(run *engine.Run) string {
	switch {
	case !sameJSON(s.Payload, run.Payload):
		return "payload"
	case !maps.Equal(s.Args, run.Args):
		return "args"
	case s.atDiffers(run.CreatedAt, run.NotBefore):
		return "at"
	}
	return ""
}

// atDiffers reports whether start asks for another time than the request that made a run or wave.
func (s *Start) atDiffers(created, notBefore time.Time) bool {
	if notBefore.IsZero() {
		return s.At.After(created)
	}
	return !sameMillisecond(s.At, notBefore)
}

// differs names what o asks for in another way than the request that made a job at an instant, "" if nothing.
func (o *OneOff) differs(made *spec.Job, createdAt time.Time) string {
	switch {
	case !sameJSON(o.Payload, made.Payload):
		return "payload"
	case o.Retries+1 != made.Retry.MaxAttempts:
		return "retries"
	case made.At == nil:
	case o.At.IsZero() && made.At.After(createdAt), !o.At.IsZero() && !sameMillisecond(o.At, *made.At):
		return "schedule_time"
	}
	return ""
}

func sameMillisecond(a, b time.Time) bool {
	return a.Truncate(time.Millisecond).Equal(b.Truncate(time.Millisecond))
}

// sameJSON reports whether two payloads mean the same, whatever their blanks and the order of their keys.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	first, err := meaning(a)
	if err != nil {
		return false
	}
	second, err := meaning(b)
	return err == nil && reflect.DeepEqual(first, second)
}

func meaning(text json.RawMessage) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // large ones are not rounded
	err = decoder.Decode(&value)
	return value, err
}
