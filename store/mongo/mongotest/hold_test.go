package mongotest_test

import (
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

// soon is a config that projects and trims at once, and the signal that the journal was trimmed.
func soon() (config mongo.Config, trimmed chan struct{}) {
	trimmed = make(chan struct{}, 1)
	return mongo.Config{
		PrimaryOnly: true, ProjectInterval: time.Millisecond, TrimInterval: time.Millisecond,
		Monitor: func(c mongo.Command) {
			if c.Name == "delete" && c.Collection == "journal" {
				select {
				case trimmed <- struct{}{}:
				default:
				}
			}
		},
	}, trimmed
}

// prepared returns the first form of runs whose slot is soon, and what follows.
func prepared(shard int) (lives [][]engine.Run) {
	slot := time.Now().Add(30 * time.Second).UTC().Truncate(time.Millisecond)
	for _, uid := range uidsOf(shard, 2) {
		lives = append(lives, life(uid, slot))
	}
	return lives
}

// untilTrimmed commits a run that has ended, to shard 8, and returns when it is projected and the journal trimmed.
func (o *owner) untilTrimmed(t *testing.T, server *mongotest.Server, trimmed <-chan struct{}) {
	t.Helper()
	o.commit(t, engine.Batch{Runs: []engine.Run{prepared(8)[0][3]}})
	shards := connect(t, server.URI()).Database(mongo.DefaultDatabase).Collection("shards")
	for {
		<-trimmed
		var shard struct{ Applied int64 }
		err := shards.FindOne(t.Context(), bson.D{{Key: "_id", Value: "08"}}).Decode(&shard)
		if !errors.Is(err, driver.ErrNoDocuments) {
			must(t, err)
		}
		if shard.Applied >= 2 {
			break
		}
	}
}

// A run that is prepared is not in its collection until more is known of it; the next owner of the shard finds it all the same.
func TestAPreparedRunIsHeldBackAndNotLost(t *testing.T) {
	server := startServer(t)
	config, trimmed := soon()
	first, second := closing(t, openStore(t, server.URI(), config)), closing(t, openStore(t, server.URI(), mongo.Config{PrimaryOnly: true}))
	one, other, lives := take(t, first, 7, "one"), take(t, first, 8, "one"), prepared(7)
	one.commit(t, engine.Batch{Runs: []engine.Run{lives[0][0]}}, engine.Batch{Runs: []engine.Run{lives[1][3]}})
	other.untilTrimmed(t, server, trimmed)
	if _, err := second.Run(t.Context(), lives[1][3].ID); err != nil {
		t.Errorf("a run that has ended: %v", err)
	}
	if _, err := second.Run(t.Context(), lives[0][0].ID); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a prepared run is projected: %v", err)
	}
	take(t, second, 7, "two")
	if run, err := second.Run(t.Context(), lives[0][0].ID); err != nil || run.Status != engine.StatusScheduled {
		t.Errorf("the next owner finds %+v, %v", run, err)
	}
}

// The engine's reads include the runs that are held back.
func TestTheEngineReadsWhatIsHeldBack(t *testing.T) {
	server := startServer(t)
	config, trimmed := soon()
	store := closing(t, openStore(t, server.URI(), config))
	one, other, lives := take(t, store, 7, "one"), take(t, store, 8, "one"), prepared(7)
	one.commit(t, engine.Batch{Runs: []engine.Run{lives[0][0], lives[1][0]}})
	other.untilTrimmed(t, server, trimmed)
	if runs, err := store.ActiveRuns(t.Context(), []int{7}, "", 10); err != nil || len(runs) != 2 {
		t.Errorf("%d runs are active, %v", len(runs), err)
	}
	one.commit(t, engine.Batch{Runs: []engine.Run{lives[0][1]}})
	if runs, err := store.RunsByID(t.Context(), []string{lives[0][0].ID}); err != nil || len(runs) != 1 || runs[0].Revision != 2 {
		t.Errorf("it is %+v, %v", runs, err)
	}
}
