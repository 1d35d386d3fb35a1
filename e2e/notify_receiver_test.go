package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// notice is what one message says, however it was sent.
type notice struct {
	id, incident       string
	over               bool
	title, reason, url string
	since              time.Time
	output             []string
	whole              string // all of it, as it was sent
}

// taken is a notice that a receiver has taken once.
type taken struct {
	notice
	at time.Time
	// answered reports whether the answer was sent, so that a server that continues knows of it.
	answered bool
}

// noticeBox is a real receiver on loopback which refuses, hangs and breaks off at random until calm is called.
type noticeBox struct {
	name string

	mu     sync.Mutex
	random *rand.Rand
	faults map[string]int // of each message: there are at most mostFaults
	took   []taken
	wrong  []string
	holds  bool

	held    chan struct{} // a message is here and has no answer
	release chan struct{} // the holding ends
	end     chan struct{} // the test ends
}

const (
	mostFaults = 2
	// hangs is longer than the server waits for an answer.
	hangs = 12 * time.Second
)

// errBreakOff means that the connection is closed without an answer.
var errBreakOff = errors.New("break off")

// errRefuse means that the message is to be sent again later.
var errRefuse = errors.New("refuse")

func newNoticeBox(t *testing.T, name string, random *rand.Rand) *noticeBox {
	t.Helper()
	b := &noticeBox{
		name: name, random: random, faults: map[string]int{}, held: make(chan struct{}), release: make(chan struct{}), end: make(chan struct{}),
	}
	return b
}

// hold keeps the next message that comes without an answer, until free is called after held has said that it is there.
func (b *noticeBox) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.holds = true
}

func (b *noticeBox) free() { b.release <- struct{}{} }

// calm ends the faults.
func (b *noticeBox) calm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.random = nil
}

// receive deals with a message that has come. Its sender is gone once gone is closed.
func (b *noticeBox) receive(n *notice, gone <-chan struct{}) error {
	b.mu.Lock()
	if b.holds {
		b.holds = false
		takes := b.random != nil && b.random.IntN(2) == 0
		b.mu.Unlock()
		if takes { // its sender cannot know
			b.take(n, false)
		}
		select {
		case b.held <- struct{}{}:
		case <-b.end:
			return errBreakOff
		}
		select {
		case <-b.release:
		case <-b.end:
		}
		return errBreakOff
	}
	fault := 0
	if b.random != nil && b.faults[n.id] < mostFaults {
		fault = b.random.IntN(6)
	}
	if fault > 1 {
		b.faults[n.id]++
	}
	b.mu.Unlock()
	switch fault {
	case 2:
		return errRefuse
	case 3:
		return errBreakOff
	case 4: // takes it, and breaks off
		b.take(n, false)
		return errBreakOff
	case 5: // hangs
		timer := time.NewTimer(hangs)
		defer timer.Stop()
		select {
		case <-gone:
		case <-timer.C:
		case <-b.end:
		}
		return errBreakOff
	default:
		b.take(n, true)
		return nil
	}
}

func (b *noticeBox) take(n *notice, answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.took = append(b.took, taken{*n, time.Now(), answered})
}

func (b *noticeBox) isWrong(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
}

// all are the messages that were taken, in their order.
func (b *noticeBox) all() []taken {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]taken(nil), b.took...)
}

func listenLoopback(t *testing.T) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// serveHook takes webhooks, and returns its address. The signing secret is read with each message.
func (b *noticeBox) serveHook(t *testing.T, signing func() string) string {
	t.Helper()
	listener := listenLoopback(t)
	server := &http.Server{ReadHeaderTimeout: startLimit, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		checker, err := standardwebhooks.NewWebhook(signing())
		if err == nil {
			err = checker.Verify(body, r.Header)
		}
		if err != nil {
			b.isWrong("signature: %v", err)
		}
		n, err := noticeOfHook(body)
		if err != nil || n.id != r.Header.Get(standardwebhooks.HeaderWebhookID) {
			b.isWrong("webhook-id %q of %s: %v", r.Header.Get(standardwebhooks.HeaderWebhookID), body, err)
			return
		}
		switch err := b.receive(n, r.Context().Done()); {
		case errors.Is(err, errRefuse):
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		case err != nil:
			panic(http.ErrAbortHandler)
		}
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		close(b.end)
		_ = server.Close()
		<-served
	})
	return listener.Addr().String()
}

