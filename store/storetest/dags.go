package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// DAGs is what a store keeps of DAGs and their waves. The first part is engine/shard's DAGStore, word for word.
type DAGs interface {
	DAGsByUID(ctx context.Context, uids []string) ([]engine.DAG, error)
	PendingDAGs(ctx context.Context, shards []int, limit int) ([]engine.DAG, error)
	DAGGeneration(ctx context.Context, uid string, generation int64) (engine.DAGGeneration, error)
	OpenWaves(ctx context.Context, shards []int, after string, limit int) ([]engine.Wave, error)
	OpenWavesOf(ctx context.Context, dagUIDs []string) ([]engine.Wave, error)
	LastEpochs(ctx context.Context, dagUIDs []string) (map[string]int64, error)
	TasksOfDAGs(ctx context.Context, dagUIDs []string) ([]engine.ScheduledTask, error)
	WavesByID(ctx context.Context, ids []string) ([]engine.Wave, error)
	RunsOfWave(ctx context.Context, wave, after string, limit int) ([]engine.Run, error)

	// DAGs keeps DAGs for their users.
	DAGs() engine.Definitions[spec.DAG]

	// Wave gives one wave.
	Wave(ctx context.Context, id string) (engine.Wave, error)
	// Waves lists waves, newest first (by CreatedAt, then id), with the cursor of the next page.
	Waves(ctx context.Context, filter engine.WaveFilter) (waves []engine.Wave, next string, err error)
	// ExpireWaves deletes at most limit waves that ended before before. The wave of a DAG's highest epoch stays for as long
	// as the DAG: its epochs count on from there.
	ExpireWaves(ctx context.Context, before time.Time, limit int) (deleted int, err error)
}

func aDAG(name string) engine.DAG {
	like := aJob(name)
	return engine.DAG{
		UID: like.UID, Namespace: namespace, Name: name, Shard: like.Shard,
		Spec: spec.DAG{Kind: spec.KindDAG, Name: name, Tasks: spec.Tasks{
			{Name: "fetch", Binary: "fetch@stable", Schedule: spec.Strings{"*/5 * * * *"}},
			{Name: "join", Binary: "join@stable", Needs: []string{"fetch"}},
		}},
		Generation: 1, Revision: 1, Pending: true,
		CreatedAt: noon, CreatedBy: "ada", UpdatedAt: noon, UpdatedBy: "ada",
	}
}

// fullDAG fills every field of a definition that a store might treat in its own way.
func fullDAG() engine.DAG {
	d := aDAG("full-dag")
	at, until := noon.Add(time.Hour), noon.Add(48*time.Hour)
	odd := json.RawMessage(`{"html":"<b>&</b>","big":12345678901234567890,"list":[1,2,{"$set":{"a.b":null}}],"one":1.0}`)
	d.Spec = spec.DAG{
		Kind: spec.KindDAG, Name: "full-dag", Description: "«Bericht» 世界 🌊 <b>&</b>\nsecond line",
		Payload: odd, Args: map[string]string{"A.B": "1", "$C": "", "ä": "ö"},
		Schedule: spec.Strings{"0 2 * * *", "30 3 * * 1"}, Timezone: "Europe/Berlin", Active: &spec.Window{From: &at, Until: &until},
		CatchUp: spec.CatchUp{Policy: spec.CatchUpAll, Window: spec.Duration(time.Hour)},
		Exclude: []spec.Exclusion{{Cron: "* * 24 12 *"}, {From: at, To: until}}, MaxParallel: 12,
		Alerts: &spec.Alerts{Lag: spec.Duration(time.Minute), On: []string{"failed"}}, Labels: map[string]string{"team.name": "data", "$where": "1"},
		Defaults: spec.TaskDefaults{
			Binary: "step@7", Env: map[string]string{"A.B": "1"}, Tier: spec.TierHeavy, RunsOn: map[string]string{"gpu.kind": "a100", "arch": "arm64"}, Timeout: spec.Duration(time.Hour),
			Retry: spec.Retry{MaxAttempts: 5, Delay: spec.Duration(time.Second), On: []int{1, 2}}, Limits: spec.Limits{Memory: 256 * spec.Mebibyte, CPU: 0.5},
		},
		Tasks: spec.Tasks{ // in an order that is not that of their names
			{Name: "zeta", Binary: "fetch", Args: []string{"--a", "", "b c"}, Payload: odd, Secrets: map[string]string{"PASSWORD": "db"}},
			{Name: "alpha-2", Binary: "fetch", Env: map[string]string{"$C": "."}, Payload: json.RawMessage(`[1,"two",null]`), Schedule: spec.Strings{"@hourly"}},
			{
				Name: "Join_3", Binary: "join", Needs: []string{"zeta", "alpha-2"}, Trigger: "none_failed", When: `outputs.zeta.rows > 0`,
				ForEach: "outputs.zeta.list", MaxParallel: 3, Labels: map[string]string{"a.b": "c"}, RunsOn: map[string]string{"example.com/disk": "ssd"},
			},
		},
	}
	d.Paused, d.PausedAt, d.PausedBy, d.PausedReason, d.Message = true, noon, "grace", "too «loud»", "why: «so»"
	return d
}

