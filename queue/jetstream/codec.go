package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

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

var errPiece = errors.New("a piece of it is no JSON")

// encodeTask appends a task to b.
func encodeTask(b []byte, t *engine.Task) ([]byte, error) {
	if !isJSON(t.Payload) || !isJSON(t.ItemValue) || !isNumber(t.Limits.CPU) {
		return nil, fmt.Errorf("encode task: %w", errPiece)
	}
	for i := range t.Inputs {
		if !isJSON(t.Inputs[i].Outputs) {
			return nil, fmt.Errorf("encode task: %w", errPiece)
		}
	}
	b, err := encode(b, (*taskMessage)(t))
	return b, wrap("encode task", err)
}

// encodeResult appends a result to b.
func encodeResult(b []byte, r *engine.Result) ([]byte, error) {
	if r.Progress != nil && !isNumber(r.Progress.Fraction) || r.Finish != nil && !isJSON(r.Finish.Outputs) {
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

// isJSON and isNumber hold back what the generated code would write as it is, and no node could read.

func isJSON(piece json.RawMessage) bool { return len(piece) == 0 || json.Valid(piece) }

func isNumber(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

func decodeTask(data []byte) (task engine.Task, err error) {
	err = decode(data, (*taskMessage)(&task))
	return task, err
}

// decodeResult does not set Sequence.
func decodeResult(data []byte) (result engine.Result, err error) {
	err = decode(data, (*resultMessage)(&result))
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
