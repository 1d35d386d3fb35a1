package trigger_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/tidewheel/tidewheel/trigger"
)

const key = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=" // 0123456789abcdef, twice

var (
	now  = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	body = []byte(`{"shop": 7}`)
)

// standard signs a body as a sender of Standard Webhooks does.
func standard(t testing.TB, secret, id string, at time.Time, body []byte) http.Header {
	t.Helper()
	hook, err := webhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := hook.Sign(id, at, body)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	header.Set("webhook-id", id)
	header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	header.Set("webhook-signature", signature)
	return header
}

// github signs a body as GitHub does.
func github(secret, id string, body []byte) http.Header {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	header := http.Header{}
	header.Set("X-GitHub-Delivery", id)
	header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return header
}

// verify reads and verifies a request; the error of either.
func verify(header http.Header, secret string, body []byte, now time.Time) (trigger.Delivery, error) {
	delivery, err := trigger.ReadDelivery(header)
	if err == nil {
		err = delivery.Verify([]byte(secret), body, now)
	}
	return delivery, err
}

func TestGenuineRequestsAreVerified(t *testing.T) {
	for name, header := range map[string]http.Header{
		"Standard Webhooks": standard(t, key, "msg_1", now, body), "GitHub": github(key, "msg_1", body),
		"at the edge of the past":   standard(t, key, "msg_1", now.Add(-trigger.Tolerance), body),
		"at the edge of the future": standard(t, key, "msg_1", now.Add(trigger.Tolerance), body),
	} {
		delivery, err := verify(header, key, body, now)
		if err != nil || delivery.ID != "msg_1" {
			t.Errorf("%s: %q, %v", name, delivery.ID, err)
		}
	}
	// A secret without the prefix is the key itself, and a sender may sign with an old secret besides.
	header := http.Header{}
	other := standard(t, key, "msg_1", now, body).Get("webhook-signature")
	raw, err := webhooks.NewWebhookRaw([]byte("a long enough secret"))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := raw.Sign("msg_1", now, body)
	if err != nil {
		t.Fatal(err)
	}
	header.Set("webhook-id", "msg_1")
	header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	header.Set("webhook-signature", other+" "+signature)
	if _, err := verify(header, "a long enough secret", body, now); err != nil {
		t.Error(err)
	}
}

func TestForgedRequestsAreRefused(t *testing.T) {
	otherID := standard(t, key, "msg_1", now, body)
	otherID.Set("webhook-id", "msg_2")
	otherTime := standard(t, key, "msg_1", now, body)
	otherTime.Set("webhook-timestamp", strconv.FormatInt(now.Unix()+1, 10))
	const foreign = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
	for name, header := range map[string]http.Header{
		"another key": standard(t, foreign, "msg_1", now, body), "another key, GitHub": github(foreign, "msg_1", body),
		"another body": standard(t, key, "msg_1", now, []byte(`{}`)), "another body, GitHub": github(key, "msg_1", []byte(`{}`)),
		"another id": otherID, "another time": otherTime,
	} {
		if _, err := verify(header, key, body, now); !errors.Is(err, trigger.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Of a request with both kinds of signature one wrong one is enough: the other may be borrowed.
	both := standard(t, foreign, "msg_1", now, body)
	both.Set("X-Hub-Signature-256", github(key, "msg_1", body).Get("X-Hub-Signature-256"))
	both.Set("X-GitHub-Delivery", "msg_1")
	if _, err := verify(both, key, body, now); !errors.Is(err, trigger.ErrSignature) {
		t.Errorf("both: %v", err)
	}
}

func TestStaleRequestsAreRefused(t *testing.T) {
	var header *trigger.HeaderError
	for _, at := range []time.Time{now.Add(-trigger.Tolerance - time.Second), now.Add(trigger.Tolerance + time.Second), {}} {
		if _, err := verify(standard(t, key, "msg_1", at, body), key, body, now); !errors.As(err, &header) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

func TestHeadersThatBelongToNoWebhookAreRefused(t *testing.T) {
	var faulty *trigger.HeaderError
	change := func(header http.Header, name, value string) http.Header {
		header.Set(name, value)
		return header
	}
	for name, header := range map[string]http.Header{
		"nothing": {}, "no signature": change(standard(t, key, "a", now, body), "webhook-signature", ""),
		"no id": change(standard(t, key, "a", now, body), "webhook-id", ""), "no time": change(standard(t, key, "a", now, body), "webhook-timestamp", ""),
		"no number": change(standard(t, key, "a", now, body), "webhook-timestamp", "today"), "long id": standard(t, key, strings.Repeat("a", 256), now, body),
		"no delivery": change(github(key, "a", body), "X-GitHub-Delivery", ""), "SHA-1": change(github(key, "a", body), "X-Hub-Signature-256", "sha1=00"),
		"short": change(github(key, "a", body), "X-Hub-Signature-256", "sha256=00"),
	} {
		if _, err := verify(header, key, body, now); !errors.As(err, &faulty) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestShortKeysVerifyNothing(t *testing.T) {
	var short *trigger.KeyError
	if _, err := verify(standard(t, key, "a", now, body), "whsec_not base64!", body, now); !errors.As(err, &short) {
		t.Errorf("no base64: %v", err)
	}
	for _, secret := range []string{"", "whsec_", "whsec_MDEy", "0123456789abcde"} {
		headers := []http.Header{github(secret, "a", body)}
		if raw, err := webhooks.NewWebhook(secret); err == nil {
			signature, _ := raw.Sign("a", now, body)
			header := standard(t, key, "a", now, body)
			header.Set("webhook-signature", signature)
			headers = append(headers, header)
		}
		for _, header := range headers {
			if _, err := verify(header, secret, body, now); !errors.As(err, &short) {
				t.Errorf("%q: %v", secret, err)
			}
		}
	}
}

// No headers get through without the key, and none crash the server.
func FuzzHeadersOfAWebhook(f *testing.F) {
	signed := standard(f, key, "msg_1", now, body)
	f.Add(signed.Get("webhook-id"), signed.Get("webhook-timestamp"), signed.Get("webhook-signature"), "", "", body)
	hub := github(key, "msg_1", body)
	f.Add("", "", "", hub.Get("X-Hub-Signature-256"), hub.Get("X-GitHub-Delivery"), body)
	f.Add("a", "+1795608000", "v1,x v1, v1", "sha256=", "b", []byte("{}"))
	f.Fuzz(func(t *testing.T, id, at, signature, hub, delivery string, body []byte) {
		header := http.Header{}
		for name, value := range map[string]string{
			"webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature, "X-Hub-Signature-256": hub, "X-GitHub-Delivery": delivery,
		} {
			header.Set(name, value)
		}
		read, err := verify(header, key, body, now)
		if err != nil {
			return
		}
		// Only who knows the key has made one of these, and all that it names is signed, or remembered.
		var want string
		if read.Signature == "" {
			seconds, _ := strconv.ParseInt(at, 10, 64)
			want = standard(t, key, id, time.Unix(seconds, 0), body).Get("webhook-signature")
		} else {
			want = github(key, delivery, body).Get("X-Hub-Signature-256")
			signature = strings.ToLower(hub)
		}
		if !strings.Contains(signature, want) || len(read.ID) == 0 || len(read.ID) > 255 {
			t.Errorf("%q got through with %q instead of %q", read.ID, signature, want)
		}
	})
}