// editDAG gives the next revision of a DAG with another definition.
func editDAG(d engine.DAG, description string) engine.DAG {
	d.Spec.Description, d.Message = description, "now "+description
	d.Generation++
	d.Revision++
	d.Pending = true
	d.UpdatedAt, d.UpdatedBy = d.UpdatedAt.Add(time.Minute), "grace"
	return d
}

// removeDAG gives a tombstone.
func removeDAG(d engine.DAG) engine.DAG {
	d.Revision++
	d.Deleted, d.Pending = true, true
	return d
}

func handledDAG(d engine.DAG) engine.Batch {
	return engine.Batch{HandledDAGs: []engine.JobHandled{{UID: d.UID, Namespace: d.Namespace, Name: d.Name, Revision: d.Revision}}}
}

func (h *harness) createDAG(d engine.DAG) engine.DAG {
	h.Helper()
	h.must("create DAG "+d.Name, h.store.DAGs().Create(h.ctx, d))
	return d
}

func (h *harness) replaceDAG(d engine.DAG) engine.DAG {
	h.Helper()
	h.must("replace DAG "+d.Name, h.store.DAGs().Replace(h.ctx, d))
	return d
}

func (h *harness) dag(name string) engine.DAG {
	h.Helper()
	d, err := h.store.DAGs().Get(h.ctx, namespace, name)
	h.must("read DAG "+name, err)
	return d
}

func dagUID(d engine.DAG) string { return d.UID }

func (h *harness) pendingDAGs(want ...engine.DAG) {
	h.Helper()
	dags, err := h.store.PendingDAGs(h.ctx, allShards(), 1000)
	h.must("list pending DAGs", err)
	same(h.T, "pending DAGs", sorted(dags, dagUID), sorted(want, dagUID))
}

func (h *harness) dagNames(filter engine.DefinitionFilter) (names []string) {
	h.Helper()
	for pages := 0; ; pages++ {
		dags, next, err := h.store.DAGs().List(h.ctx, filter)
		h.must("list DAGs", err)
		if len(dags) > filter.Limit || pages > 1000 {
			h.Fatalf("page %d has %d DAGs for a limit of %d", pages, len(dags), filter.Limit)
		}
		for _, d := range dags {
			names = append(names, d.Name)
		}
		if next == "" {
			return names
		}
		filter.Cursor = next
	}
}

