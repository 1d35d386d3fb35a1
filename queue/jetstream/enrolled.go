package jetstream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// current returns the latest credentials, for a connection that is made now.
func (e *Enrolled) current() (string, error) {
	text, err := e.JWT()
	if err != nil {
		return "", wrap("read the credentials of this executor", err)
	}
	e.used.Store(&text)
	return text, nil
}

// options show the credentials to a NATS.
func (e *Enrolled) options() []nats.Option {
	if !e.Embedded {
		return []nats.Option{nats.UserJWT(e.current, e.Key.Sign)}
	}
	return []nats.Option{nats.Nkey(e.Key.Public(), e.Key.Sign), nats.TokenHandler(func() string {
		text, _ := e.current() // without credentials the server refuses, and it is retried
		return text
	})}
}

// mayTake reports whether the credentials of the connection let this process take the tasks of a pool.
func (q *Queue) mayTake(pool string) bool {
	if q.config.Enrolled == nil {
		return true
	}
	used := q.config.Enrolled.used.Load()
	if used == nil {
		return false
	}
	may, err := permissionsOf(*used)
	return err == nil && may.mayTake(&q.names, pool)
}

// Renew connects again if there are credentials that let do something else than those that the connection was made with, or if half the
// life of these is over: a NATS ends a connection when its credentials expire. What waits for an answer is asked again.
func (q *Queue) Renew() error {
	enrolled := q.config.Enrolled
	latest, err := enrolled.JWT()
	if err != nil {
		return wrap("jetstream: renew the connection", err)
	}
	if used := enrolled.used.Load(); used != nil && (*used == latest || samePermissions(*used, latest) && !halfOver(*used, time.Now())) {
		return nil
	}
	return wrap("jetstream: renew the connection", q.conn.ForceReconnect())
}

// awaitQueue waits until engines have made the streams and buckets, which an enrolled executor may not.
func (q *Queue) awaitQueue(ctx context.Context) error {
	limit := time.Now().Add(startPatience)
	for try := 0; ; try++ {
		found, err := q.protocolInUse(ctx)
		switch {
		case err == nil && found > protocol:
			return wrap("jetstream", &NewerError{Address: q.config.address(), Found: found, Known: protocol})
		case err == nil && found > 0:
			return nil
		case err == nil:
			err = errors.New("no engine has been at work there")
		}
		if time.Now().After(limit) || ctx.Err() != nil {
			return fmt.Errorf("jetstream: %s is not ready for executors: start an engine with this NATS first: %w", q.config.address(), err)
		}
		q.log.Warn("the queue is not ready; trying again", "error", err)
		pause(ctx, backoff(try))
	}
}

// protocolInUse is the protocol that nodes have agreed on, 0 if none has come yet.
func (q *Queue) protocolInUse(ctx context.Context) (int, error) {
	last, err := q.last(ctx, "KV_"+q.names.leases, q.names.entry("protocol"))
	if err != nil || last == nil {
		return 0, err
	}
	return strconv.Atoi(string(last.data))
}

// lastEntry returns the last entry of LEASES under a subject, nil if there is none. Any replica may answer, so that what was written
// just now may be missing: an enrolled executor reads nothing there that it decides by at once.
func (q *Queue) lastEntry(ctx context.Context, subject string) (*stored, error) {
	answer, err := q.requests.do(ctx, &nats.Msg{Subject: q.names.directGet(subject)})
	if err != nil {
		return nil, err
	}
	at, found, err := readDirect(answer)
	if err != nil || at == math.MaxUint64 {
		return nil, wrap("read "+subject, err)
	}
	return &stored{subject: subject, sequence: at, at: found, header: answer.Header, data: answer.Data}, nil
}
