package engine

import (
	"encoding/json"
	"time"
)

// EffectState is how far an entry of the effect ledger has come.
type EffectState string

// The states.
const (
	EffectOpen EffectState = "open" // an attempt is about to do it, does it, or was lost over it
	EffectDone EffectState = "done" // it is done, once and for all
)

// RunEffect is an entry of the effect ledger: something that a run's program is to do once, however many attempts it
// takes, such as a charge. It is not one of the core's effects: the core knows nothing of it.
type RunEffect struct {
	Run       string      `json:"run"`
	Key       string      `json:"key"` // the program's own name for it; see ValidEffectKey
	Namespace string      `json:"namespace"`
	Revision  int64       `json:"revision"` // 1 at first, one more with each write
	State     EffectState `json:"state"`

	// Who opened it last, and may close it.
	Attempt int    `json:"attempt"`
	Token   uint64 `json:"token"` // the fencing token of that attempt's lock

	CreatedAt time.Time `json:"created_at"`       // when it was opened first
	OpenedAt  time.Time `json:"opened_at"`        // when that attempt opened it
	DoneAt    time.Time `json:"done_at,omitzero"` // when it was closed

	Result json.RawMessage `json:"result,omitempty"` // what it was closed with, compact JSON; nil for nothing
}

// MaxEffectResult bounds the result of an effect, in bytes of JSON.
const MaxEffectResult = 64 << 10

// MaxEffectKey bounds the key of an effect, in bytes.
const MaxEffectKey = 128

// ValidEffectKey reports whether a program may name an effect so: up to MaxEffectKey letters, digits and -_.: of which
// the first is a letter or a digit, so that it is one segment of a URL as it is.
func ValidEffectKey(s string) bool {
	if s == "" || len(s) > MaxEffectKey {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '-' || c == '_' || c == '.' || c == ':'):
		default:
			return false
		}
	}
	return true
}
