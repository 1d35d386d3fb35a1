package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/queue/jetstream/natstest"
	"github.com/tidewheel/tidewheel/queue/queuetest"
	"github.com/tidewheel/tidewheel/spec"
)

// site is a NATS that takes credentials of an account, and those that open everything there.
type site struct {
	url     string
	account *Account
	wide    Credentials
	inside  bool // the server of a Tidewheel
}

func testAccount(t *testing.T) *Account {
	t.Helper()
	random := make([]byte, 32)
	_, _ = rand.Read(random)
	seed, err := AccountSeed(random)
	if err != nil {
		t.Fatal(err)
	}
	account, err := NewAccount(seed, "")
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// embeddedSite is a server of this process that listens.
func embeddedSite(t *testing.T) (site, *Server) {
	t.Helper()
	wide := Credentials{User: "tide", Password: "hush"}
	server, err := StartServer(t.Context(), ServerConfig{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Credentials: wide, Logger: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutdown(t, server) })
	account := testAccount(t).ForServer()
	server.LetExecutorsIn(account, func(string, string) bool { return true })
	return site{server.URL(), account, wide, true}, server
}

// operatorSite is a NATS as it runs elsewhere, whose accounts and users are JWTs; Tidewheel has a signing key of the account.
func operatorSite(t *testing.T) site {
	t.Helper()
	server := natstest.Start(t, serverLine)
	seed, err := os.ReadFile(server.SigningKeyFile)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := NewAccount(seed, server.Account)
	if err != nil {
		t.Fatal(err)
	}
	return site{server.URL, signer.ForServer(), Credentials{File: server.CredentialsFile}, false}
}

const patienceOfTests = 30 * time.Second

// enrolled makes who an executor is at a site, with credentials that engines issue again on each request.
func enrolled(t *testing.T, at site, engines *Queue, grant Grant) *Enrolled {
	t.Helper()
	key, _, err := NewUserKey()
	if err != nil {
		t.Fatal(err)
	}
	grant.PublicKey = key.Public()
	if grant.Until.IsZero() {
		grant.Until = time.Now().Add(time.Hour)
	}
	return &Enrolled{Name: grant.Name, Key: key, Embedded: at.inside, JWT: func() (string, error) { return engines.Issue(context.WithoutCancel(t.Context()), at.account, grant) }}
}

// hybrid is a queue whose executor's side has credentials of an executor, and nothing else.
type hybrid struct {
	*Queue
	executor *Queue
	enrol    func(labels map[string]string)
}

func (h hybrid) Pull(ctx context.Context, config executor.PullConfig, handle func(executor.Delivery)) error {
	h.enrol(config.Labels)
	_ = h.executor.Renew()
	for ctx.Err() == nil && h.executor.Ping(ctx) != nil {
		pause(ctx, 10*time.Millisecond)
	}
	following, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() {
		for pause(following, 200*time.Millisecond) {
			_ = h.executor.Renew() // while the connection is unavailable it fails, and is retried
		}
	})
	defer beside.Wait()
	defer stop()
	return h.executor.Pull(ctx, config, func(d executor.Delivery) { handle(patientDelivery{d}) })
}

// patientDelivery acknowledges until it is sent. A queue does not: what cannot be sent while the connection is recreated, for a pool that
// is new, comes again and finds the claim; the tests of a queue take a task once.
type patientDelivery struct{ executor.Delivery }

func (d patientDelivery) Ack() error {
	for until := time.Now().Add(patienceOfTests); ; {
		err := d.Delivery.Ack()
		if err == nil || time.Now().After(until) {
			return err
		}
		pause(context.Background(), time.Millisecond)
	}
}
func (h hybrid) Lock(ctx context.Context, key string, holder executor.LockHolder, ttl time.Duration) (uint64, error) {
	return h.executor.Lock(ctx, key, holder, ttl)
}
func (h hybrid) Refresh(ctx context.Context, key string, holder executor.LockHolder, revision uint64, ttl time.Duration) (uint64, error) {
	return h.executor.Refresh(ctx, key, holder, revision, ttl)
}
func (h hybrid) Unlock(ctx context.Context, key string, revision uint64) error {
	return h.executor.Unlock(ctx, key, revision)
}
func (h hybrid) Claim(ctx context.Context, result engine.Result) (uint64, error) {
	return h.executor.Claim(ctx, result)
}
func (h hybrid) Report(ctx context.Context, result engine.Result, after uint64) (uint64, error) {
	return h.executor.Report(ctx, result, after)
}
func (h hybrid) DrainOrder(ctx context.Context, id string) (engine.DrainOrder, bool, error) {
	return h.executor.DrainOrder(ctx, id)
}
func (h hybrid) Controls(ctx context.Context, handle func(engine.Control)) error {
	return h.executor.Controls(ctx, handle)
}
func (h hybrid) LogFrame(frame engine.LogFrame) error { return h.executor.LogFrame(frame) }
func (h hybrid) Ping(ctx context.Context) error {
	return errors.Join(h.Queue.Ping(ctx), h.executor.Ping(ctx))
}

