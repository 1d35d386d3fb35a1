package upgrade

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/e2e"
	"github.com/tidewheel/tidewheel/engine"
)

// ended is how long everything that had not ended may take to end on a busy machine.
const ended = time.Minute

// check is one fixture, and the server that was started on it.
type check struct {
	t       *testing.T
	fixture *Fixture
	server  *e2e.Server
	api     *client.Client
	token   string
	runs    map[string]wire.Run // all, once each has ended
	// The server was started at began, and answered at up.
	began, up time.Time
}

// Check starts the program on a fixture, and holds it to what the fixture says; where its store has an earlier schema, the server is
// to say that it brought it forward. flags returns what the server is to be given for the
// store, from the folder that the fixture is unpacked in.
func Check(t *testing.T, program, name string, earlier bool, flags func(dir string) []string) {
	t.Helper()
	f := open(t, name)
	args := []string{"--slots", "4", "--drain", "1s", "--lock-ttl", "2s", "--retention", "0", "--retention-one-off", "0", "--retention-binaries", "0"}
	c := &check{t: t, fixture: f, server: e2e.NewServerIn(t, f.Dir, program, append(args, flags(f.Dir)...)...)}
	c.began = time.Now()
	c.server.Start()
	c.up = time.Now()
	c.api, c.token = c.server.Client(), c.server.Token()
	c.definitions()
	c.binaries()
	c.settle(func() bool { return true })
	c.history()
	c.unended()
	c.outage()
	c.oneOffs()
	c.access()
	c.newWork()
	c.accounted()
	if said := strings.Contains(c.server.Logged(), "was brought forward"); said != earlier {
		t.Errorf("that the server brought the database forward is logged: %v; wanted %v", said, earlier)
	}
	c.server.Stop()
	c.server.Start() // on what is now of this version
	c.accounted()
	c.history()
}

// list returns what today's API gives for a list of the old one's.
func (c *check) list(path string) (items []map[string]any) {
	c.t.Helper()
	for cursor := ""; ; {
		request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.server.URL()+"/api/v1/"+path+"?limit=200&cursor="+cursor, nil)
		if err != nil {
			c.t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+c.token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			c.t.Fatal(err)
		}
		var page struct {
			Items []map[string]any `json:"items"`
			Next  string           `json:"next"`
		}
		err = json.NewDecoder(response.Body).Decode(&page)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			c.t.Fatalf("GET %s: %s, %v", path, response.Status, err)
		}
		items = append(items, page.Items...)
		if cursor = page.Next; cursor == "" {
			return items
		}
	}
}

// same compares what the old API said of something with what today's does: whatever the old one said must still be so, apart from
// some fields. key distinguishes the things of a list.
func (c *check) same(what, key string, old, now map[string]any, apart ...string) {
	c.t.Helper()
	for field, value := range old {
		if !slices.Contains(apart, field) && !within(value, now[field]) {
			c.t.Errorf("%s %s: %s was %v, and is %v", what, key, field, value, now[field])
		}
	}
}

// within reports whether all that the old value says is in the one of now, which may say more.
func within(old, now any) bool {
	switch old := old.(type) {
	case map[string]any:
		fields, is := now.(map[string]any)
		for field, value := range old {
			if !is || !within(value, fields[field]) {
				return false
			}
		}
		return true
	case []any:
		items, is := now.([]any)
		if !is || len(items) != len(old) {
			return false
		}
		for i := range old {
			if !within(old[i], items[i]) {
				return false
			}
		}
		return true
	case string:
		text, is := now.(string)
		if a, err := time.Parse(time.RFC3339, old); err == nil && is {
			b, err := time.Parse(time.RFC3339, text)
			return err == nil && a.Equal(b)
		}
		return is && text == old
	}
	return old == now
}

// things compares a list by a field that identifies its entries, and returns those of now.
func (c *check) things(path, list, field string, keep func(old map[string]any) bool, apart ...string) map[string]map[string]any {
	c.t.Helper()
	now := map[string]map[string]any{}
	for _, item := range c.list(path) {
		key, _ := item[field].(string)
		now[key] = item
	}
	for _, old := range c.fixture.answered(c.t, list) {
		key, _ := old[field].(string)
		found, there := now[key]
		if !there {
			c.t.Errorf("%s of the fixture, %s, is gone", key, list)
			continue
		}
		if keep == nil || keep(old) {
			c.same(strings.TrimSuffix(list, "s"), key, old, found, apart...)
		}
	}
	return now
}

// definitions compares jobs and DAGs. How a schedule is put in words, and when it is due next, changes.
func (c *check) definitions() {
	c.t.Helper()
	apart := []string{"next_slot", "pending", "schedule", "revision"}
	paused := 0
	for name, job := range c.things("jobs", "jobs", "name", nil, apart...) {
		if job["paused"] == true {
			paused++
		}
		if generation := job["generation"]; name == "byhand" && generation != 2.0 {
			c.t.Errorf("job byhand was edited once, and has generation %v", generation)
		}
	}
	if paused != 2 {
		c.t.Errorf("%d jobs are paused: there were resting and seconds", paused)
	}
	if c.fixture.has("dags") {
		c.things("dags", "dags", "name", nil, apart...)
	}
	first, err := c.api.Generations(c.t.Context(), "byhand", client.Page{})
	if err != nil || len(first.Items) != 2 {
		c.t.Errorf("byhand has the generations %+v, %v", first.Items, err)
	}
}

// settle waits until all runs have ended, and those that it finds are all that should be there: on MongoDB a list may be some tens of
// milliseconds behind.
func (c *check) settle(all func() bool) {
	c.t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for until := time.Now().Add(ended); ; <-ticker.C {
		c.runs = map[string]wire.Run{}
		var open []string
		for cursor := ""; ; {
			list, err := c.api.Runs(c.t.Context(), client.RunFilter{Page: client.Page{Cursor: cursor, Limit: 200}})
			if err != nil {
				c.t.Fatal(err)
			}
			for _, run := range list.Items {
				c.runs[run.ID] = run
				if !run.Status.Terminal() && !run.Slot.After(time.Now()) {
					open = append(open, run.ID+" of "+run.Job+run.DAG+" "+run.Status.String()+" "+run.Reason)
				}
			}
			if cursor = list.Next; cursor == "" {
				break
			}
		}
		if len(open) == 0 && c.wavesEnded() && all() {
			return
		}
		if time.Now().After(until) {
			c.t.Fatalf("after %s these have not ended: %v; or not all that was asked for is there: %v", ended, open, slices.Sorted(maps.Keys(c.runs)))
		}
	}
}

func (c *check) wavesEnded() bool {
	waves, err := c.api.Waves(c.t.Context(), client.WaveFilter{Page: client.Page{Limit: 200}})
	if err != nil {
		c.t.Fatal(err)
	}
	for i := range waves.Items {
		if status := waves.Items[i].Status; !status.Terminal() && status != engine.StatusScheduled {
			return false
		}
	}
	return true
}
