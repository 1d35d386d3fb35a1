package send

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"html/template"
	"net"
	netmail "net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/tidewheel/tidewheel/notify"
)

// MailConfig defines how e-mail is sent.
type MailConfig struct {
	Host     string
	Port     int
	User     string // "": without a login
	Password string
	TLS      bool // from the first byte on, as smtps:// means
	// StartTLS is required, optional or off; of no meaning with TLS.
	StartTLS string
	From     string // an address, or a name and an address
	Agent    string
	Roots    *x509.CertPool // nil: the machine's
}

// ParseMailURL reads smtp://[user@]host[:port][?starttls=required|optional|off] or smtps://[user@]host[:port]. The password has a
// place of its own.
func ParseMailURL(text string) (c MailConfig, err error) {
	parsed, err := url.Parse(text)
	switch {
	case err != nil || parsed.Hostname() == "" || parsed.Scheme != "smtp" && parsed.Scheme != "smtps":
		return c, errors.New("use smtp://host:587 or smtps://host:465, with user@ before the host where the server asks for a login")
	case strings.Trim(parsed.Path, "/") != "" || parsed.Fragment != "":
		return c, errors.New("nothing follows the host and port but ?starttls=")
	}
	c = MailConfig{Host: parsed.Hostname(), TLS: parsed.Scheme == "smtps", StartTLS: "optional"}
	if parsed.User != nil {
		if _, has := parsed.User.Password(); has {
			return c, errors.New("a password does not belong into the URL, where lists of processes show it: give it by --smtp-password-file or TIDEWHEEL_SMTP_PASSWORD")
		}
		c.User, c.StartTLS = parsed.User.Username(), "required"
	}
	if c.Port = 587; c.TLS {
		c.Port = 465
	}
	if port := parsed.Port(); port != "" {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil || number == 0 {
			return c, fmt.Errorf("port %s is not from 1 to 65535", port)
		}
		c.Port = int(number)
	}
	for name, values := range parsed.Query() {
		if name != "starttls" || len(values) != 1 || c.TLS || values[0] != "required" && values[0] != "optional" && values[0] != "off" {
			return c, errors.New("after the ? only starttls=required, starttls=optional or starttls=off is known, and only with smtp://")
		}
		c.StartTLS = values[0]
	}
	return c, nil
}

// Mail sends e-mail.
type Mail struct {
	config MailConfig
	from   *netmail.Address
}

// NewMail makes a wire. Nothing is connected to before a message is sent.
func NewMail(config MailConfig) (*Mail, error) {
	from, err := netmail.ParseAddress(config.From)
	if err != nil {
		return nil, fmt.Errorf("%q is no address such as tidewheel@example.com", config.From)
	}
	return &Mail{config, from}, nil
}

// Send sends one e-mail to all addresses of a target, and returns what says that the server has taken it.
func (m *Mail) Send(ctx context.Context, letter *notify.Letter) (answer string, err error) {
	message, err := m.compose(letter)
	if err != nil {
		return "", &notify.SendError{Permanent: true, Err: err}
	}
	client, err := m.client(ctx)
	if err != nil {
		return "", err
	}
	connected, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return "", fmt.Errorf("connect to %s: %w", net.JoinHostPort(m.config.Host, strconv.Itoa(m.config.Port)), ended(ctx, err))
	}
	stop := context.AfterFunc(ctx, func() { _ = connected.Close() }) // each answer has its own limit; this is that of all
	defer stop()
	err = client.SendWithSMTPClient(connected, message)
	_ = client.CloseWithSMTPClient(connected) // the message is taken or not, whatever becomes of the connection
	if err == nil || message.IsDelivered() {
		return "taken by " + m.config.Host, nil
	}
	var refused *gomail.SendError
	if errors.As(err, &refused) && refused.ErrorCode() >= 500 {
		return "", &notify.SendError{Answer: strconv.Itoa(refused.ErrorCode()), Permanent: true, Err: err}
	}
	return "", ended(ctx, err)
}

// ended adds that the time was over, which the error of a connection that was closed does not say.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

