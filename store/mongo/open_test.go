package mongo

import (
	"errors"
	"strings"
	"testing"
)

func TestPasswordsAreTakenOutOfMessages(t *testing.T) {
	for _, test := range []struct{ uri, text, want string }{
		{"mongodb://ada:correcthorse@host", "no user correcthorse at host", "no user *** at host"},
		{"mongodb://ada:correct%20horse@host", "no user correct horse, correct%20horse", "no user ***, ***"},
		{"mongodb://ada:p@ss:word@host", "bad p@ss:word", "bad ***"},
		{"mongodb://ada:o@host:x", "error parsing uri: port o", "error parsing uri: port o"}, // the letter is in every word
		{"mongodb://ada:o@host:x", `ada:o@host is wrong, and "o" too`, `ada:***@host is wrong, and "***" too`},
		{"mongodb://ada:o@host:x", "cannot read mongodb://ada:o@host:x at all", "cannot read (the connection string) at all"},
		{"mongodb://ada@host", "no password for ada", "no password for ada"},
		{"mongodb://ada:@host", "an empty password", "an empty password"},
		{"mongodb://host", "no user at all", "no user at all"},
	} {
		if got := redact(test.uri, test.text); got != test.want {
			t.Errorf("%s: %q became %q, want %q", test.uri, test.text, got, test.want)
		}
	}
}

func TestInvalidConnectionStringIsReportedWithoutItsPassword(t *testing.T) {
	for uri, words := range map[string]string{
		"mongodb://ada:e@host:x":      "error parsing uri: invalid host",
		"mongodb://ada:pre%zq9@host":  "invalid password: write a % in it as %25",
		"mongodb://ada:sec/ret7@host": "unescaped slash in password",
	} {
		_, err := connect(uri, Config{})
		if !errors.Is(err, ErrURI) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v; want words like %q", uri, err, words)
			continue
		}
		for _, secret := range []string{"zq9", "ret7", "***"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the message holds %q: %v", uri, secret, err)
			}
		}
	}
}
