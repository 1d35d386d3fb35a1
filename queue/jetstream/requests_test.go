package jetstream

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

func TestAcknowledged(t *testing.T) {
	for _, test := range []struct {
		answer   string
		sequence uint64
		is       error // of the error, if the sequence is 0
	}{
		{`{"stream":"TASKS","seq":7}`, 7, nil},
		{`{"stream":"TASKS","seq":18446744073709551615}`, 18446744073709551615, nil},
		{`{"stream":"TASKS", "seq": 7}`, 7, nil},
		{`{"stream":"TASKS","domain":"d","seq":70,"duplicate":true}`, 70, nil},
		{`{"stream":"TASKS","seq":0}`, 0, nil},
		{`{"stream":"TASKS","seq":`, 0, nil},
		{`{"stream":"TASKS","seq":7`, 0, nil},
		{``, 0, nil},
		{`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 5"},"stream":"RESULTS","seq":0}`, 0, errConflict},
		{`{"error":{"code":400,"err_code":10164,"description":"wrong last sequence"},"stream":"RESULTS","seq":5}`, 0, errConflict},
		{`{"error":{"code":503,"err_code":10077,"description":"maximum messages per subject exceeded"},"stream":"TASKS","seq":0}`, 0, errCopyWaits},
	} {
		sequence, err := acknowledged(&nats.Msg{Data: []byte(test.answer)})
		if sequence != test.sequence || (err == nil) != (test.sequence > 0) {
			t.Errorf("%s: %d, %v, want %d", test.answer, sequence, err, test.sequence)
		}
		if test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: %v, want %v", test.answer, err, test.is)
		}
	}
	var refused *apiError
	full := `{"error":{"code":503,"err_code":10077,"description":"no space left on device"},"stream":"TASKS","seq":0}`
	if _, err := acknowledged(&nats.Msg{Data: []byte(full)}); !errors.As(err, &refused) || errors.Is(err, errCopyWaits) {
		t.Errorf("a full disk: %v, want JetStream's own error", err)
	}
}

// TestLateAnswer lets an answer come when its caller no longer waits: no other caller may get it.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	q := connect(t, Config{Server: server})
	asked := make(chan *nats.Msg, 1)
	slow, err := q.conn.ChanSubscribe("slow", asked)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Unsubscribe() }()
	echo, err := q.conn.Subscribe("echo", func(m *nats.Msg) {
		if err := m.Respond(m.Data); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = echo.Unsubscribe() }()

	given, giveUp := context.WithCancelCause(t.Context())
	late := make(chan *nats.Msg, 1)
	go func() {
		late <- <-asked
		giveUp(errors.New("enough"))
	}()
	if _, err := q.requests.do(given, &nats.Msg{Subject: "slow"}); err == nil || err.Error() != "enough" {
		t.Fatalf("got %v, want that it was given up", err)
	}
	if err := (<-late).Respond([]byte("late")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for i := range 100 { // more than there are places
		want := strconv.Itoa(i)
		answer, err := q.requests.do(ctx, &nats.Msg{Subject: "echo", Data: []byte(want)})
		if err != nil || string(answer.Data) != want {
			t.Fatalf("asked %s: %v, %v", want, answer, err)
		}
		answers := make(chan *nats.Msg, 1)
		q.requests.send(&nats.Msg{Subject: "echo", Data: []byte(want)}, func(m *nats.Msg, _ error) { answers <- m })
		select {
		case answer := <-answers:
			if answer == nil || string(answer.Data) != want {
				t.Fatalf("asked %s: %v", want, answer)
			}
		case <-ctx.Done():
			t.Fatal("no answer")
		}
	}
	if q.requests.next > 20 {
		t.Errorf("%d places were made for one question at a time", q.requests.next)
	}
}

// TestTimeout ends a request that gets no answer, once and with the reason, whether a caller waits for it or not.
func TestTimeout(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	q := connect(t, Config{Server: server})
	ignored, err := q.conn.ChanSubscribe("ignored", make(chan *nats.Msg, 10))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ignored.Unsubscribe() }()
	requests, err := newRequests(q.conn, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	end := func() error {
		select {
		case err := <-ended:
			return err
		case <-time.After(10 * time.Second):
			return errors.New("it does not end")
		}
	}
	requests.send(&nats.Msg{Subject: "ignored"}, func(_ *nats.Msg, err error) { ended <- err })
	if _, err := requests.do(t.Context(), &nats.Msg{Subject: "ignored"}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	if err := end(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	requests.send(&nats.Msg{Subject: "ignored"}, func(_ *nats.Msg, err error) { ended <- err })
	requests.fail(errors.New("gone"), true)
	if err := end(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	if _, err := requests.do(t.Context(), &nats.Msg{Subject: "ignored"}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("after the end: %v, want ErrUnavailable", err)
	}
	if len(ended) != 0 || len(requests.places) != 0 || requests.waiting != 0 {
		t.Errorf("%d ended twice, %d places and %d waiting are left", len(ended), len(requests.places), requests.waiting)
	}
}

// What was asked of a server that died with the question is asked again, and the answer to any of the questions counts,
// but only for the one who asked.
func TestQuestionsWithoutAnAnswerAreAskedAgain(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	q := connect(t, Config{Server: server})
	asked := make(chan *nats.Msg, 10)
	sub, err := q.conn.ChanSubscribe("deaf", asked)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	requests, err := newRequests(q.conn, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	requests.timeout = time.Second * repeatAfter / 10 // is asked again after a tenth of a second
	answers := make(chan string, 2)
	message := newOutgoing("deaf")
	message.Data = append(message.Data, "question"...)
	message.set("Header", "value")
	began := time.Now()
	requests.send(&message.Msg, func(answer *nats.Msg, err error) {
		if err != nil {
			answers <- err.Error()
			return
		}
		answers <- string(answer.Data)
	})
	first, again := <-asked, <-asked
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("it was asked again after %s", took)
	}
	if string(again.Data) != "question" || again.Header.Get("Header") != "value" || again.Reply != first.Reply {
		t.Errorf("the second question is another one: %+v, after %+v", again, first)
	}
	if again.Header.Get(headerRepeated) == "" || first.Header.Get(headerRepeated) != "" {
		t.Errorf("which is the second cannot be seen: %v, after %v", again.Header, first.Header)
	}
	for _, question := range []*nats.Msg{again, first} {
		if err := question.Respond([]byte("answer")); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-answers; got != "answer" {
		t.Errorf("got %q", got)
	}
	requests.mu.Lock()
	defer requests.mu.Unlock()
	if len(requests.places) != 0 || len(requests.idle) != 0 || requests.waiting != 0 {
		t.Errorf("the place of two answers is used again: %d, %d idle, %d waiting", len(requests.places), len(requests.idle), requests.waiting)
	}
}