func (m *Mail) client(ctx context.Context) (*gomail.Client, error) {
	c := &m.config
	limit := httpLimit
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(time.Until(deadline), time.Millisecond)
	}
	security := &tls.Config{ServerName: c.Host, MinVersion: tls.VersionTLS12, RootCAs: c.Roots}
	policy := gomail.TLSOpportunistic
	switch {
	case c.TLS:
	case c.StartTLS == "required":
		policy = gomail.TLSMandatory
	case c.StartTLS == "off":
		policy = gomail.NoTLS
	}
	options := []gomail.Option{
		gomail.WithPort(c.Port), gomail.WithTimeout(limit), gomail.WithTLSConfig(security), gomail.WithTLSPolicy(policy),
		gomail.WithoutNoop(), gomail.WithoutRset(), gomail.WithDialContextFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
			if c.TLS {
				return (&tls.Dialer{Config: security}).DialContext(ctx, network, address)
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}),
	}
	if c.User != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(c.User), gomail.WithPassword(c.Password))
	}
	client, err := gomail.NewClient(c.Host, options...)
	if err != nil {
		return nil, fmt.Errorf("make a client of SMTP: %w", err)
	}
	return client, nil
}

// compose writes an e-mail: the same text plain and as HTML.
func (m *Mail) compose(letter *notify.Letter) (*gomail.Msg, error) {
	message := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	message.FromMailAddress(m.from)
	if err := message.To(letter.Target.Addresses...); err != nil {
		return nil, fmt.Errorf("address the message: %w", err)
	}
	_, domain, _ := strings.Cut(m.from.Address, "@")
	message.SetMessageIDWithValue(letter.ID + "@" + domain)
	if letter.Incident != nil { // the end of an incident is shown below its beginning
		thread := "<incident-" + letter.Incident.Key() + "@" + domain + ">"
		message.SetGenHeader(gomail.HeaderReferences, thread)
		message.SetGenHeader(gomail.HeaderInReplyTo, thread)
	}
	message.SetDateWithValue(letter.Message.Timestamp)
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetUserAgent(m.config.Agent)
	message.Subject(letter.Message.Data.Title)
	message.SetBodyString(gomail.TypeTextPlain, plainOf(&letter.Message))
	if err := message.AddAlternativeHTMLTemplate(page, &letter.Message); err != nil {
		return nil, fmt.Errorf("write the message: %w", err)
	}
	return message, nil
}

// plainOf writes a message as text.
func plainOf(m *notify.Message) string {
	var text strings.Builder
	write := func(m *notify.Message) {
		fmt.Fprintf(&text, "%s\n", m.Data.Title)
		for _, line := range m.Lines() {
			fmt.Fprintf(&text, "%s: %s\n", line.Name, line.Value)
		}
		if len(m.Data.Output) > 0 {
			text.WriteString("\nLast lines of the output:\n")
			for _, line := range m.Data.Output {
				fmt.Fprintf(&text, "  %s\n", line)
			}
		}
		if m.Data.URL != "" {
			fmt.Fprintf(&text, "\n%s\n", m.Data.URL)
		}
	}
	write(m)
	for i := range m.Data.Messages {
		text.WriteString("\n")
		write(&m.Data.Messages[i])
	}
	return text.String()
}

var page = template.Must(template.New("message").Parse(`{{define "one"}}<h2 style="font-size:16px;margin:16px 0 4px">{{.Data.Title}}</h2>
<table style="font-size:14px">{{range .Lines}}<tr><td style="padding:2px 12px 2px 0;color:#555">{{.Name}}</td><td>{{.Value}}</td></tr>
{{end}}</table>
{{with .Data.Output}}<pre style="font-size:13px;background:#f4f4f4;padding:8px;overflow:auto">{{range .}}{{.}}
{{end}}</pre>{{end}}
{{with .Data.URL}}<p style="font-size:14px"><a href="{{.}}">Show in Tidewheel</a></p>{{end}}{{end}}<html><body style="font-family:sans-serif">
{{template "one" .}}{{range .Data.Messages}}{{template "one" .}}{{end}}</body></html>
`))
