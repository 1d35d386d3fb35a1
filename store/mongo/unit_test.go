package mongo

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/tidewheel/tidewheel/engine"
)

func TestCursorComesBack(t *testing.T) {
	for _, want := range []position{{0, "a"}, {-5, "uid-s1.2"}, {1_800_000_000_123, "default/x"}} {
		got, err := parsePosition(want.cursor())
		if err != nil || *got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
	if got, err := parsePosition(""); got != nil || err != nil {
		t.Errorf("no cursor: %+v, %v", got, err)
	}
	for _, bad := range []string{"x", "!", "MS4", "AAAA", encodeCursor("12"), encodeCursor("a.b"), encodeCursor("1.")} {
		if _, err := parsePosition(bad); !errors.Is(err, engine.ErrCursor) {
			t.Errorf("cursor %q: %v", bad, err)
		}
	}
}

func TestKeyComesBackAndCanBeAFieldsName(t *testing.T) {
	for _, key := range []string{"", "a", "a.b", "$a", "$", "a$", "%", "%2E", "%25", "%-", "..", "\x00", "ü.世", "%%2E%"} {
		escaped := escapeKey(key)
		if escaped == "" || escaped[0] == '$' || strings.ContainsAny(escaped, ".\x00") {
			t.Errorf("%q becomes %q", key, escaped)
		}
		if back := unescapeKey(escaped); back != key {
			t.Errorf("%q becomes %q becomes %q", key, escaped, back)
		}
	}
}

func TestErrorsAreClassified(t *testing.T) {
	bulk := func(code int) error {
		return mongo.BulkWriteException{WriteErrors: []mongo.BulkWriteError{{WriteError: mongo.WriteError{Code: code}}}}
	}
	for _, test := range []struct {
		name  string
		err   error
		again bool
	}{
		{"duplicate key", bulk(11000), true},
		{"deadlock of an imitation", mongo.CommandError{Code: 1, Message: "deadlock detected"}, true},
		{"write conflict", bulk(112), true},
		{"not the primary any more", mongo.CommandError{Code: 10107, Labels: []string{"RetryableWriteError"}}, true},
		{"network", mongo.CommandError{Labels: []string{"NetworkError"}}, true},
		{"majority not reached", mongo.BulkWriteException{WriteConcernError: &mongo.WriteConcernError{Code: 64}}, true},
		{"too large", bulk(10334), false},
		{"not allowed", mongo.CommandError{Code: 13}, false},
		{"closed", mongo.ErrClientDisconnected, false},
		{"no server", topology.ServerSelectionError{Wrapped: context.DeadlineExceeded}, false},
		{"cannot be encoded", mongo.MarshalError{Err: errors.New("x")}, false},
	} {
		if got := worthRetrying(t.Context(), test.err); got != test.again {
			t.Errorf("%s: %v", test.name, got)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if worthRetrying(ended, bulk(112)) {
		t.Error("an operation whose context has ended is tried again")
	}
}

func TestMessagesSayWhatToDo(t *testing.T) {
	s := &Store{hosts: "db1:27017"}
	for _, test := range []struct {
		err  error
		is   error
		says string
	}{
		{mongo.CommandError{Code: 18, Message: "no"}, ErrCredentials, "authSource"},
		{topology.ServerSelectionError{Wrapped: context.DeadlineExceeded}, ErrUnreachable, "db1:27017"},
		{mongo.CommandError{Labels: []string{"NetworkError"}}, ErrUnreachable, "runs at"},
		{engine.ErrNotFound, engine.ErrNotFound, "mongo: commit: not found"},
	} {
		if err := s.failed("commit", test.err); !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v", err)
		}
	}
	long := topology.ServerSelectionError{Wrapped: errors.New(strings.Repeat("server selection ", 50))}
	var brief interface{ Brief() string }
	if err := s.failed("commit", long); !errors.As(err, &brief) || brief.Brief() != "no MongoDB is reached at db1:27017" || !errors.Is(err, long.Wrapped) {
		t.Errorf("%v has no short form", err)
	}
	if err := s.failed("commit", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

func TestOpenRefusesWhatCannotBe(t *testing.T) {
	for _, test := range []struct {
		uri    string
		config Config
		is     error
	}{
		{"localhost:27017", Config{}, ErrURI},
		{"postgres://localhost", Config{}, ErrURI},
		{"mongodb://user:p@ss:secret@localhost", Config{}, ErrURI},
		{"mongodb://user:secret@127.0.0.1:1/?connectTimeoutMS=100", Config{ServerSelectionTimeout: 50 * time.Millisecond}, ErrUnreachable},
	} {
		_, err := Open(t.Context(), test.uri, test.config)
		if !errors.Is(err, test.is) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", test.uri, err)
		}
	}
	if _, err := Open(t.Context(), "mongodb://localhost", Config{BulkSize: 5000}); err == nil || !strings.Contains(err.Error(), "bulk size") {
		t.Errorf("a bulk size of 5000: %v", err)
	}
}

func TestDatabaseOfConnectionString(t *testing.T) {
	for uri, want := range map[string]string{
		"mongodb://localhost": DefaultDatabase, "mongodb://a,b:1/?x=y": DefaultDatabase,
		"mongodb://u:p@a:1,b:2/data?replicaSet=r": "data", "mongodb+srv://cluster.example/a%20b": "a b",
	} {
		if got := databaseOf(uri); got != want {
			t.Errorf("%s: %q, want %q", uri, got, want)
		}
	}
}

// The ledger's pages are made of two lists, and name places in them by engine.Cursor.
func TestPlacesOfTheLedgerAreUnderstood(t *testing.T) {
	want := position{1_800_000_000_123, "uid-s1"}
	word := engine.Cursor{At: instant(want.at), ID: want.id}.Encode("slots")
	if got, err := parsePlace("slots", word); err != nil || got == nil || *got != want {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := parsePlace("slots", want.cursor()); err != nil || got == nil || *got != want {
		t.Errorf("the store's own: %v, %v", got, err)
	}
	if _, err := parsePlace("runs", word); !errors.Is(err, engine.ErrCursor) {
		t.Errorf("of another list: %v", err)
	}
	if got, err := parsePlace("runs", ""); got != nil || err != nil {
		t.Errorf("the beginning: %v, %v", got, err)
	}
}