var dagPromises = []promise{
	{"a DAG comes back as it was written, its tasks in their order", func(h *harness) {
		full, plain := h.createDAG(fullDAG()), h.createDAG(aDAG("plain"))
		same(h.T, "full", h.dag("full-dag"), full)
		same(h.T, "plain", h.dag("plain"), plain)
		dags, err := h.store.DAGsByUID(h.ctx, []string{full.UID, uidOf("nobody")})
		h.must("read by uid", err)
		same(h.T, "by uid", dags, []engine.DAG{full})
		dags, err = h.store.DAGsByUID(h.ctx, nil)
		h.must("read none", err)
		same(h.T, "none", len(dags), 0)
	}},
	{"a DAG belongs to whoever holds it", func(h *harness) {
		given := h.createDAG(fullDAG())
		change := func(d engine.DAG) {
			d.Spec.Args["A.B"], d.Spec.Payload[2] = "changed", 'X'
			d.Spec.Tasks[0].Args[0], d.Spec.Tasks[0].Payload[2], d.Spec.Tasks[1].Name = "changed", 'X', "changed"
		}
		change(given)
		got := h.dag("full-dag")
		same(h.T, "after its giver changed it", got, fullDAG())
		change(got)
		same(h.T, "after its reader changed it", h.dag("full-dag"), fullDAG())
	}},
	{"the name of a DAG is given once", func(h *harness) {
		first := h.createDAG(aDAG("etl"))
		second := aDAG("etl")
		second.UID = uidOf("second")
		if err := h.store.DAGs().Create(h.ctx, second); !errors.Is(err, engine.ErrExists) {
			h.Fatalf("got %v", err)
		}
		same(h.T, "DAG", h.dag("etl"), first)
		elsewhere := aDAG("etl")
		elsewhere.UID, elsewhere.Namespace = uidOf("third"), "other"
		h.createDAG(elsewhere)
		same(h.T, "DAG", h.dag("etl"), first)
	}},
	{"a DAG and a job may share a name, and are edited and deleted each by itself", func(h *harness) {
		job, d := h.createJob(aJob("etl")), aDAG("etl")
		d.UID = uidOf("dag")
		d = h.createDAG(d)
		h.pending(job)
		h.pendingDAGs(d)
		job = h.replaceJob(remove(job))
		same(h.T, "DAG", h.dag("etl"), d)
		h.commit(handled(job))
		h.commit(handledDAG(d))
		d.Pending = false
		same(h.T, "DAG after the job is gone", h.dag("etl"), d)
		_, err := h.store.DAGGeneration(h.ctx, d.UID, 1)
		h.must("generation of the DAG", err)
		again := h.createJob(aJob("etl"))
		d = h.replaceDAG(removeDAG(d))
		h.commit(handledDAG(d))
		same(h.T, "job after the DAG is gone", h.job("etl"), again)
	}},
	{"what is asked of a DAG that is not there is not found", func(h *harness) {
		if _, err := h.store.DAGs().Get(h.ctx, namespace, "none"); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("read: %v", err)
		}
		if err := h.store.DAGs().Replace(h.ctx, editDAG(aDAG("none"), "x")); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("replace: %v", err)
		}
		if _, err := h.store.DAGGeneration(h.ctx, uidOf("none"), 1); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("generation: %v", err)
		}
		generations, err := h.store.DAGs().Generations(h.ctx, uidOf("none"), 0, 10)
		h.must("generations", err)
		same(h.T, "generations", len(generations), 0)
	}},
	{"stale write of a DAG is refused", func(h *harness) {
		d := h.createDAG(aDAG("etl"))
		mine := h.replaceDAG(editDAG(d, "mine"))
		for _, stale := range []engine.DAG{editDAG(d, "theirs"), editDAG(editDAG(editDAG(d, "x"), "y"), "z")} {
			if err := h.store.DAGs().Replace(h.ctx, stale); !errors.Is(err, engine.ErrConflict) {
				h.Fatalf("got %v", err)
			}
		}
		same(h.T, "DAG", h.dag("etl"), mine)
		generations, err := h.store.DAGs().Generations(h.ctx, d.UID, 0, 10)
		h.must("generations", err)
		same(h.T, "generations", len(generations), 2)
	}},
	{"each form of a DAG is kept, by pages", func(h *harness) {
		first := h.createDAG(fullDAG())
		second := h.replaceDAG(editDAG(first, "second"))
		paused := second
		paused.Revision, paused.Paused = 3, false
		h.replaceDAG(paused)
		third := h.replaceDAG(editDAG(paused, "third"))
		var want []engine.DAGGeneration
		for _, d := range []engine.DAG{third, second, first} {
			want = append(want, engine.DAGGeneration{UID: d.UID, Generation: d.Generation, Spec: d.Spec, By: d.UpdatedBy, At: d.UpdatedAt, Message: d.Message})
		}
		for _, test := range []struct {
			before int64
			limit  int
			want   []engine.DAGGeneration
		}{{0, 10, want}, {0, 2, want[:2]}, {3, 10, want[1:]}, {2, 10, want[2:]}, {1, 10, nil}, {3, 1, want[1:2]}} {
			got, err := h.store.DAGs().Generations(h.ctx, first.UID, test.before, test.limit)
			h.must("generations", err)
			same(h.T, "generations", got, test.want)
		}
		for _, generation := range want {
			got, err := h.store.DAGGeneration(h.ctx, first.UID, generation.Generation)
			h.must("generation", err)
			same(h.T, "generation", got, generation)
		}
		if _, err := h.store.DAGGeneration(h.ctx, first.UID, 4); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("a generation that never was: %v", err)
		}
	}},
	{"DAGs are listed by name, by pages, and found by text", func(h *harness) {
		names := []string{"Report-one", "alpha", "beta-report", "a_b", "axb", "gamma"}
		for _, name := range names {
			h.createDAG(aDAG(name))
		}
		elsewhere := aDAG("elsewhere")
		elsewhere.Namespace = "other"
		h.createDAG(elsewhere)
		h.createDAG(aDAG("buried"))
		h.replaceDAG(removeDAG(aDAG("buried")))
		h.createJob(aJob("no-dag"))
		slices.Sort(names)
		same(h.T, "by pages of 2", h.dagNames(engine.DefinitionFilter{Namespace: namespace, Limit: 2}), names)
		same(h.T, "at once", h.dagNames(engine.DefinitionFilter{Namespace: namespace, Limit: 1000}), names)
		same(h.T, "other namespace", h.dagNames(engine.DefinitionFilter{Namespace: "other", Limit: 2}), []string{"elsewhere"})
		same(h.T, "text", h.dagNames(engine.DefinitionFilter{Namespace: namespace, Text: "rEPORT", Limit: 1}), []string{"Report-one", "beta-report"})
		same(h.T, "text that looks like a pattern", h.dagNames(engine.DefinitionFilter{Namespace: namespace, Text: "a_b", Limit: 10}), []string{"a_b"})
		same(h.T, "jobs", h.jobNames(engine.DefinitionFilter{Namespace: namespace, Limit: 10}), []string{"no-dag"})
		for _, cursor := range []string{"x", "!!!", strings.Repeat("z", 300)} {
			_, _, err := h.store.DAGs().List(h.ctx, engine.DefinitionFilter{Limit: 5, Cursor: cursor})
			h.badCursor("DAGs", cursor, err)
		}
	}},
	{"pending DAGs are those that the engine has not acted upon at their revision", func(h *harness) {
		one, two := h.createDAG(aDAG("one")), h.createDAG(aDAG("two"))
		h.pendingDAGs(one, two)
		dags, err := h.store.PendingDAGs(h.ctx, []int{one.Shard}, 1000)
		h.must("list", err)
		for _, d := range dags {
			same(h.T, "shard", d.Shard, one.Shard)
		}
		dags, err = h.store.PendingDAGs(h.ctx, allShards(), 1)
		h.must("list", err)
		same(h.T, "of a limit of 1", len(dags), 1)
		h.commit(handledDAG(one))
		h.pendingDAGs(two)
		one.Pending = false
		same(h.T, "DAG", h.dag("one"), one)
		edited := h.replaceDAG(editDAG(two, "meanwhile"))
		h.commit(handledDAG(two))
		h.pendingDAGs(edited)
		h.commit(handledDAG(edited))
		h.pendingDAGs()
		edited.Pending = false
		h.replaceDAG(editDAG(edited, "the revision has not moved"))
	}},
	{"the tombstone of a DAG is pending until it is handled, and then gone with its generations", func(h *harness) {
		tomb := h.replaceDAG(removeDAG(h.createDAG(aDAG("etl"))))
		h.pendingDAGs(tomb)
		if _, err := h.store.DAGs().Get(h.ctx, namespace, "etl"); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("a deleted DAG: %v", err)
		}
		next := aDAG("etl")
		next.UID = uidOf("second")
		next.Shard = engine.ShardOf(next.UID)
		h.createDAG(next)
		h.pendingDAGs(tomb, next)
		dags, err := h.store.DAGsByUID(h.ctx, []string{tomb.UID, next.UID})
		h.must("read", err)
		same(h.T, "DAGs", sorted(dags, dagUID), sorted([]engine.DAG{tomb, next}, dagUID))
		_, err = h.store.DAGGeneration(h.ctx, tomb.UID, 1)
		h.must("generation of a tombstone", err)
		before := tomb
		before.Revision--
		h.commit(handledDAG(before)) // changes nothing
		h.pendingDAGs(tomb, next)
		h.commit(handledDAG(tomb))
		h.commit(handledDAG(tomb))
		h.pendingDAGs(next)
		if _, err := h.store.DAGGeneration(h.ctx, tomb.UID, 1); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("generation of what is gone: %v", err)
		}
		if err := h.store.DAGs().Replace(h.ctx, editDAG(tomb, "from the grave")); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("replace what is gone: %v", err)
		}
		same(h.T, "DAG", h.dag("etl"), next)
	}},
}
