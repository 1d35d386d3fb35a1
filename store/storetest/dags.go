package storetest

import (
	"context"
	"encoding/json"
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

	// Wave returns one wave.
	Wave(ctx context.Context, id string) (engine.Wave, error)
	// Waves lists waves, newest first (by CreatedAt, then id), with the cursor of the next page.
	Waves(ctx context.Context, filter engine.WaveFilter) (waves []engine.Wave, next string, err error)
	// ExpireWaves deletes at most limit waves that an expiry takes. The wave of a DAG's highest epoch stays for as long
	// as the DAG.
	ExpireWaves(ctx context.Context, what engine.Expiry, limit int) (deleted int, err error)
	// ExpireWavesOf deletes at most limit waves of a DAG that its own retention takes, with their runs. The wave of the highest
	// epoch stays.
	ExpireWavesOf(ctx context.Context, uid string, what engine.OwnExpiry, limit int) (engine.ExpiredWaves, error)
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
		Alerts: &spec.Alerts{Lag: spec.Duration(time.Minute), On: []spec.Alert{"failed"}}, Labels: map[string]string{"team.name": "data", "$where": "1"},
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

var dagKind = definitionKind[spec.DAG]{
	noun: "DAG", of: Store.DAGs, byUID: Store.DAGsByUID, pending: Store.PendingDAGs, generation: Store.DAGGeneration,
	plain: aDAG, full: fullDAG, describe: func(d *spec.DAG, words string) { d.Description = words },
	scribble: func(d *spec.DAG) {
		d.Args["A.B"], d.Payload[2] = "changed", 'X'
		d.Tasks[0].Args[0], d.Tasks[0].Payload[2], d.Tasks[1].Name = "changed", 'X', "changed"
	},
	batch: func(handled engine.JobHandled) engine.Batch {
		return engine.Batch{HandledDAGs: []engine.JobHandled{handled}}
	},
}

func editDAG(d engine.DAG, description string) engine.DAG { return dagKind.edit(d, description) }

func removeDAG(d engine.DAG) engine.DAG { return dagKind.remove(d) }

func handledDAG(d engine.DAG) engine.Batch { return dagKind.handled(d) }

func (h *harness) createDAG(d engine.DAG) engine.DAG {
	h.Helper()
	return dagKind.create(h, d)
}

func (h *harness) replaceDAG(d engine.DAG) engine.DAG {
	h.Helper()
	return dagKind.replace(h, d)
}

func (h *harness) dag(name string) engine.DAG {
	h.Helper()
	return dagKind.read(h, name)
}

func (h *harness) pendingDAGs(want ...engine.DAG) {
	h.Helper()
	dagKind.isPending(h, want...)
}

// sharedNamePromises are about a job and a DAG of the same name.
var sharedNamePromises = []promise{
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
		same(h.T, "jobs", jobKind.names(h, engine.DefinitionFilter{Limit: 10}), []string{"etl"})
		same(h.T, "DAGs", dagKind.names(h, engine.DefinitionFilter{Limit: 10}), nil)
	}},
}
