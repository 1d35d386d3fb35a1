// Package send holds the wires of notifications: signed webhooks, Slack, Microsoft Teams, e-mail, and runs of jobs.
package send

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/tidewheel/tidewheel/internal/outgoing"
	"github.com/tidewheel/tidewheel/notify"
)

const (
	// httpLimit is how long a connection and an answer may take; the sender's own bound is the same.
	httpLimit = 10 * time.Second
	// mostBody is how much of an answer is read, in bytes.
	mostBody = 4 << 10
	// mostAfter is the longest Retry-After that is believed.
	mostAfter = 24 * time.Hour
)

// HTTP sends to webhooks, Slack and Teams.
type HTTP struct {
	agent          string
	public, anyone *http.Client // the second one for targets that allow private addresses
	now            func() time.Time
}

// NewHTTP makes a wire. agent is its User-Agent; a nil resolver is the machine's.
func NewHTTP(agent string, resolver *net.Resolver, now func() time.Time) *HTTP {
	return &HTTP{agent, outgoing.Client(false, httpLimit, resolver), outgoing.Client(true, httpLimit, resolver), now}
}

// Send posts a letter, and returns the status and the beginning of the answer.
func (h *HTTP) Send(ctx context.Context, letter *notify.Letter) (answer string, err error) {
	var body any = &letter.Message
	switch letter.Target.Kind {
	case notify.TargetSlack:
		body = slackOf(&letter.Message)
	case notify.TargetTeams:
		body = teamsOf(&letter.Message)
	default:
	}
	text, err := json.Marshal(body)
	if err != nil {
		return "", &notify.SendError{Permanent: true, Err: fmt.Errorf("write the message: %w", err)}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, letter.Target.URL, bytes.NewReader(text))
	if err != nil {
		return "", &notify.SendError{Permanent: true, Err: errors.New("the URL is not one that can be posted to")}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", h.agent)
	if letter.Target.Kind == notify.TargetWebhook {
		if err := h.sign(request.Header, letter, text); err != nil {
			return "", &notify.SendError{Permanent: true, Err: err}
		}
	}
	client := h.public
	if letter.Target.AllowPrivate {
		client = h.anyone
	}
	response, err := client.Do(request)
	if err != nil {
		return "", failed(err)
	}
	defer func() { _ = response.Body.Close() }()
	read, _ := io.ReadAll(io.LimitReader(response.Body, mostBody)) // the status reports whether it was taken
	return h.judge(response, answerOf(response, read))
}

// sign adds the headers of Standard Webhooks. The time is that of this try: receivers refuse what is old.
func (h *HTTP) sign(header http.Header, letter *notify.Letter, body []byte) error {
	signer, err := standardwebhooks.NewWebhook(letter.Secret)
	if err != nil {
		return fmt.Errorf("read the signing secret: %w", err)
	}
	at := h.now()
	signature, err := signer.Sign(letter.ID, at, body)
	if err != nil {
		return fmt.Errorf("sign the message: %w", err)
	}
	header.Set(standardwebhooks.HeaderWebhookID, letter.ID)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return nil
}

// answerOf is the status and the first line of an answer.
func answerOf(response *http.Response, body []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(string(body), "")), "\n")
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, line)
	if runes := []rune(line); len(runes) > 200 {
		line = string(runes[:200]) + "…"
	}
	return strings.TrimSpace(response.Status + " " + line)
}

// judge returns what an answer means.
func (h *HTTP) judge(response *http.Response, answer string) (string, error) {
	switch status := response.StatusCode; {
	case status >= 200 && status < 300:
		return answer, nil
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return "", &notify.SendError{Answer: answer, After: h.retryAfter(response.Header), Err: fmt.Errorf("it answered %s", answer)}
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status >= 500:
		return "", &notify.SendError{Answer: answer, Err: fmt.Errorf("it answered %s", answer)}
	case status >= 300 && status < 400:
		return "", &notify.SendError{Answer: answer, Permanent: true,
			Err: fmt.Errorf("it answered %s: no redirect is followed; give the URL that it leads to", answer)}
	default: // 410 Gone among them
		return "", &notify.SendError{Answer: answer, Permanent: true, Err: fmt.Errorf("it answered %s", answer)}
	}
}

// retryAfter reads the header, which holds seconds or an instant; 0 if it says nothing.
func (h *HTTP) retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return min(time.Duration(max(min(seconds, int64(mostAfter/time.Second)), 0))*time.Second, mostAfter)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(h.now()), 0), mostAfter)
	}
	return 0
}

// failed is the error of a request that was not answered, without its URL, which is secret.
func failed(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	return &notify.SendError{Permanent: errors.Is(err, outgoing.ErrRefused), Err: err}
}
