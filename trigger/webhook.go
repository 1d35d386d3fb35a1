package trigger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	// Tolerance is how far the timestamp of a request may be from now.
	Tolerance = 5 * time.Minute
	// minKey is the shortest key, in bytes, that requests may be signed with.
	minKey = 16
	// maxID is the longest id of an event, in bytes.
	maxID = 255

	secretPrefix = "whsec_"

	githubSignature = "X-Hub-Signature-256"
	githubDelivery  = "X-GitHub-Delivery"
	githubEvent     = "X-GitHub-Event"
	githubDigest    = "sha256="
	githubPing      = "ping"
)

// ErrSignature means that a request is not signed with the secret.
var ErrSignature = errors.New("the signature does not belong to this body and this secret")

// HeaderError reports why the headers of a request cannot be those of a webhook, whatever its secret.
type HeaderError struct{ Reason string }

func (e *HeaderError) Error() string { return e.Reason }

// KeyError reports why a secret cannot be the key of a webhook.
type KeyError struct{ Reason string }

func (e *KeyError) Error() string { return e.Reason }

// Delivery is what the headers of a request say. It is genuine once Verify has returned nil.
type Delivery struct {
	ID string
	// Signature is that of a request without a timestamp, which would be genuine forever; "" for one with a timestamp.
	Signature string
	// Ping is a request by which GitHub tries out a new webhook.
	Ping bool

	header http.Header
	at     time.Time
}

// ReadDelivery reads the headers of a request: those of Standard Webhooks, or GitHub's. The error is a *HeaderError.
func ReadDelivery(header http.Header) (Delivery, error) {
	delivery := Delivery{header: header}
	standard := header.Get(webhooks.HeaderWebhookID) != "" || header.Get(webhooks.HeaderWebhookSignature) != ""
	switch {
	case standard:
		delivery.ID = header.Get(webhooks.HeaderWebhookID)
		if delivery.ID == "" || header.Get(webhooks.HeaderWebhookSignature) == "" {
			return Delivery{}, &HeaderError{"webhook-id and webhook-signature belong together: send both, and webhook-timestamp"}
		}
		seconds, err := strconv.ParseInt(header.Get(webhooks.HeaderWebhookTimestamp), 10, 64)
		if err != nil {
			return Delivery{}, &HeaderError{"webhook-timestamp must be the time of sending, in seconds since 1970"}
		}
		delivery.at = time.Unix(seconds, 0)
	case header.Get(githubSignature) != "":
		delivery.ID, delivery.Ping = header.Get(githubDelivery), header.Get(githubEvent) == githubPing
		if delivery.ID == "" {
			return Delivery{}, &HeaderError{githubSignature + " needs " + githubDelivery + " beside it: the id of the event"}
		}
		digest, prefixed := strings.CutPrefix(header.Get(githubSignature), githubDigest)
		sum, err := hex.DecodeString(digest)
		if err != nil || !prefixed || len(sum) != sha256.Size {
			return Delivery{}, &HeaderError{githubSignature + " must be sha256= and 64 hexadecimal digits"}
		}
		delivery.Signature = hex.EncodeToString(sum) // of any case one
	default:
		return Delivery{}, &HeaderError{"the request is not signed: send webhook-id, webhook-timestamp and webhook-signature as Standard Webhooks says, " +
			"or " + githubSignature + " and " + githubDelivery + " as GitHub does"}
	}
	if len(delivery.ID) > maxID {
		return Delivery{}, &HeaderError{fmt.Sprintf("the id of the event has %d bytes: at most %d are kept", len(delivery.ID), maxID)}
	}
	return delivery, nil
}

// Verify reports whether the request with this body is signed with a secret, and was sent now: ErrSignature, *KeyError, or, for a
// genuine one that is too old or of the future, *HeaderError.
func (d *Delivery) Verify(secret, body []byte, now time.Time) error {
	if d.Signature != "" { // GitHub signs with the secret as it is typed
		if len(secret) < minKey {
			return shortKey(len(secret))
		}
		mac := hmac.New(sha256.New, secret)
		mac.Write(body)
		if !hmac.Equal([]byte(d.Signature), []byte(hex.EncodeToString(mac.Sum(nil)))) {
			return ErrSignature
		}
		return nil
	}
	key := secret
	if encoded, prefixed := strings.CutPrefix(string(secret), secretPrefix); prefixed {
		var err error
		if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return &KeyError{"the secret begins with whsec_ and what follows is not base64: set it again with `tidewheel secret set`"}
		}
	}
	if len(key) < minKey {
		return shortKey(len(key))
	}
	hook, err := webhooks.NewWebhookRaw(key)
	if err != nil {
		return err
	}
	if hook.VerifyIgnoringTimestamp(body, d.header) != nil { // all else was looked at by ReadDelivery
		return ErrSignature
	}
	if away := now.Sub(d.at).Abs(); away > Tolerance {
		return &HeaderError{fmt.Sprintf("webhook-timestamp is %s away from this server's time, and may be %s: sign the request again, and look at the clocks",
			away.Round(time.Second), Tolerance)}
	}
	return nil
}

func shortKey(length int) error {
	return &KeyError{fmt.Sprintf("the secret has %d bytes, and the key of a webhook needs %d or more: set a longer one with `tidewheel secret set`", length, minKey)}
}
