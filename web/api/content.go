package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// Content is the body of a request that the handler reads by itself.
type Content struct {
	body       io.Reader
	length     int64 // of the body in bytes, 0 where it is not known
	mediaType  string
	parameters map[string]string
}

// Resolve takes the body over from huma, which would hold it in memory.
func (c *Content) Resolve(ctx huma.Context) []error {
	c.body = ctx.BodyReader()
	if c.body == nil {
		c.body = http.NoBody
	}
	c.length, _ = strconv.ParseInt(ctx.Header("Content-Length"), 10, 64)
	declared := ctx.Header("Content-Type")
	if declared == "" {
		return nil
	}
	var err error
	if c.mediaType, c.parameters, err = mime.ParseMediaType(declared); err != nil {
		return []error{invalid("invalid_request", "header.Content-Type", "Content-Type %q is not understood", declared)}
	}
	return nil
}

// small reads a body that fits in memory. The bytes are the caller's. How long it may take is the server's to say.
func (c *Content) small(most int64) ([]byte, error) {
	data, err := c.smallOrNone(most)
	if err == nil && len(data) == 0 {
		err = invalid("invalid_request", "body", "the request has no body")
	}
	return data, err
}

// smallOrNone is small for a body that may be missing.
func (c *Content) smallOrNone(most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(c.body, most+1))
	switch {
	case err != nil:
		return nil, interrupted(err)
	case int64(len(data)) > most:
		return nil, NewProblem(http.StatusRequestEntityTooLarge, "body_too_large", tooLarge(most))
	}
	return data, nil
}

func tooLarge(most int64) string {
	return "the body is larger than the limit of " + sizeInWords(most)
}

// stream reads a body of any size in pieces, and remembers why it broke.
func (c *Content) stream() *upload { return &upload{content: c} }

type upload struct {
	content *Content
	err     error // why it broke
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.content.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		u.err = err
	}
	return n, err
}

// interrupted returns the problem of a body that did not arrive whole.
func interrupted(err error) *Problem {
	if problem, ok := ProblemOf(err); ok {
		return problem
	}
	return NewProblem(http.StatusBadRequest, "body_interrupted", "the body broke off before its end ("+err.Error()+"): nothing was kept, send it again")
}
