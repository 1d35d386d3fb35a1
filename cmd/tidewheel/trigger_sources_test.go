package main

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/blob"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/queue/jetstream/natstest"
)

// sourcesFor starts a server with a bucket "incoming" that objects can be put into, and a NATS that messages can be published to.
func sourcesFor(t *testing.T, data string) (*testServer, *blob.Store) {
	t.Helper()
	config := serverConfigFor(t)
	config.Data = data
	config.NATSListen, config.NATSCredentials, config.S3Listen = freeAddress(t), "tide:hush", freeAddress(t)
	config.TriggerBuckets = []triggerBucket{{"default", "incoming"}}
	s := startServer(t, config)
	keys := s.server.gateway.Credentials()
	incoming, err := blob.Open(t.Context(), blob.Config{
		Endpoint: "http://" + config.S3Listen, Region: "us-east-1", Bucket: "incoming", Prefix: "orders", AccessKey: keys.AccessKey, SecretKey: keys.SecretKey, PathStyle: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(incoming.Close)
	return s, incoming
}

// runsOf waits until a job has so many runs that were started by something and have ended, and returns them, newest first.
func (s *testServer) runsOf(job, by string, count int) []wire.Run {
	s.t.Helper()
	var runs []wire.Run
	until(s.t, "the runs of "+job+" have ended", func() bool {
		runs = decode[struct{ Items []wire.Run }](s.t, s.must("get", "runs", "--job", job, "-o", "json")).Items
		runs = slices.DeleteFunc(runs, func(r wire.Run) bool { return !strings.HasPrefix(r.By, by) })
		return len(runs) >= count && !slices.ContainsFunc(runs, func(r wire.Run) bool { return !r.Status.Terminal() })
	})
	if len(runs) != count {
		s.t.Errorf("%s has %d runs, want %d", job, len(runs), count)
	}
	for i := range runs {
		runs[i] = s.show(runs[i].ID)
	}
	return runs
}

func TestMessagesAndObjectsStartOneRunEach(t *testing.T) {
	data := t.TempDir()
	s, incoming := sourcesFor(t, data)
	s.push("reader", "cat\n")
	s.refusedWith("kind: Job\nname: x\nbinary: reader@stable\ntriggers: {objects: {bucket: other}}\n", exitRefused, "is not open to the namespace default", "apply", "-f", "-")
	s.apply("kind: Job\nname: paid\nbinary: reader@stable\noverlap: allow\ntriggers: {message: {subject: orders.*}}\n---\n" +
		"kind: Job\nname: load\nbinary: reader@stable\noverlap: allow\ntriggers: {objects: {bucket: incoming, prefix: orders/}}\n")
	const files = "object orders/artifacts/" // beside tidewheel.json, by which a bucket is claimed
	put := func(incoming *blob.Store, key, content string) {
		t.Helper()
		if err := incoming.PutObject(t.Context(), key, strings.NewReader(content), int64(len(content))); err != nil {
			t.Fatal(err)
		}
	}
	publish := func(s *testServer, subject, data string) {
		natstest.Publish(t, "nats://"+s.server.config.NATSListen, "tide", "hush", subject, data)
	}
	publish(s, "triggers.default.orders.paid", `{"shop":7}`)
	publish(s, "triggers.default.returns", `{"shop":7}`)
	publish(s, "triggers.other.orders.paid", `{"shop":7}`)
	paid := s.runsOf("paid", "message", 1)[0]
	if paid.Trigger != "event" || paid.By != "message orders.paid" || compacted(t, paid.Payload) != `{"shop":7}` {
		t.Errorf("ran %+v", paid)
	}
	put(incoming, "artifacts/run/1/a.csv", "a")
	load := s.runsOf("load", files, 1)[0]
	if load.Trigger != "event" || load.By != files+"run/1/a.csv" || !strings.Contains(string(load.Payload), `orders/artifacts/run/1/a.csv`) {
		t.Errorf("ran %+v, %s", load, load.Payload)
	}
	for _, words := range []string{"triggers.default.orders.*", "incoming", "keys that begin with orders/"} {
		if page := s.page("/jobs/paid") + s.page("/jobs/load"); !strings.Contains(page, words) {
			t.Errorf("the pages do not say %q", words)
		}
	}

	// What comes while no server runs is not there to be published to, but objects are; those of before start nothing more.
	put(incoming, "artifacts/run/1/b.csv", "b")
	closeNode(t, s.server)
	again, incoming := sourcesFor(t, data)
	put(incoming, "artifacts/run/1/c.csv", "c")
	again.runsOf("load", files, 3)
	publish(again, "triggers.default.orders.open", "")
	again.runsOf("paid", "message", 2)
}

// page returns a page as an admin sees it.
func (s *testServer) page(path string) string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.server.URL()+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.server.token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s, %v", path, response.Status, err)
	}
	return string(text)
}

func TestTriggerBucketsAreRefused(t *testing.T) {
	for _, word := range []string{"incoming", "=incoming", "default="} {
		if _, err := triggerBuckets([]string{word}); err == nil || !strings.Contains(err.Error(), "NAMESPACE=BUCKET") {
			t.Errorf("%q: %v", word, err)
		}
	}
	config := serverConfigFor(t)
	config.TriggerBuckets = []triggerBucket{{"*", "tidewheel"}}
	if _, err := startNode(t, config); exitStatus(err) != exitRefused || !strings.Contains(err.Error(), "own bucket") {
		t.Errorf("its own bucket: %v", err)
	}
	if c := (ServerConfig{TriggerBuckets: []triggerBucket{{"*", "a"}, {"shop", "b"}}}); !c.mayWatch("x", "a") || !c.mayWatch("shop", "b") || c.mayWatch("x", "b") {
		t.Error("other namespaces may watch")
	}
}
