package web

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/web/api"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	// maxBody is the largest body that is not an upload, in bytes; the API has lower limits of its own.
	maxBody = 20 << 20
	// bodyStall is how long the server waits for a body of which nothing comes.
	bodyStall = time.Minute
	// bodyRate is how many bytes a second a body must bring on average, once bodyStall is used up.
	bodyRate = 1 << 10

	// maxBodyBeforeLogin and timeBeforeLogin bound the body of a sender who has not proved who they are. Such a body is
	// the form of the login page.
	maxBodyBeforeLogin  = 64 << 10
	timeBeforeLogin     = 10 * time.Second
	timeAfterTheHandler = time.Second // for the rest of a body that the handler did not read
)

// boundBodies bounds how long the server waits for bodies. net/http has one deadline for whole requests only, which
// would end large uploads, and without it waits for ever: even for the rest of a body that no handler wants.
func boundBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &requestBody{
			raw: r.Body, limited: http.MaxBytesReader(w, r.Body, maxBodyBeforeLogin), writer: w,
			control: http.NewResponseController(w), anonymous: true,
		}
		body.deadline(time.Now().Add(timeBeforeLogin))
		defer body.handled()
		r.Body = body
		next.ServeHTTP(w, r)
	})
}

// requestBody is a body that must keep coming: one that stalls, or trickles, ends with an error. A body that is only
// slow, such as a large upload over a thin line, does not.
type requestBody struct {
	raw, limited io.ReadCloser
	writer       http.ResponseWriter
	control      *http.ResponseController

	anonymous bool // the sender has not proved who they are: the first deadline holds for all of the body
	received  int64
	waited    time.Duration // in reads; the time that the handler takes in between is not the sender's
	complete  bool
}

// admit gives the sender of a request the limits of those who have proved who they are.
func admit(r *http.Request) {
	body, ok := r.Body.(*requestBody)
	if !ok {
		return
	}
	body.anonymous = false
	body.limited = body.raw
	if !uploads(r) { // these are bounded where they are stored
		body.limited = http.MaxBytesReader(body.writer, body.raw, maxBody)
	}
}

// admitPayload lets a body be as large as a payload, of a sender who has not proved who they are: it is what proves it.
func admitPayload(r *http.Request) {
	if body, ok := r.Body.(*requestBody); ok {
		body.limited = http.MaxBytesReader(body.writer, body.raw, service.MaxPayload+2) // the API refuses what is larger than a payload
	}
}

// turnAwayBody has the answer to a refused request sent without awaiting its body.
func turnAwayBody(r *http.Request) {
	if body, ok := r.Body.(*requestBody); ok && !body.complete {
		body.closeConnection()
	}
}

func (b *requestBody) Read(p []byte) (int, error) {
	if b.complete {
		return b.limited.Read(p)
	}
	began := time.Now()
	if !b.anonymous {
		left := bodyStall + time.Duration(b.received)*time.Second/bodyRate - b.waited
		b.deadline(began.Add(min(left, bodyStall)))
	}
	n, err := b.limited.Read(p)
	b.received += int64(n)
	b.waited += time.Since(began)
	switch {
	case errors.Is(err, io.EOF):
		b.complete = true
		b.deadline(time.Time{}) // past the body, a deadline would end the request
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.closeConnection()
		return n, stalledError{}
	case err != nil:
		b.closeConnection()
	}
	return n, err
}

// stalledError reports that a body did not come in time.
type stalledError struct{}

func (stalledError) Error() string { return "the body stopped coming before its end: send it again" }

// Timeout lets package net's users know it for what it is.
func (stalledError) Timeout() bool { return true }

// Temporary belongs to net.Error.
func (stalledError) Temporary() bool { return true }

// Unwrap returns what is answered.
func (e stalledError) Unwrap() error {
	return api.NewProblem(http.StatusRequestTimeout, "request_timeout", e.Error())
}

func (b *requestBody) Close() error { return b.raw.Close() }

// closeConnection has the connection closed after the answer: to keep it, net/http would await the body first.
func (b *requestBody) closeConnection() { b.writer.Header().Set("Connection", "close") }

// handled bounds how long net/http waits for what the handler has not read.
func (b *requestBody) handled() {
	if !b.complete {
		b.deadline(time.Now().Add(timeAfterTheHandler))
	}
}

func (b *requestBody) deadline(at time.Time) {
	_ = b.control.SetReadDeadline(at) // a test's recorder has none
}

// uploads reports whether a request brings a program: to the API, or by the form of the pages.
func uploads(r *http.Request) bool {
	if r.Method != http.MethodPost {
		return false
	}
	path := r.URL.Path
	return path == "/binaries/upload" || strings.HasPrefix(path, api.Prefix+"/binaries/") && strings.HasSuffix(path, "/versions")
}
