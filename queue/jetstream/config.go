package jetstream

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/signing"
)

// Config defines which NATS to use and how. Exactly one of Server and URL is required, and Logger.
type Config struct {
	// Server is an embedded server of this process, reached without a port.
	Server *Server
	// URL is one or more addresses of a NATS with JetStream, separated by commas: "nats://host:4222".
	URL string
	// Credentials for URL; a Server knows its own.
	Credentials Credentials
	// TLS says whom to trust at URL, and who connects.
	TLS TLS
	// Enrolled is for an executor with credentials of its own, in the place of Credentials; nil: this connection may do everything.
	Enrolled *Enrolled
	// Name is what the NATS server shows for this connection, e.g. "tidewheel executor a1".
	Name string
	// Prefix keeps several Tidewheels apart on one NATS; letters, digits, '-' and '_'. Default none.
	Prefix string
	// Replicas of every stream and bucket: 1 (default), 3 or 5.
	Replicas int
	// AckWait is how long after an executor was heard of last a delivered task that it did not acknowledge is delivered
	// again; default 2 s. An executor that has it in hand says so all the while: this is what a task loses that never
	// reached one, because the connection broke under it, or whose executor died.
	AckWait time.Duration
	// ClaimWindow is how long results are kept at least, even if every shard has seen them: as long as copies of their
	// tasks can still turn up; default 2 min. It must be several times as long as locks live.
	ClaimWindow time.Duration
	// ResultsLimit is how many bytes RESULTS may hold before executors take nothing new; default 4 GiB.
	ResultsLimit int64
	// Timeout of a request to JetStream; default 5 s.
	Timeout time.Duration
	// Keys sign what is published and verify what is pulled. They may be filled after Connect. Default: none, so that nothing
	// is published and all that is pulled is refused.
	Keys *signing.Ring
	// Logger gets what happens to the connection.
	Logger *slog.Logger
}

// Credentials prove who connects. At most one way may be given.
type Credentials struct {
	User, Password string
	Token          string
	File           string // a NATS .creds file
}

// Enrolled says who an executor is. Its connection may do no more than ExecutorPermissions: it works with the streams and buckets that
// are there, and makes none.
type Enrolled struct {
	// Name of the executor, unique among those that are enrolled; letters, digits, '-' and '_'.
	Name string
	// JWT returns the latest credentials; it is called whenever the connection is made.
	JWT func() (string, error)
	// Key proves that they are this executor's.
	Key *UserKey
	// Embedded means that the NATS is embedded in a node of Tidewheel. It takes the credentials as a token: a NATS without an operator
	// passes over JWTs.
	Embedded bool

	used atomic.Pointer[string] // the credentials that the connection was made with
}

// TLS names files of a connection to a NATS outside; they are read again whenever the connection is made again. A
// connection with one of them is never made without TLS. Without them TLS is used where the NATS asks for it, and the
// machine's authorities are trusted.
type TLS struct {
	CAs       string // certificates of the authorities to trust
	Cert, Key string // what proves who connects; both or neither
}

func (c Credentials) validate() error {
	ways := 0
	for _, given := range []bool{c.User != "" || c.Password != "", c.Token != "", c.File != ""} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return errors.New("give a user and password, or a token, or a credentials file: only one of them")
	}
	if c.Password != "" && c.User == "" {
		return errors.New("a password needs a user")
	}
	return nil
}

func (c *Config) validate() error {
	switch {
	case c.Server == nil && c.URL == "":
		return errors.New("jetstream: neither a server nor a NATS URL is given")
	case c.Server != nil && c.URL != "":
		return errors.New("jetstream: both an embedded server and a NATS URL are given: use one")
	case c.Logger == nil:
		return errors.New("jetstream: no logger is given")
	case c.Enrolled != nil && (c.Server != nil || c.Credentials != Credentials{} || !engine.ValidID(c.Enrolled.Name)):
		return errors.New("jetstream: an enrolled executor has a name and a NATS URL, and no other credentials")
	case c.Prefix != "" && !engine.ValidID(c.Prefix):
		return fmt.Errorf("jetstream: prefix %q: use letters, digits, '-' and '_'", c.Prefix)
	case c.Replicas < 0 || c.Replicas > 5:
		return fmt.Errorf("jetstream: %d replicas: use 1, 3 or 5", c.Replicas)
	case c.AckWait < 0 || c.Timeout < 0 || c.ClaimWindow < 0:
		return errors.New("jetstream: a wait cannot be negative")
	case c.ResultsLimit < 0:
		return errors.New("jetstream: the limit of results cannot be negative")
	}
	if err := c.Credentials.validate(); err != nil {
		return fmt.Errorf("jetstream: credentials: %w", err)
	}
	c.Replicas = max(c.Replicas, 1)
	if c.AckWait == 0 {
		c.AckWait = 2 * time.Second
	}
	if c.ClaimWindow == 0 {
		c.ClaimWindow = 2 * time.Minute
	}
	if c.ResultsLimit == 0 {
		c.ResultsLimit = 4 << 30
	}
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	if c.Keys == nil {
		c.Keys = &signing.Ring{}
	}
	if c.Name == "" {
		c.Name = "tidewheel"
	}
	return nil
}

// address is how messages for people name the NATS, without the password.
func (c *Config) address() string {
	if c.Server != nil {
		return "the embedded NATS"
	}
	shown := make([]string, 0, 1)
	for url := range strings.SplitSeq(c.URL, ",") {
		if at := strings.LastIndex(url, "@"); at >= 0 {
			scheme, _, ok := strings.Cut(url, "://")
			if ok {
				url = scheme + "://" + url[at+1:]
			} else {
				url = url[at+1:]
			}
		}
		shown = append(shown, strings.TrimSpace(url))
	}
	return "NATS at " + strings.Join(shown, ", ")
}
