package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mailru/easyjson"
	"github.com/mailru/easyjson/buffer"
	"github.com/mailru/easyjson/jlexer"
	"github.com/mailru/easyjson/jwriter"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
)

// Tasks, results and lock holders travel as JSON. encoding/json took a fifth of all that the queue does for a run, so
// that these are written and read by generated code (ADR 42). An unknown field is skipped: a node of a later version may
// have written it.

var errPiece = errors.New("it has a value that JSON cannot hold")

// encodeTask appends a task to b.
func encodeTask(b []byte, t *engine.Task) ([]byte, error) {
	if !isTask(t) {
		return nil, fmt.Errorf("encode task: %w", errPiece)
	}
	b, err := encode(b, (*taskMessage)(t))
	return b, wrap("encode task", err)
}

// encodeResult appends a result to b.
func encodeResult(b []byte, r *engine.Result) ([]byte, error) {
	if !isResult(r) {
		return nil, fmt.Errorf("encode result: %w", errPiece)
	}
	b, err := encode(b, (*resultMessage)(r))
	return b, wrap("encode result", err)
}

// encodeHolder appends the holder of a lock to b.
func encodeHolder(b []byte, h executor.LockHolder) ([]byte, error) {
	b, err := encode(b, (*holderMessage)(&h))
	return b, wrap("encode holder", err)
}

func encode(b []byte, message easyjson.Marshaler) ([]byte, error) {
	w := jwriter.Writer{Buffer: buffer.Buffer{Buf: b}}
	message.MarshalEasyJSON(&w)
	return w.BuildBytes()
}

// isTask and isResult report whether JSON can hold all fields. The generated code does not check: it writes NaN, reads 01, and
// accepts times that it cannot write again.

func isTask(t *engine.Task) bool {
	for i := range t.Inputs {
		if !isJSON(t.Inputs[i].Outputs) {
			return false
		}
	}
	return isJSON(t.Payload) && isJSON(t.ItemValue) && isNumber(t.Limits.CPU) && isTime(t.Slot) && isTime(t.QueuedAt)
}

func isResult(r *engine.Result) bool {
	if f := r.Finish; f != nil && !(isJSON(f.Outputs) && isTime(f.FetchedAt) && isTime(f.StartedAt) && isTime(f.FinishedAt)) {
		return false
	}
	return isTime(r.At) && (r.Progress == nil || isNumber(r.Progress.Fraction))
}

func isJSON(piece json.RawMessage) bool { return len(piece) == 0 || json.Valid(piece) }

func isNumber(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

func isTime(t time.Time) bool {
	_, offset := t.Zone()
	return t.Year() >= 0 && t.Year() <= 9999 && offset > -24*3600 && offset < 24*3600
}

func decodeTask(data []byte) (task engine.Task, err error) {
	if err = decode(data, (*taskMessage)(&task)); err == nil && !isTask(&task) {
		err = errPiece
	}
	return task, err
}

// decodeResult does not set Sequence.
func decodeResult(data []byte) (result engine.Result, err error) {
	if err = decode(data, (*resultMessage)(&result)); err == nil && !isResult(&result) {
		err = errPiece
	}
	return result, err
}

func decodeHolder(data []byte) (holder executor.LockHolder, err error) {
	err = decode(data, (*holderMessage)(&holder))
	return holder, err
}

func decode(data []byte, message easyjson.Unmarshaler) error {
	l := jlexer.Lexer{Data: data}
	message.UnmarshalEasyJSON(&l)
	return l.Error()
}

// readAttempt reads the attempt of a task, which is all that a copy in the way is asked.
func readAttempt(data []byte) (int, error) {
	var task struct {
		Attempt int `json:"attempt"`
	}
	if err := json.Unmarshal(data, &task); err != nil {
		return 0, fmt.Errorf("read task: %w", err)
	}
	return task.Attempt, nil
}
