package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/signing"
	"github.com/tidewheel/tidewheel/spec"
)

func signedTask() *engine.Task {
	return &engine.Task{
		Run: "yjouwbosezaopxvn-s1", Attempt: 1, Shard: 3, JobUID: "yjouwbosezaopxvn", Lock: "yjouwbosezaopxvn", Namespace: "default", Job: "job",
		Tier: spec.TierLight, Class: spec.ClassStandard, Digest: "0123", Kind: "elf", Args: []string{"--day", "1"},
	}
}

// plant puts a message into TASKS, as an attacker who reaches NATS can.
func plant(t *testing.T, q *Queue, message *nats.Msg) {
	t.Helper()
	answer, err := q.requests.do(t.Context(), message)
	if err == nil {
		_, err = acknowledged(answer)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// signedMessage is a task as an engine signs it at an instant.
func signedMessage(t *testing.T, q *Queue, ring *signing.Ring, task *engine.Task, at time.Time) *nats.Msg {
	t.Helper()
	data, err := encodeTask(nil, task)
	if err != nil {
		t.Fatal(err)
	}
	message := &nats.Msg{Subject: q.names.task("light", "standard", task.Run), Data: data, Header: nats.Header{}}
	sign(t, ring, message, at)
	return message
}

func sign(t *testing.T, ring *signing.Ring, message *nats.Msg, at time.Time) {
	t.Helper()
	signatures, err := ring.Sign(at, []signing.Message{signedPart(purposeTask, message)})
	if err != nil {
		t.Fatal(err)
	}
	message.Header[headerSignature] = signatures
}

// pullOne hands the deliveries of a light executor to handle until the test ends.
func pullOne(t *testing.T, q *Queue, handle func(executor.Delivery)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var pulling sync.WaitGroup
	pulling.Go(func() {
		if err := q.Pull(ctx, executor.PullConfig{Executor: "x", Tiers: []spec.Tier{spec.TierLight}, Slots: 4}, handle); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); pulling.Wait() })
}

func ownServer(t *testing.T) *Server {
	t.Helper()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() {
		if err := server.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// A task whose first copy was lost on its way is asked to be stored again, and is still what was signed.
func TestTaskThatIsSentAgainForWantOfAnAnswerRuns(t *testing.T) {
	t.Parallel()
	q := connect(t, Config{Server: ownServer(t), Prefix: engineName(t.Name())})
	plant(t, q, repeated(signedMessage(t, q, testKeys, signedTask(), time.Now())))
	errs := make(chan error, 1)
	pullOne(t, q, func(d executor.Delivery) {
		_, err := d.Task()
		errs <- errors.Join(err, d.Ack())
	})
	if err := <-errs; err != nil {
		t.Error(err)
	}
}

func TestTaskThatNoEngineSignedAsItIsDoesNotRun(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	now := time.Now()
	for name, of := range map[string]struct {
		forge func(t *testing.T, q *Queue, m *nats.Msg)
		want  engine.RefusalReason
		wake  bool
	}{
		"no signature":              {func(_ *testing.T, _ *Queue, m *nats.Msg) { m.Header = nil }, engine.RefusedForged, false},
		"no sense in the signature": {func(_ *testing.T, _ *Queue, m *nats.Msg) { m.Header.Set(headerSignature, "1.x") }, engine.RefusedForged, false},
		"other arguments": {func(t *testing.T, q *Queue, m *nats.Msg) {
			task := signedTask()
			task.Args[1] = "2"
			m.Data = signedMessage(t, q, testKeys, task, now).Data
		}, engine.RefusedAltered, false},
		"another run": {func(_ *testing.T, q *Queue, m *nats.Msg) { m.Subject = q.names.task("light", "standard", "other-s1") }, engine.RefusedAltered, false},
		"another class": {func(_ *testing.T, q *Queue, m *nats.Msg) {
			m.Subject = q.names.task("light", "premium", signedTask().Run)
		}, engine.RefusedAltered, false},
		"a second publish that looks like the first": {func(t *testing.T, _ *Queue, m *nats.Msg) {
			m.Header.Set(headerAgain, "1")
			sign(t, testKeys, m, now)
			m.Header.Del(headerAgain)
		}, engine.RefusedAltered, false},
		"signed as a permission": {func(t *testing.T, _ *Queue, m *nats.Msg) {
			signatures, err := testKeys.Sign(now, []signing.Message{signedPart(purposeBegin, m)})
			if err != nil {
				t.Fatal(err)
			}
			m.Header[headerSignature] = signatures
		}, engine.RefusedAltered, false},
		"signed two days ago":   {func(t *testing.T, _ *Queue, m *nats.Msg) { sign(t, testKeys, m, now.Add(-48*time.Hour)) }, engine.RefusedExpired, true},
		"signed in two days":    {func(t *testing.T, _ *Queue, m *nats.Msg) { sign(t, testKeys, m, now.Add(48*time.Hour)) }, engine.RefusedExpired, true},
		"of a key of strangers": {func(t *testing.T, _ *Queue, m *nats.Msg) { sign(t, ringOf(newKeys()), m, now) }, engine.RefusedForged, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := connect(t, Config{Server: server, Prefix: engineName(name)})
			woken := make(chan engine.Wake, 10)
			hearing, stop := context.WithCancel(t.Context())
			var hears sync.WaitGroup
			hears.Go(func() {
				if err := q.Wakes(hearing, func(wake engine.Wake) { woken <- wake }); err != nil {
					t.Error(err)
				}
			})
			defer hears.Wait()
			defer stop()
			message := signedMessage(t, q, testKeys, signedTask(), now)
			of.forge(t, q, message)
			errs := make(chan error, 100)
			plant(t, q, message)
			pullOne(t, q, func(d executor.Delivery) {
				_, err := d.Task()
				var refused *executor.RefusedError
				var notYet *executor.NotYetError
				switch {
				case errors.As(err, &refused):
					errs <- errors.Join(err, d.Refuse(refused))
				case !errors.As(err, &notYet) || name != "of a key of strangers":
					errs <- err
				case d.Nak(notYet.Delay) != nil:
					t.Error("it cannot be put back")
				}
			})
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			times := 0
			for gone := false; !gone || times == 0; { // the task is removed before its handler sends the error
				select {
				case err := <-errs:
					times++
					var refused *executor.RefusedError
					if !errors.As(err, &refused) || refused.Reason != of.want {
						t.Fatalf("it said %v, want that it is %s", err, of.want)
					}
				case <-tick.C:
					waiting, err := q.last(t.Context(), q.names.tasks, message.Subject)
					if err != nil {
						t.Fatal(err)
					}
					gone = waiting == nil
				}
			}
			if times != 1 {
				t.Errorf("it was refused %d times", times)
			}
			if of.wake {
				if wake := <-woken; wake.Key != signedTask().Run || wake.Kind != engine.WakeTask {
					t.Errorf("the engine was notified of %+v", wake)
				}
			}
			if len(woken) > 0 {
				t.Errorf("the engine was notified of %+v of what may be no run of its own", <-woken)
			}
		})
	}
}

// engineName makes a prefix of a test's name.
func engineName(name string) string {
	clean := []byte(name)
	for i, c := range clean {
		if c == ' ' {
			clean[i] = '_'
		}
	}
	return string(clean)
}

// An executor with newer keys may be there: one that does not know a key lets it have the task at first.
func TestTaskOfAnUnknownKeyIsPutBackBeforeItIsRefused(t *testing.T) {
	t.Parallel()
	q := connect(t, Config{Server: ownServer(t)})
	answers := make(chan error, 10)
	plant(t, q, signedMessage(t, q, ringOf(newKeys()), signedTask(), time.Now()))
	pullOne(t, q, func(d executor.Delivery) {
		_, err := d.Task()
		var notYet *executor.NotYetError
		var refused *executor.RefusedError
		switch {
		case errors.As(err, &notYet):
			err = errors.Join(err, d.Nak(notYet.Delay))
		case errors.As(err, &refused):
			err = errors.Join(err, d.Refuse(refused))
		}
		answers <- err
	})
	for number := 1; number <= strangerTries; number++ {
		var notYet *executor.NotYetError
		if err := <-answers; errors.As(err, &notYet) != (number < strangerTries) || !errors.Is(err, signing.ErrUnknownKey) {
			t.Fatalf("delivery %d: %v", number, err)
		}
	}
}

// Claims are kept for a while only: a copy that an attacker kept and sends again later would find none in its way.
func TestOldTaskMustBeConfirmed(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	for name, of := range map[string]struct {
		age     time.Duration
		confirm bool
	}{
		"fresh": {0, false}, "younger_than_claims": {2 * testAckWait, false}, "as_old_as_claims": {4 * testAckWait, true}, "of_yesterday": {20 * time.Hour, true},
		"of_tomorrow": {-20 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := connect(t, Config{Server: server, Prefix: name})
			plant(t, q, signedMessage(t, q, testKeys, signedTask(), time.Now().Add(-of.age)))
			why := make(chan string, 10)
			pullOne(t, q, func(d executor.Delivery) {
				if _, err := d.Task(); err != nil {
					t.Error(err)
				}
				why <- d.Confirm()
				if err := d.Ack(); err != nil {
					t.Error(err)
				}
			})
			if got := <-why; (got != "") != of.confirm {
				t.Errorf("it must be confirmed because %q; want %v", got, of.confirm)
			}
		})
	}
}

func TestPermissionThatNoEngineSignedIsPassedOver(t *testing.T) {
	t.Parallel()
	q := connect(t, Config{Server: ownServer(t)})
	heard := make(chan engine.Control, 10)
	ctx, cancel := context.WithCancel(t.Context())
	var hears sync.WaitGroup
	hears.Go(func() {
		if err := q.Controls(ctx, func(control engine.Control) { heard <- control }); err != nil {
			t.Error(err)
		}
	})
	defer hears.Wait()
	defer cancel()
	begin := engine.Control{Kind: engine.ControlBegin, Run: "a-s1", Attempt: 1, Executor: "x", Token: 7}
	watch := engine.Control{Kind: engine.ControlWatch, Run: "a-s1", Attempt: 1}
	for { // until the subscription is there
		if err := q.Ask(t.Context(), watch); err != nil {
			t.Fatal(err)
		}
		select {
		case <-heard:
		case <-time.After(50 * time.Millisecond):
			continue
		}
		break
	}
	forged := begin
	forged.Token = 8
	data, err := json.Marshal(forged)
	if err != nil {
		t.Fatal(err)
	}
	other := &nats.Msg{Subject: q.names.control(), Data: data, Header: nats.Header{}}
	sign(t, testKeys, other, time.Now()) // as a task, which permits nothing
	if err := errors.Join(q.hint(q.names.control(), forged), q.conn.PublishMsg(other), q.Ask(t.Context(), begin)); err != nil {
		t.Fatal(err)
	}
	for control := range heard {
		if control.Kind == engine.ControlWatch {
			continue // one of those of before
		}
		if control != begin {
			t.Errorf("%+v was let through", control)
		}
		break
	}
}

func TestNodeWithoutAPrivateKeyPublishesNothing(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	q := connect(t, Config{Server: server, Keys: &signing.Ring{}})
	published := make(chan error, 1)
	q.Publish(signedTask(), func(err error) { published <- err })
	if err := <-published; err == nil {
		t.Error("it published a task")
	}
	if err := q.Ask(t.Context(), engine.Control{Kind: engine.ControlBegin}); err == nil {
		t.Error("it permits to begin")
	}
}