func noticeOfHook(body []byte) (*notice, error) {
	var message struct {
		Type string `json:"type"`
		Data struct {
			ID, Title, Incident, Reason, URL string
			Since                            time.Time
			Output                           []string
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return nil, err
	}
	d := &message.Data
	return &notice{
		id: d.ID, incident: d.Incident, over: message.Type == "incident.over", title: d.Title, reason: d.Reason, url: d.URL, since: d.Since,
		output: d.Output, whole: string(body),
	}, nil
}

// serveMail takes e-mail, and returns its address.
func (b *noticeBox) serveMail(t *testing.T) string {
	t.Helper()
	listener := listenLoopback(t)
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &mailSession{b, c.Conn()}, nil }))
	server.Domain, server.ErrorLog = "mail.example.com", noLog{}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		close(b.end)
		_ = server.Close()
		<-served
	})
	return listener.Addr().String()
}

type noLog struct{}

func (noLog) Printf(string, ...any) {}
func (noLog) Println(...any)        {}

type mailSession struct {
	box  *noticeBox
	conn net.Conn
}

func (s *mailSession) Reset()                               {}
func (s *mailSession) Logout() error                        { return nil }
func (s *mailSession) Mail(string, *smtp.MailOptions) error { return nil }
func (s *mailSession) Rcpt(string, *smtp.RcptOptions) error { return nil }

func (s *mailSession) Data(text io.Reader) error {
	body, err := io.ReadAll(text)
	if err != nil {
		return err
	}
	n, err := noticeOfMail(body)
	if err != nil {
		s.box.isWrong("e-mail %s: %v", body, err)
		return err
	}
	switch err := s.box.receive(n, nil); {
	case errors.Is(err, errRefuse):
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "try again later"}
	case err != nil:
		_ = s.conn.Close()
		return err
	}
	return nil
}

// noticeOfMail reads the plain text of an e-mail, and wants the same in its HTML.
func noticeOfMail(body []byte) (*notice, error) {
	message, err := mail.ReadMessage(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject"))
	if err != nil {
		return nil, err
	}
	parts, err := partsOf(message)
	if err != nil {
		return nil, err
	}
	inAngles := func(header string) string {
		id, _, _ := strings.Cut(strings.Trim(message.Header.Get(header), "<>"), "@")
		return id
	}
	text := strings.ReplaceAll(parts["text/plain"], "\r\n", "\n")
	n := &notice{
		id: inAngles("Message-Id"), incident: strings.TrimPrefix(inAngles("References"), "incident-"), over: strings.HasPrefix(subject, "Over: "),
		title: subject, whole: subject + "\n" + text,
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "Why: "):
			n.reason = strings.TrimPrefix(line, "Why: ")
		case strings.HasPrefix(line, "Since: "):
			at, _, _ := strings.Cut(strings.TrimPrefix(line, "Since: "), " UTC")
			if n.since, err = time.Parse(time.DateTime, at); err != nil {
				return nil, err
			}
		case strings.HasPrefix(line, "  "):
			n.output = append(n.output, line[2:])
		case strings.HasPrefix(line, "http"):
			n.url = line
		}
	}
	if html := parts["text/html"]; !strings.Contains(html, n.url) || !strings.Contains(html, "<pre") != (len(n.output) == 0) {
		return nil, fmt.Errorf("the HTML says something else: %s", html)
	}
	return n, nil
}

// partsOf are the texts of an e-mail by their types.
func partsOf(message *mail.Message) (map[string]string, error) {
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	parts := map[string]string{}
	reader := multipart.NewReader(message.Body, params["boundary"])
	for {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		kind, _, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		if err != nil {
			return nil, err
		}
		var from io.Reader = part
		if part.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
			from = quotedprintable.NewReader(part)
		}
		text, err := io.ReadAll(from)
		if err != nil {
			return nil, err
		}
		parts[kind] = string(text)
	}
}
