package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

const prefix = "/api/v1"

var errEnded = errors.New("the server ended the stream")

// Config defines which server and who asks.
type Config struct {
	URL       string // http://127.0.0.1:8080
	Token     string // "" sends none
	Namespace string // "" is the default one
	UserAgent string
	// RootCAs are the authorities whose certificates are trusted; nil: the machine's.
	RootCAs *x509.CertPool
	// HTTP is used instead of a client of its own, which knows no limit on the time of a whole answer.
	HTTP *http.Client
}

// Client speaks to one server. It is safe for concurrent use.
type Client struct {
	config Config
	base   *url.URL
	http   *http.Client
}

// New makes a client. It does not connect yet.
func New(config Config) (*Client, error) {
	base, err := url.Parse(config.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("client: %q is no URL: write it as http://127.0.0.1:8080", config.URL)
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, fmt.Errorf("client: %q is no URL of a server: write it as http://127.0.0.1:8080", config.URL)
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	base.RawQuery, base.Fragment = "", ""
	if config.Namespace == "" {
		config.Namespace = engine.DefaultNamespace
	}
	c := &Client{config: config, base: base, http: config.HTTP}
	if c.http == nil {
		c.http = &http.Client{
			Transport: &http.Transport{
				Proxy:                 http.ProxyFromEnvironment,
				DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
				ForceAttemptHTTP2:     true,
				TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: config.RootCAs},
				MaxIdleConnsPerHost:   16,
				IdleConnTimeout:       90 * time.Second,
				TLSHandshakeTimeout:   10 * time.Second,
				ExpectContinueTimeout: 5 * time.Second,
			},
			// A token is not sent on to wherever a server points.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return c, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// ErrUnreachable means that the server could not be reached, or went away in the middle of an answer.
var ErrUnreachable = errors.New("the server cannot be reached")

// APIError is an answer that is not a success.
type APIError struct {
	Status    int    // HTTP
	Code      string // stable, snake_case; "" if what answered is no Tidewheel
	Detail    string // for people
	Errors    []wire.FieldError
	RequestID string
	Result    json.RawMessage // with the code effect_done: what the effect was closed with
}

func (e *APIError) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("the server answered %d %s", e.Status, http.StatusText(e.Status))
	}
	return e.Detail
}

// unreachable keeps the reason, and is ErrUnreachable.
type unreachable struct {
	url string
	err error
}

// Unreachable is the error of a server that a request of the caller's own did not reach.
func Unreachable(url string, err error) error { return &unreachable{url: url, err: err} }

func (e *unreachable) Error() string {
	if advice := aboutTLS(e.err); advice != "" {
		return fmt.Sprintf("%s cannot be reached safely: %s: %s", e.url, reason(e.err), advice)
	}
	return fmt.Sprintf("%s cannot be reached: %s: is the server running, and is --url right?", e.url, reason(e.err))
}
func (e *unreachable) Unwrap() []error { return []error{ErrUnreachable, e.err} }

// aboutTLS returns what to do where the server is there, and its certificate is not trusted; otherwise it returns "".
func aboutTLS(err error) string {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return "if its certificate is of an authority of your own, name the authority's file by --ca-file or TIDEWHEEL_CA_FILE"
	case errors.As(err, &name):
		return "use a name that the certificate has in --url"
	case errors.As(err, &invalid):
		return "the server needs a new certificate, or this machine's clock is wrong"
	case errors.As(err, &plain):
		return "the server does not speak TLS there: write http:// in --url"
	}
	return ""
}

func reason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err.Error()
	}
	return err.Error()
}

// call is one request.
type call struct {
	method, path string
	query        url.Values
	header       http.Header
	body         io.Reader
	length       int64 // of body, -1 if not known
	value        any   // sent as JSON, if body is nil
}

func path(parts ...string) string {
	var text strings.Builder
	for _, part := range parts {
		text.WriteString("/" + url.PathEscape(part))
	}
	return text.String()
}

// send sends a call and returns the answer, which is a success; the caller closes its body.
func (c *Client) send(ctx context.Context, call call) (*http.Response, error) {
	target := *c.base
	escaped := c.base.EscapedPath() + call.path
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, fmt.Errorf("client: path %s: %w", call.path, err)
	}
	target.Path, target.RawPath = plain, escaped
	query := call.query
	if query == nil {
		query = url.Values{}
	}
	query.Set("namespace", c.config.Namespace)
	target.RawQuery = query.Encode()

	body, length := call.body, call.length
	header := call.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if body == nil && call.value != nil {
		data, err := json.Marshal(call.value)
		if err != nil {
			return nil, fmt.Errorf("client: encode the request: %w", err)
		}
		body, length = bytes.NewReader(data), int64(len(data))
		header.Set("Content-Type", "application/json")
	}
	request, err := http.NewRequestWithContext(ctx, call.method, target.String(), body)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if body != nil {
		request.ContentLength = length
	}
	request.Header = header
	if c.config.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.config.Token)
	}
	if c.config.UserAgent != "" {
		request.Header.Set("User-Agent", c.config.UserAgent)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &unreachable{url: c.config.URL, err: err}
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	return nil, apiError(response)
}

// maxProblem is how much of an answer that is no success is read, in bytes.
const maxProblem = 4 << 20

func apiError(response *http.Response) *APIError {
	e := &APIError{Status: response.StatusCode, RequestID: response.Header.Get("X-Request-Id")}
	data, _ := io.ReadAll(io.LimitReader(response.Body, maxProblem)) // what came says what it can
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	var problem wire.Problem
	if media == "application/problem+json" && json.Unmarshal(data, &problem) == nil {
		e.Code, e.Detail, e.Errors, e.Result = problem.Code, problem.Detail, problem.Errors, problem.Result
		return e
	}
	if e.Status == http.StatusBadRequest && bytes.Contains(data, []byte("HTTP request to an HTTPS server")) { // net/http says so
		e.Detail = "the server speaks TLS there: write https:// in --url"
		return e
	}
	e.Detail = fmt.Sprintf("what answers there is no Tidewheel API: %d %s", e.Status, http.StatusText(e.Status))
	if location := response.Header.Get("Location"); location != "" {
		e.Detail += ", which points to " + location
	}
	return e
}

// ask sends a call and reads its answer into a T.
func ask[T any](ctx context.Context, c *Client, call call) (T, error) {
	value, _, err := askTagged[T](ctx, c, call)
	return value, err
}

func askTagged[T any](ctx context.Context, c *Client, call call) (value T, header http.Header, err error) {
	response, err := c.send(ctx, call)
	if err != nil {
		return value, nil, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNoContent {
		return value, response.Header, nil
	}
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return value, nil, c.broke(ctx, err)
	}
	if err := json.Unmarshal(data, &value); err != nil {
		return value, nil, fmt.Errorf("client: what answers at %s is no Tidewheel API: %w", c.config.URL, err)
	}
	return value, response.Header, nil
}

// broke returns the error of an answer that broke off.
func (c *Client) broke(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &unreachable{url: c.config.URL, err: err}
}

// Page defines which page of a list; the zero Page is the first.
type Page struct {
	Cursor string
	Limit  int // 0: as many as the server returns
}

func (p Page) query() url.Values {
	query := url.Values{}
	if p.Cursor != "" {
		query.Set("cursor", p.Cursor)
	}
	if p.Limit > 0 {
		query.Set("limit", fmt.Sprint(p.Limit))
	}
	return query
}

func set(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

func setTime(query url.Values, name string, at time.Time) {
	if !at.IsZero() {
		query.Set(name, at.UTC().Format(time.RFC3339Nano))
	}
}
