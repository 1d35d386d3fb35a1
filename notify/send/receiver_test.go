package send

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
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

// receiver is a real server on loopback that can be killed and started again on the same port, and fails as the test says.
type receiver struct {
	t       *testing.T
	address string
	serve   func(net.Listener) (kill func())

	mu     sync.Mutex
	kill   func()
	random *rand.Rand // nil: it takes all
	ids    map[string]int
	wrong  []string
}

func newReceiver(t *testing.T, serve func(*receiver, net.Listener) func()) *receiver {
	t.Helper()
	r := &receiver{t: t, ids: map[string]int{}}
	r.serve = func(l net.Listener) func() { return serve(r, l) }
	r.start("127.0.0.1:0")
	t.Cleanup(r.stop)
	return r
}

func (r *receiver) start(at string) {
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", at)
	if err != nil {
		r.t.Error(err)
		return
	}
	r.address = listener.Addr().String()
	kill := r.serve(listener)
	r.mu.Lock()
	r.kill = kill
	r.mu.Unlock()
}

// stop kills the server: connections break off, and new ones are refused.
func (r *receiver) stop() {
	r.mu.Lock()
	kill := r.kill
	r.kill = nil
	r.mu.Unlock()
	if kill != nil {
		kill()
	}
}

// fault draws what happens to a message: "take", "refuse", or "take and break off", which its sender cannot distinguish from "break off".
func (r *receiver) fault() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.random == nil {
		return "take"
	}
	return []string{"take", "take", "refuse", "take and break off", "break off"}[r.random.IntN(5)]
}

func (r *receiver) took(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids[id]++
}

func (r *receiver) isWrong(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = append(r.wrong, what)
}

// count returns how often each message was taken.
func (r *receiver) count() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := make(map[string]int, len(r.ids))
	for id, n := range r.ids {
		counts[id] = n
	}
	return counts
}

// webhookReceiver checks each message by the library that receivers use. secret is set before the first message comes.
func webhookReceiver(secret *string) func(*receiver, net.Listener) func() {
	return func(r *receiver, listener net.Listener) func() {
		server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			body, err := io.ReadAll(request.Body)
			if err != nil {
				return
			}
			checker, err := standardwebhooks.NewWebhook(*secret)
			if err == nil {
				err = checker.VerifyIgnoringTimestamp(body, request.Header) // the clock of the test is another one
			}
			if err != nil {
				r.isWrong(err.Error())
			}
			fault := r.fault()
			if strings.HasPrefix(fault, "take") {
				r.took(request.Header.Get(standardwebhooks.HeaderWebhookID))
			}
			switch fault {
			case "refuse":
				w.WriteHeader(http.StatusBadGateway)
			case "take and break off", "break off":
				panic(http.ErrAbortHandler)
			}
		})}
		go func() { _ = server.Serve(listener) }()
		return func() { _ = server.Close() }
	}
}

// mailSession takes e-mail.
type mailSession struct{ r *receiver }

func (s *mailSession) Reset()                               {}
func (s *mailSession) Logout() error                        { return nil }
func (s *mailSession) Mail(string, *smtp.MailOptions) error { return nil }
func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if to == "gone@example.com" {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	}
	return nil
}

func (s *mailSession) Data(text io.Reader) error {
	body, err := io.ReadAll(text)
	if err != nil {
		return err
	}
	message, err := mail.ReadMessage(bytes.NewReader(body))
	if err != nil {
		s.r.isWrong(err.Error())
		return err
	}
	id, _, _ := strings.Cut(strings.Trim(message.Header.Get("Message-Id"), "<>"), "@")
	fault := s.r.fault()
	if strings.HasPrefix(fault, "take") {
		s.r.took(id)
	}
	switch fault {
	case "refuse":
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "try again later"}
	case "take and break off", "break off":
		return errBreakOff
	}
	return nil
}

var errBreakOff = errors.New("break off")

// mailReceiver is an SMTP server without TLS and without a login.
func mailReceiver(r *receiver, listener net.Listener) func() {
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &breakingSession{mailSession{r}, c}, nil
	}))
	server.Domain, server.ErrorLog = "mail.example.com", quiet{}
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }
}

// breakingSession closes the connection where a session breaks off.
type breakingSession struct {
	mailSession
	conn *smtp.Conn
}

func (s *breakingSession) Data(text io.Reader) error {
	err := s.mailSession.Data(text)
	if errors.Is(err, errBreakOff) {
		_ = s.conn.Conn().Close()
	}
	return err
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}