// violations fails a test when a NATS says some words, such as that it refuses something.
type violations struct {
	slog.Handler
	t     *testing.T
	words string
}

func (v violations) Handle(ctx context.Context, record slog.Record) error {
	record.Attrs(func(attr slog.Attr) bool {
		if text := attr.Value.String(); strings.Contains(strings.ToLower(text), v.words) {
			v.t.Error(text)
		}
		return true
	})
	return v.Handler.Handle(ctx, record)
}

// TestEnrolledExecutorDoesAllOfAnExecutor holds the executor's side to every promise of the queue with the permissions of an enrolled
// executor, on both kinds of NATS. None of its requests may be refused.
func TestEnrolledExecutorDoesAllOfAnExecutor(t *testing.T) {
	t.Parallel()
	embedded, _ := embeddedSite(t)
	for name, at := range map[string]site{"embedded": embedded, "elsewhere": operatorSite(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var number atomic.Int64
			queuetest.Run(t, func(*testing.T) queuetest.Harness {
				prefix := rand.Text()
				return queuetest.Harness{
					Connect: func(t *testing.T) queuetest.Queue {
						wide := connect(t, Config{URL: at.url, Credentials: at.wide, Prefix: prefix})
						var labels atomic.Pointer[map[string]string]
						labels.Store(&map[string]string{})
						grant := Grant{Name: fmt.Sprintf("x%d", number.Add(1)), Tiers: tiers}
						who := enrolled(t, at, wide, grant)
						who.JWT = func() (string, error) {
							now := grant
							now.PublicKey, now.Labels, now.Until = who.Key.Public(), *labels.Load(), time.Now().Add(time.Hour)
							return wide.Issue(context.WithoutCancel(t.Context()), at.account, now)
						}
						restricted, err := Connect(t.Context(), Config{
							URL: at.url, Prefix: prefix, Enrolled: who, AckWait: testAckWait, ClaimWindow: 4 * testAckWait, Keys: testKeys,
							Logger: slog.New(violations{testLog(t).Handler(), t, "permissions violation"}),
						})
						if err != nil {
							t.Fatal(err)
						}
						t.Cleanup(restricted.Close)
						return hybrid{wide, restricted, func(of map[string]string) { labels.Store(&of) }}
					},
					AckWait: testAckWait, ClaimWindow: 4 * testAckWait,
				}
			})
		})
	}
}

