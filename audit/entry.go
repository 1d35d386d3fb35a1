package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Outcome is the result of a request.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Refused Outcome = "refused" // it may not be done, or not by them, or not as it was asked for
	Failed  Outcome = "failed"  // it was tried: how much of it was done is in the server's log
)

// Entry is one line of the log.
type Entry struct {
	Number int64     `json:"number"` // 1, 2, 3, …
	At     time.Time `json:"at"`     // to the millisecond, by the clock of the node that was asked

	By        string `json:"by"`              // "ada", or "ada/deploy" for a token of that user; "" for an unknown user
	Remote    string `json:"remote"`          // the address that asked
	RequestID string `json:"request_id"`      // as in the server's log
	Agent     string `json:"agent,omitempty"` // what the program that asked calls itself

	Namespace string  `json:"namespace,omitempty"`
	Action    string  `json:"action"` // "POST /api/v1/jobs/{name}/pause"
	Target    string  `json:"target"` // "/api/v1/jobs/nightly-report/pause"
	Outcome   Outcome `json:"outcome"`
	Status    int     `json:"status"` // of HTTP

	// Changes are what was changed, in short. Absent where the action and the target say all, and where nothing was.
	Changes []Change `json:"changes,omitempty"`

	Previous string `json:"previous,omitempty"` // the hash of the entry before; "" for the first
	Hash     string `json:"hash,omitempty"`     // SHA-256 over all of the above, in hex
}

// sum returns the hash of an entry: SHA-256 over its JSON without its own hash. The fields of a struct keep their order.
func (e Entry) sum() string {
	e.Hash = ""
	text, err := json.Marshal(e)
	if err != nil { // a time beyond the year 9999
		text = fmt.Appendf(nil, "%+v", e)
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}

// follow puts an entry behind the previous one.
func (e Entry) follow(number int64, previous string) Entry {
	e.Number, e.Previous = number, previous
	e.At = e.At.UTC().Truncate(time.Millisecond)
	e.Hash = e.sum()
	return e
}
