package send

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/tidewheel/tidewheel/notify"
)

// post is an SMTP server with a certificate for 127.0.0.1, and says how each message came.
type post struct {
	address string
	roots   *x509.CertPool

	mu   sync.Mutex
	user string // of the latest login
	tls  bool   // the latest message came by TLS
	to   []string
	text string
}

// newPost starts a server. direct: TLS from the first byte on; otherwise STARTTLS is offered if it is asked for.
func newPost(t *testing.T, direct, startTLS bool) *post {
	t.Helper()
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS() // for its certificate alone
	security := certified.TLS.Clone()
	security.NextProtos = nil
	p := &post{roots: x509.NewCertPool()}
	p.roots.AddCert(certified.Certificate())
	certified.Close()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = listener.Addr().String()
	if direct {
		listener = tls.NewListener(listener, security)
	}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &postSession{p: p, c: c}, nil }))
	server.Domain, server.ErrorLog = "mail.example.com", quiet{}
	if startTLS {
		server.TLSConfig = security
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return p
}

type postSession struct {
	p  *post
	c  *smtp.Conn
	to []string
}

func (s *postSession) Reset()                               {}
func (s *postSession) Logout() error                        { return nil }
func (s *postSession) Mail(string, *smtp.MailOptions) error { return nil }
func (s *postSession) AuthMechanisms() []string             { return []string{sasl.Plain} }

func (s *postSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "tide" || password != "hunter2" {
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "wrong user or password"}
		}
		s.p.mu.Lock()
		defer s.p.mu.Unlock()
		s.p.user = user
		return nil
	}), nil
}

func (s *postSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if strings.HasPrefix(to, "gone@") {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	}
	s.to = append(s.to, to)
	return nil
}

func (s *postSession) Data(text io.Reader) error {
	body, err := io.ReadAll(text)
	if err != nil {
		return err
	}
	_, secure := s.c.TLSConnectionState()
	_, direct := s.c.Conn().(*tls.Conn)
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.tls, s.p.to, s.p.text = secure || direct, s.to, string(body)
	return nil
}

func aLetter(to ...string) *notify.Letter {
	return &notify.Letter{
		ID: "1-a", Target: notify.Target{Namespace: "default", Name: "mail", Kind: notify.TargetEmail, Addresses: to},
		Message: notify.Message{Type: notify.MessageTest, Timestamp: time.Now(), Data: notify.Data{ID: "1-a", Title: "A test", Reason: "Nothing is wrong."}},
	}
}

// mailBy is a wire as --smtp-url and the password make it.
func (p *post) mailBy(t *testing.T, url, password string) *Mail {
	t.Helper()
	config, err := ParseMailURL(url)
	if err != nil {
		t.Fatal(err)
	}
	config.From, config.Password, config.Roots = "Tidewheel <tide@example.com>", password, p.roots
	mail, err := NewMail(config)
	if err != nil {
		t.Fatal(err)
	}
	return mail
}

func TestMailGoesByTLSAndWithALogin(t *testing.T) {
	for name, one := range map[string]struct {
		direct, offers bool // the server: TLS at once, or STARTTLS
		url, password  string
		user           string // that has logged in
		secure         bool
		fails          string // "": it is taken
	}{
		"smtps with a login":                             {direct: true, url: "smtps://tide@", password: "hunter2", user: "tide", secure: true},
		"smtps without a login":                          {direct: true, url: "smtps://", secure: true},
		"smtps at a server without TLS":                  {url: "smtps://", fails: "tls"},
		"a login begins with STARTTLS":                   {offers: true, url: "smtp://tide@", password: "hunter2", user: "tide", secure: true},
		"a login is not sent where there is no STARTTLS": {url: "smtp://tide@", password: "hunter2", fails: "STARTTLS"},
		"a login that is refused":                        {offers: true, url: "smtp://tide@", password: "wrong", fails: "535"},
		"STARTTLS is used where it is offered":           {offers: true, url: "smtp://", secure: true},
		"and left out where it is not":                   {url: "smtp://"},
		"STARTTLS that is required":                      {url: "smtp://%s?starttls=required", fails: "STARTTLS"},
		"STARTTLS that is off":                           {offers: true, url: "smtp://%s?starttls=off"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPost(t, one.direct, one.offers)
			url := one.url + p.address
			if strings.Contains(one.url, "%s") {
				url = strings.Replace(one.url, "%s", p.address, 1)
			}
			answer, err := p.mailBy(t, url, one.password).Send(t.Context(), aLetter("ops@example.com", "ada@example.com"))
			if one.fails != "" {
				if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(one.fails)) || p.text != "" {
					t.Errorf("answered %q, %v", answer, err)
				}
				if strings.Contains(err.Error(), "hunter2") {
					t.Errorf("the error has the password: %v", err)
				}
				return
			}
			if err != nil || p.user != one.user || p.tls != one.secure || len(p.to) != 2 || !strings.Contains(p.text, "Nothing is wrong.") {
				t.Errorf("answered %q, %v: by user %q, with TLS %t, to %q", answer, err, p.user, p.tls, p.to)
			}
		})
	}
}

// An untrusted certificate is refused, also where STARTTLS is optional.
func TestMailIsNotSentToAServerWithAnUntrustedCertificate(t *testing.T) {
	for _, direct := range []bool{true, false} {
		p := newPost(t, direct, !direct)
		p.roots = x509.NewCertPool()
		scheme := map[bool]string{true: "smtps://", false: "smtp://"}[direct]
		if _, err := p.mailBy(t, scheme+p.address, "").Send(t.Context(), aLetter("ops@example.com")); err == nil || !strings.Contains(err.Error(), "certificate") || p.text != "" {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

// An address that the server does not know fails for good. What hangs, fails when the time is over, and is retried.
func TestMailThatIsRefusedFailsForGood(t *testing.T) {
	p := newPost(t, false, false)
	var failed *notify.SendError
	if _, err := p.mailBy(t, "smtp://"+p.address, "").Send(t.Context(), aLetter("gone@example.com")); !errors.As(err, &failed) || !failed.Permanent || failed.Answer != "550" {
		t.Errorf("refused: %v", err)
	}
	hangs, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hangs.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	failed = nil
	if _, err := p.mailBy(t, "smtp://"+hangs.Addr().String(), "").Send(ctx, aLetter("ops@example.com")); err == nil || errors.As(err, &failed) && failed.Permanent {
		t.Errorf("hung: %v", err)
	}
}
