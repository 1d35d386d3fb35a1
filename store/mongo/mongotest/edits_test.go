package mongotest_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/mongo"
)

// edited is a store with a job, and the job's collection as another program sees it.
type edited struct {
	t     *testing.T
	store *mongo.Store
	jobs  *driver.Collection
	job   engine.Job
}

func newEdited(t *testing.T) *edited {
	t.Helper()
	server := startServer(t)
	e := &edited{t: t, store: closing(t, openStore(t, server.URI(), mongo.Config{}))}
	e.jobs = connect(t, server.URI()).Database(mongo.DefaultDatabase).Collection("jobs")
	e.job = e.create("tides", 1)
	return e
}

func (e *edited) create(name string, generation int64) engine.Job {
	e.t.Helper()
	definition := spec.Job{Name: name, Binary: "tides@stable", Schedule: spec.Strings{"0 3 * * *"}}
	definition.ApplyDefaults()
	uid := strings.ToLower(rand.Text()[:16])
	job := engine.Job{
		UID: uid, Namespace: "default", Name: name, Shard: engine.ShardOf(uid), Spec: definition, Generation: generation, Revision: 1,
		CreatedAt: time.UnixMilli(1_700_000_000_000).UTC(), UpdatedAt: time.UnixMilli(1_700_000_000_000).UTC(), Source: "# by hand\n",
	}
	must(e.t, e.store.Jobs().Create(e.t.Context(), job))
	return job
}

// edit does what the contract lets another program do.
func (e *edited) edit(name string, set ...bson.E) {
	e.t.Helper()
	result, err := e.jobs.UpdateOne(e.t.Context(), bson.D{{Key: "_id", Value: "default/" + name}},
		bson.D{{Key: "$set", Value: bson.D(set)}, {Key: "$inc", Value: bson.D{{Key: "generation", Value: 1}}}})
	must(e.t, err)
	if result.ModifiedCount != 1 {
		e.t.Fatalf("%d documents were edited", result.ModifiedCount)
	}
}

func (e *edited) adopt(edits *mongo.Edits) []engine.Wake {
	e.t.Helper()
	wakes, err := edits.Adopt(e.t.Context())
	must(e.t, err)
	return wakes
}

func (e *edited) stored(name string) engine.Job {
	e.t.Helper()
	job, err := e.store.Jobs().Get(e.t.Context(), "default", name)
	must(e.t, err)
	return job
}

func TestEditInTheDatabaseIsTakenUp(t *testing.T) {
	e := newEdited(t)
	other := e.create("ebb", 1)
	edits := e.store.Edits()
	if wakes := e.adopt(edits); len(wakes) > 0 {
		t.Fatalf("nothing was edited, and yet: %v", wakes)
	}
	e.edit("tides", bson.E{Key: "definition.schedule", Value: "*/5 * * * *"})
	want := engine.Wake{Shard: e.job.Shard, Kind: engine.WakeJob, Key: e.job.UID}
	if wakes := e.adopt(edits); len(wakes) != 1 || wakes[0] != want {
		t.Fatalf("got %v, want %v", wakes, want)
	}
	job := e.stored("tides")
	if !job.Pending || job.Generation != 2 || job.Revision != 2 || job.Source != "" || job.UpdatedBy != "database" || !job.UpdatedAt.After(e.job.UpdatedAt) ||
		len(job.Spec.Schedule) != 1 || job.Spec.Schedule[0] != "*/5 * * * *" {
		t.Errorf("the job is %+v", job)
	}
	pending, err := e.store.PendingJobs(t.Context(), []int{e.job.Shard}, 10)
	if err != nil || len(pending) != 1 || pending[0].UID != e.job.UID {
		t.Errorf("the engine is left %+v: %v", pending, err)
	}
	if wakes := e.adopt(edits); len(wakes) > 0 {
		t.Errorf("it is taken up twice: %v", wakes)
	}
	if got := e.stored("ebb"); got.Revision != other.Revision || got.Pending {
		t.Errorf("the other job was touched: %+v", got)
	}
	// What Tidewheel writes next is no edit of another program.
	job.Revision, job.Generation = job.Revision+1, job.Generation+1
	must(t, e.store.Jobs().Replace(t.Context(), job))
	if wakes := e.adopt(edits); len(wakes) > 0 {
		t.Errorf("an edit of Tidewheel's own is taken up: %v", wakes)
	}
}

func TestPauseInTheDatabaseIsTakenUp(t *testing.T) {
	e := newEdited(t)
	edits := e.store.Edits()
	e.edit("tides", bson.E{Key: "paused", Value: true})
	e.adopt(edits)
	if job := e.stored("tides"); !job.Paused || job.PausedAt.IsZero() || job.PausedBy != "database" || !job.Pending {
		t.Errorf("the job is %+v", job)
	}
	e.edit("tides", bson.E{Key: "paused", Value: false})
	e.adopt(edits)
	if job := e.stored("tides"); job.Paused || !job.PausedAt.IsZero() || job.PausedBy != "" || job.Generation != 3 {
		t.Errorf("the job is %+v", job)
	}
}

// A document that is no definition is left alone, and hinders nothing.
func TestWrongEditInTheDatabaseIsRefused(t *testing.T) {
	e := newEdited(t)
	edits := e.store.Edits()
	e.create("ebb", 1)
	for _, wrong := range []bson.E{
		{Key: "definition.schedule", Value: "every full moon"}, {Key: "definition.name", Value: "ebb"}, {Key: "definition.timeout", Value: "soon"},
	} {
		e.create("wrong", 1)
		e.edit("wrong", wrong)
		e.edit("ebb", bson.E{Key: "definition.schedule", Value: "*/5 * * * *"})
		for range 2 {
			for _, wake := range e.adopt(edits) {
				if wake.Key != e.stored("ebb").UID {
					t.Errorf("%s is taken up", wrong.Key)
				}
			}
		}
		if job := e.stored("ebb"); job.UpdatedBy != "database" {
			t.Errorf("%s is in the way of others", wrong.Key)
		}
		_, err := e.jobs.DeleteOne(t.Context(), bson.D{{Key: "_id", Value: "default/wrong"}})
		must(t, err)
	}
}

// However many different generations there are, all edits are found; one sweep looks at a bounded number.
func TestEditsAmongManyGenerations(t *testing.T) {
	e := newEdited(t)
	const many = 150
	for i := range many {
		e.create(fmt.Sprintf("job%03d", i), int64(i+2))
	}
	e.edit("tides", bson.E{Key: "paused", Value: true})
	e.edit("job149", bson.E{Key: "paused", Value: true})
	edits := e.store.Edits()
	taken := 0
	for range 3 {
		taken += len(e.adopt(edits))
	}
	if taken != 2 {
		t.Errorf("%d edits were taken up in three sweeps, want 2", taken)
	}
}