// refusedAt asks a NATS something as an executor, and returns what it refused; "" if it did not.
func refusedAt(t *testing.T, at site, who *Enrolled, subject string, listen bool) string {
	t.Helper()
	refused := make(chan string, 16)
	conn, err := nats.Connect(at.url, append(who.options(), nats.CustomInboxPrefix(inboxPrefix(who.Name)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err.Error() }))...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if listen {
		_, err = conn.SubscribeSync(subject)
	} else {
		err = conn.PublishRequest(subject, conn.NewInbox(), []byte("{}"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil { // what was refused is said before the answer
		t.Fatal(err)
	}
	for range 20 { // the handler runs beside
		select {
		case text := <-refused:
			return text
		case <-time.After(10 * time.Millisecond):
		}
	}
	return ""
}

// TestEnrolledExecutorIsRefusedTheRest tries what an executor's credentials must not do.
func TestEnrolledExecutorIsRefusedTheRest(t *testing.T) {
	t.Parallel()
	embedded, _ := embeddedSite(t)
	for name, at := range map[string]site{"embedded": embedded, "elsewhere": operatorSite(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engines := connect(t, Config{URL: at.url, Credentials: at.wide})
			light := enrolled(t, at, engines, Grant{Name: "light1", Tiers: []spec.Tier{spec.TierLight}})
			for _, c := range []struct {
				what, subject string
				listen        bool
			}{
				{"read another tier's queue", "$JS.API.CONSUMER.MSG.NEXT.TASKS.exec-heavy-standard", false},
				{"acknowledge another tier's task", "$JS.ACK.TASKS.exec-heavy-standard.1.1.1.1.0", false},
				{"read the queue of a pool that it was not given", "$JS.API.CONSUMER.MSG.NEXT.TASKS.exec-light-0123456789abcdef-standard", false},
				{"publish a task", "tasks.light.standard.uid-s1", false},
				{"read a task as it waits", "$JS.API.STREAM.MSG.GET.TASKS", false},
				{"read a task as it waits, from a replica", "$JS.API.DIRECT.GET.TASKS.tasks.light.standard.uid-s1", false},
				{"listen to tasks", "tasks.>", true},
				{"remove a task", "$JS.API.STREAM.MSG.DELETE.TASKS", false},
				{"delete a stream", "$JS.API.STREAM.DELETE.TASKS", false},
				{"purge a stream", "$JS.API.STREAM.PURGE.RESULTS", false},
				{"change a stream", "$JS.API.STREAM.UPDATE.TASKS", false},
				{"make a stream", "$JS.API.STREAM.CREATE.MINE", false},
				{"make a consumer", "$JS.API.CONSUMER.CREATE.RESULTS.mine", false},
				{"make a durable consumer", "$JS.API.CONSUMER.DURABLE.CREATE.TASKS.mine", false},
				{"delete a consumer", "$JS.API.CONSUMER.DELETE.TASKS.exec-light-standard", false},
				{"read the engines' bucket", "$JS.API.STREAM.MSG.GET.KV_LEASES", false},
				{"read a lease", "$JS.API.DIRECT.GET.KV_LEASES.$KV.LEASES.shard.1", false},
				{"read the engines' bucket by number", "$JS.API.DIRECT.GET.KV_LEASES", false},
				{"take a lease", "$KV.LEASES.shard.1", false},
				{"write whom the NATS serves", "$KV.LEASES.store", false},
				{"write the table of pools", "$KV.LEASES.pools", false},
				{"order executors about", "$KV.LEASES.order.other", false},
				{"cancel runs", "control", false},
				{"speak for another executor", "$KV.LEASES.executor.other", false},
				{"read another executor's answers", "_INBOX_heavy1.>", true},
				{"read everybody's answers", "_INBOX.>", true},
				{"listen to results", "results.>", true},
				{"listen to the output of jobs", "logs.>", true},
				{"listen to everything", ">", true},
				{"ask about the account", "$JS.API.INFO", false},
				{"ask the server", "$SYS.REQ.SERVER.PING", false},
			} {
				if text := refusedAt(t, at, light, c.subject, c.listen); !strings.Contains(strings.ToLower(text), "permissions violation") {
					t.Errorf("it may %s (%s): %q", c.what, c.subject, text)
				}
			}
			if text := refusedAt(t, at, light, "$JS.API.CONSUMER.MSG.NEXT.TASKS.exec-light-standard", false); text != "" {
				t.Errorf("it may not take a task of its own tier: %s", text)
			}
		})
	}
}

// Credentials that are not the account's, have expired, or belong to another executor open nothing.
func TestCredentialsThatAreNotGoodOpenNothing(t *testing.T) {
	t.Parallel()
	embedded, _ := embeddedSite(t)
	for name, at := range map[string]site{"embedded": embedded, "elsewhere": operatorSite(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engines := connect(t, Config{URL: at.url, Credentials: at.wide})
			grant := Grant{Name: "light1", Tiers: []spec.Tier{spec.TierLight}}
			good := enrolled(t, at, engines, grant)
			forged := enrolled(t, site{account: testAccount(t), inside: at.inside}, engines, grant)
			grant.Until = time.Now().Add(-time.Second)
			expired := enrolled(t, at, engines, grant)
			stolen := enrolled(t, at, engines, grant)
			stolen.JWT = good.JWT
			copied := enrolled(t, at, engines, grant)
			copied.JWT, copied.Key = good.JWT, &UserKey{copied.Key.pair, good.Key.public} // it names the key, and does not have it
			for words, who := range map[string]*Enrolled{"forged": forged, "expired": expired, "of another executor": stolen, "without the key": copied} {
				_, err := Connect(t.Context(), Config{URL: at.url, Enrolled: who, Logger: testLog(t)})
				if err == nil || !strings.Contains(err.Error(), "refuses the credentials of this executor") {
					t.Errorf("%s: %v", words, err)
				}
			}
			_ = connect(t, Config{URL: at.url, Enrolled: good})
		})
	}
}

// A connection ends when its credentials expire, and continues with those that were renewed.
func TestCredentialsAreRenewedWithoutAStop(t *testing.T) {
	t.Parallel()
	embedded, _ := embeddedSite(t)
	for name, at := range map[string]site{"embedded": embedded, "elsewhere": operatorSite(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engines := connect(t, Config{URL: at.url, Credentials: at.wide})
			grant := Grant{Name: "light1", Tiers: []spec.Tier{spec.TierLight}}
			who := enrolled(t, at, engines, grant)
			grant.PublicKey = who.Key.Public()
			who.JWT = func() (string, error) {
				now := grant
				now.Until = time.Now().Add(6 * time.Second)
				return engines.Issue(context.WithoutCancel(t.Context()), at.account, now)
			}
			q, err := Connect(t.Context(), Config{
				URL: at.url, Enrolled: who, AckWait: testAckWait, Keys: testKeys, Logger: slog.New(violations{testLog(t).Handler(), t, "expired"}),
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(q.Close)
			came := make(chan struct{}, 8)
			pullOne(t, q, func(d executor.Delivery) {
				if err := d.Ack(); err != nil {
					t.Error(err)
				}
				came <- struct{}{}
			})
			before := *who.used.Load()
			for began, i := time.Now(), 0; time.Since(began) < 14*time.Second; i++ { // more than two lives
				task := signedTask()
				task.Run = fmt.Sprintf("uid-s%d", i)
				published := make(chan error, 1)
				engines.Publish(task, func(err error) { published <- err })
				if err := <-published; err != nil {
					t.Fatal(err)
				}
				select {
				case <-came:
				case <-time.After(patienceOfTests):
					t.Fatal("the executor takes nothing any more")
				}
				if !pause(t.Context(), time.Second) {
					return
				}
				if err := q.Renew(); err != nil {
					t.Fatal(err)
				}
			}
			if *who.used.Load() == before {
				t.Error("it was never renewed")
			}
		})
	}
}

// Who is not allowed any more loses the connection to an embedded server, and gets no other.
func TestEmbeddedServerThrowsExecutorsOut(t *testing.T) {
	t.Parallel()
	at, server := embeddedSite(t)
	engines := connect(t, Config{URL: at.url, Credentials: at.wide})
	var revoked atomic.Bool
	server.LetExecutorsIn(at.account, func(name, _ string) bool { return name != "gone" || !revoked.Load() })
	goes := enrolled(t, at, engines, Grant{Name: "gone", Tiers: tiers})
	gone := connect(t, Config{URL: at.url, Enrolled: goes})
	stays := connect(t, Config{URL: at.url, Enrolled: enrolled(t, at, engines, Grant{Name: "stays", Tiers: tiers})})
	allowed := func(name, _ string) bool { return name != "gone" }
	revoked.Store(true)
	if names := server.ThrowOut(allowed); len(names) != 1 || names[0] != "gone" {
		t.Errorf("thrown out: %v", names)
	}
	if err := stays.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if err := gone.Ping(t.Context()); err == nil {
		t.Error("it is still connected")
	}
	if _, err := Connect(t.Context(), Config{URL: at.url, Enrolled: goes, Logger: testLog(t)}); err == nil {
		t.Error("it connects again")
	}
}

// An enrolled executor makes nothing: without engines it waits, and says so.
func TestEnrolledExecutorWaitsForEngines(t *testing.T) {
	t.Parallel()
	at, server := embeddedSite(t)
	engines := connect(t, Config{URL: at.url, Credentials: at.wide, Prefix: "one"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	who := enrolled(t, at, engines, Grant{Name: "x", Tiers: tiers})
	who.JWT = func() (string, error) {
		return at.account.issue(&Grant{Name: "x", PublicKey: who.Key.Public(), Until: time.Now().Add(time.Hour)}, ExecutorPermissions("two", "x", tiers, nil))
	}
	_, err := Connect(ctx, Config{URL: at.url, Prefix: "two", Timeout: 200 * time.Millisecond, Logger: testLog(t),
		Enrolled: who})
	if err == nil || !strings.Contains(err.Error(), "start an engine with this NATS first") {
		t.Errorf("on a NATS without streams it says %v", err)
	}
	if streams, err := server.nats.Jsz(&natsserver.JSzOptions{}); err != nil || streams.Streams != 4 {
		t.Errorf("there are %+v, %v", streams, err)
	}
}
