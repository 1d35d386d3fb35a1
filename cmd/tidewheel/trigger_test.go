package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

const hookSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// call sends a request to a webhook, and returns its status and what it says.
func (s *testServer) call(name, body string, headers map[string]string) (int, wire.HookAnswer, wire.Problem) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.server.URL()+"/api/v1/hooks/default/"+name, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for key, value := range headers {
		request.Header.Set(key, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var (
		answer  wire.HookAnswer
		problem wire.Problem
	)
	if response.StatusCode < 300 {
		answer = decode[wire.HookAnswer](s.t, string(text))
	} else {
		problem = decode[wire.Problem](s.t, string(text))
	}
	return response.StatusCode, answer, problem
}

func signedAt(t *testing.T, id string, at time.Time, body string) map[string]string {
	t.Helper()
	hook, err := webhooks.NewWebhook(hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := hook.Sign(id, at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"webhook-id": id, "webhook-timestamp": strconv.FormatInt(at.Unix(), 10), "webhook-signature": signature}
}

func signedByGitHub(id, body string) map[string]string {
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write([]byte(body))
	return map[string]string{"X-GitHub-Delivery": id, "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil))}
}

func compacted(t *testing.T, text []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// await returns the only run of a job once it has ended.
func (s *testServer) await(job string) wire.Run {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		list := decode[struct{ Items []wire.Run }](s.t, s.must("get", "runs", "--job", job, "-o", "json"))
		if len(list.Items) == 1 && list.Items[0].Status.Terminal() {
			return s.show(list.Items[0].ID)
		}
	}
	s.t.Fatalf("job %s has not one run that ended", job)
	return wire.Run{}
}

func TestWebhookStartsARunOnceForEachID(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("reader", "cat\n")
	const job = "kind: Job\nname: hooked\nbinary: reader@stable\npayload: {own: 1}\ntriggers: {webhook: {secret: hook-key}}\n"
	s.refusedWith(job, exitRefused, "there is no secret", "apply", "-f", "-")
	s.mustWith(hookSecret, "secret", "set", "hook-key")
	s.apply(job)
	now := time.Now()

	status, answer, _ := s.call("hooked", `{"shop":7}`, signedAt(t, "msg_1", now, `{"shop":7}`))
	if status != http.StatusCreated || answer.Run == "" {
		t.Fatalf("%d %+v", status, answer)
	}
	if again, same, _ := s.call("hooked", `{"shop":7}`, signedAt(t, "msg_1", now, `{"shop":7}`)); again != http.StatusOK || same != answer {
		t.Errorf("again: %d %+v", again, same)
	}
	run := s.await("hooked")
	if run.ID != answer.Run || run.Trigger != "event" || run.By != "webhook" || compacted(t, run.Payload) != `{"shop":7}` {
		t.Errorf("ran %+v", run)
	}
	if out := s.must("logs", run.ID); !strings.Contains(out, `{"shop":7}`) {
		t.Errorf("read %q", out)
	}
	if status, _, _ := s.call("hooked", `{"shop":8}`, signedByGitHub("d-1", `{"shop":8}`)); status != http.StatusCreated {
		t.Errorf("GitHub: %d", status)
	}
	ping := signedByGitHub("d-0", `{"zen":1}`)
	ping["X-GitHub-Event"] = "ping"
	if status, answer, _ := s.call("hooked", `{"zen":1}`, ping); status != http.StatusOK || answer.Run != "" {
		t.Errorf("ping: %d %+v", status, answer)
	}
	for _, c := range []struct {
		name    string
		body    string
		headers map[string]string
		status  int
		code    string
	}{
		{"hooked", `{"shop":9}`, signedAt(t, "msg_2", now, `{"shop":7}`), http.StatusUnauthorized, "bad_signature"},
		{"nothing", `{"shop":7}`, signedAt(t, "msg_2", now, `{"shop":7}`), http.StatusUnauthorized, "bad_signature"},
		{"hooked", `{"shop":7}`, signedAt(t, "msg_2", now.Add(-6*time.Minute), `{"shop":7}`), http.StatusBadRequest, "bad_headers"},
		{"hooked", `{"shop":7}`, nil, http.StatusBadRequest, "bad_headers"},
		{"hooked", `{"shop":8}`, signedByGitHub("d-2", `{"shop":8}`), http.StatusConflict, "replayed"},
		{"hooked", `shop=7`, signedAt(t, "msg_2", now, `shop=7`), http.StatusUnprocessableEntity, "payload_not_json"},
		{"hooked", `"` + strings.Repeat("x", 1<<20) + `"`, signedAt(t, "msg_2", now, ""), http.StatusRequestEntityTooLarge, "body_too_large"},
	} {
		if status, _, problem := s.call(c.name, c.body, c.headers); status != c.status || problem.Code != c.code {
			t.Errorf("%s: %d %s (%s) instead of %d %s", c.name, status, problem.Code, problem.Detail, c.status, c.code)
		}
	}
	large := `"` + strings.Repeat("x", 900<<10) + `"` // above what a login may send
	if status, _, problem := s.call("hooked", large, signedAt(t, "msg_3", now, large)); status != http.StatusCreated {
		t.Errorf("large: %d %s", status, problem.Detail)
	}
	s.must("pause", "job", "hooked")
	if status, _, problem := s.call("hooked", `{}`, signedAt(t, "msg_4", now, `{}`)); status != http.StatusConflict || problem.Code != "paused" {
		t.Errorf("paused: %d %+v", status, problem)
	}
	if status, same, _ := s.call("hooked", `{"shop":7}`, signedAt(t, "msg_1", now, `{"shop":7}`)); status != http.StatusOK || same.Run != run.ID {
		t.Errorf("paused, again: %d %+v", status, same)
	}
	s.refused(exitRefused, "is used by hooked", "secret", "rm", "hook-key")
}

// A delivery of GitHub is good for as long as its signature is remembered. Once retention has removed its run it starts none again.
func TestDeliveryStartsNothingAgainOnceItsRunIsRemoved(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("reader", "cat\n")
	s.mustWith(hookSecret, "secret", "set", "hook-key")
	s.apply("kind: Job\nname: hooked\nbinary: reader@stable\ntriggers: {webhook: {secret: hook-key}}\n")
	_, first, _ := s.call("hooked", `{"shop":7}`, signedByGitHub("d-1", `{"shop":7}`))
	run := s.await("hooked")
	expired, err := s.server.store.ExpireRuns(t.Context(), []int{engine.ShardOf(run.JobUID)}, engine.Expiry{Before: time.Now().Add(time.Hour)}, 10)
	if err != nil || expired.Count != 1 {
		t.Fatalf("removed %+v, %v", expired, err)
	}
	if status, again, _ := s.call("hooked", `{"shop":7}`, signedByGitHub("d-1", `{"shop":7}`)); status != http.StatusOK || again != first || again.Run != run.ID {
		t.Errorf("again: %d %+v", status, again)
	}
	if out := s.must("get", "runs", "--job", "hooked", "-o", "json"); len(decode[struct{ Items []wire.Run }](t, out).Items) > 0 {
		t.Errorf("started again: %s", out)
	}
}

func TestSuccessStartsAJobAndADAG(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("reader", "cat\n")
	s.apply("kind: Job\nname: etl\nbinary: reader@stable\n---\n" +
		"kind: DAG\nname: report\ntriggers: {after_success: [etl]}\ntasks:\n  a: {binary: reader@stable}\n---\n" +
		"kind: Job\nname: mail\nbinary: reader@stable\ntriggers: {after_success: [report]}\n---\n" +
		"kind: Job\nname: paused\nbinary: reader@stable\ntriggers: {after_success: [etl]}\n---\n" +
		"kind: Job\nname: own\nbinary: reader@stable\npayload: {own: 1}\ntriggers: {after_success: [etl]}\n")
	s.must("pause", "job", "paused")
	s.refusedWith("kind: Job\nname: etl\nbinary: reader@stable\ntriggers: {after_success: [mail]}\n", exitRefused, "starts after etl in turn", "apply", "-f", "-")
	s.refusedWith("kind: Job\nname: x\nbinary: reader@stable\ntriggers: {after_success: [sales/orders]}\n", exitRefused, "does not allow", "apply", "-f", "-")
	s.must("run", "etl", "--wait")
	mail := s.await("mail")
	if mail.Trigger != "event" || mail.By != "after report" || mail.Status.String() != "succeeded" {
		t.Errorf("ran %+v", mail)
	}
	var payload struct{ Event, DAG, Wave string }
	if err := json.Unmarshal(mail.Payload, &payload); err != nil || payload.Event != "after_success" || payload.DAG != "report" || payload.Wave == "" {
		t.Errorf("payload %s", mail.Payload)
	}
	if own := s.await("own"); own.By != "after etl" || len(own.Payload) > 0 && compacted(t, own.Payload) != `{"own":1}` {
		t.Errorf("ran %+v", own)
	}
	if out := s.must("get", "runs", "--job", "paused"); strings.Contains(out, "event") {
		t.Errorf("ran %q", out)
	}
}
