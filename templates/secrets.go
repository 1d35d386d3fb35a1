package templates

import (
	"net/url"
	"time"
)

// Secrets is the list of the secrets of a namespace, and the form that sets one.
type Secrets struct {
	Page    Page
	Rows    []SecretRow
	Pager   Pager
	Name    string // what the form begins with
	Problem string // why a value was not taken; "" for nothing
	More    bool   // not every definition was looked at to tell who uses them
}

// SecretRow is what there is to say of a secret but its value.
type SecretRow struct {
	Name    string
	Version int64
	By      string
	At      time.Time
	Users   []string // jobs, and tasks as dag/task
}

func (r SecretRow) again() string {
	return SecretsPath + "?" + url.Values{"name": {r.Name}}.Encode() + "#set"
}

// SecretsPath is the address of the list.
const SecretsPath = "/settings/secrets"

// SecretPath is the address of what is done with a secret.
func SecretPath(name, act string) string { return SecretsPath + "/" + url.PathEscape(name) + "/" + act }

// SecretDelete asks before a secret is deleted.
type SecretDelete struct {
	Page   Page
	Secret SecretRow
}
