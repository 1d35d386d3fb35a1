package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
)

// patience is how long a client may take nothing of a stream before it is given up.
const patience = time.Minute

// patient returns the writer of a stream. A write that a client does not take in time fails, so that no stream outlives
// its reader.
func (a *API) patient(out huma.Context) *patientWriter {
	response := humaecho.Unwrap(out).Response()
	return &patientWriter{w: response, control: http.NewResponseController(response), patience: a.config.Patience}
}

type patientWriter struct {
	w        io.Writer
	control  *http.ResponseController
	patience time.Duration
}

func (p *patientWriter) Write(data []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.patience)) // where it cannot be set, the connection's end is the limit
	return p.w.Write(data)
}

// flush sends on what was written.
func (p *patientWriter) flush() error {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.patience))
	return p.control.Flush()
}

// streamBroke ends an answer that has begun and cannot be finished: the connection is cut, so that no client takes the
// part for the whole.
func (a *API) streamBroke(ctx context.Context, err error) {
	if ctx.Err() == nil {
		a.config.Log.Warn("a stream broke off", "request_id", a.config.RequestID(ctx), "error", err)
	}
	panic(http.ErrAbortHandler)
}
