package mongotest_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidewheel/tidewheel/e2e"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/mongo/mongotest/internal/shapes"
	"github.com/tidewheel/tidewheel/store/storetest"
)

const (
	// pageBytes is what WiredTiger compresses at a time: leaf_page_max, 32 KiB.
	pageBytes = 32 << 10
	// recordID is how long the place of a document is in an index, of up to 17 billion documents.
	recordID = 5
)

// sizesOf are the bytes of a kind of documents, one of them on average.
type sizesOf struct{ bson, compressed, keys float64 }

// TestSizesAreThoseOfThePage measures documents as the store writes them, and their entries in indexes, and wants
// docs/scale.md to say the same.
//
//	go test -run TestSizes -v .
func TestSizesAreThoseOfThePage(t *testing.T) {
	uri := startServer(t).URI()
	store := closing(t, openStore(t, uri, mongo.Config{Database: "sizes", PrimaryOnly: true}))
	const many = 400
	now := time.UnixMilli(1_800_000_000_000).UTC()
	batch := &engine.Batch{}
	for i := range many {
		at := now.Add(time.Duration(i) * 7919 * time.Millisecond)
		job := aJob(t, i)
		if err := store.Jobs().Create(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		batch.Runs = append(batch.Runs, endedRun(job.UID, engine.SlotRunID(job.UID, at), job.Name, at, i))
		batch.Tasks = append(batch.Tasks, engine.ScheduledTask{
			ID: job.UID, Shard: job.Shard, Slot: at, RunAt: at, Accounted: at, Revision: 17, Generation: 1, Namespace: job.Namespace, Job: job.Name,
		})
		batch.Tasks[i].Revision = 1
		batch.Slots = append(batch.Slots, engine.SlotRange{
			ID: engine.SlotRunID(job.UID, at), JobUID: job.UID, Namespace: "default", Job: job.Name, From: at, To: at.Add(time.Minute), Count: 3,
			Outcome: engine.OutcomeSkipped, Reason: engine.ReasonOverlap,
		})
	}
	if err := storetest.Write(t.Context(), store, *batch); err != nil {
		t.Fatal(err)
	}
	database := connect(t, uri).Database("sizes")
	indexes := declared(t, database)
	measured := map[string]sizesOf{}
	for _, kind := range []struct{ name, collection string }{
		{"runs", "runs"}, {"scheduled tasks", "scheduled_tasks"}, {"jobs", "jobs"}, {"slots", "slots"},
	} {
		cursor, err := database.Collection(kind.collection).Find(t.Context(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		var documents []bson.Raw
		for cursor.Next(t.Context()) {
			documents = append(documents, append(bson.Raw(nil), cursor.Current...))
		}
		measured[kind.name] = sizes(documents, kind.collection, indexes)
	}
	said := sizesOfThePage(t)
	for name, is := range measured {
		t.Logf("| %s | %.0f | %.0f | %.0f |", name, is.bson, is.compressed, is.keys)
		for i, pair := range [][2]float64{{is.bson, said[name].bson}, {is.compressed, said[name].compressed}, {is.keys, said[name].keys}} {
			if pair[0] > 1.1*pair[1] || pair[0] < 0.9*pair[1] {
				t.Errorf("%s: figure %d of docs/scale.md is %.0f, and %.0f was measured", name, i+1, pair[1], pair[0])
			}
		}
	}
}

func aJob(t *testing.T, i int) engine.Job {
	t.Helper()
	definition := spec.Job{
		Kind: spec.KindJob, Name: fmt.Sprintf("customer-report-%05d", i), Binary: "report@stable", Args: []string{"--customer", strconv.Itoa(i)},
		Schedule: spec.Strings{"H H * * *"}, Labels: map[string]string{"team": "finance"},
	}
	definition.ApplyDefaults()
	at := time.UnixMilli(1_800_000_000_000).UTC()
	job := engine.Job{
		UID: strings.ToLower(rand.Text()[:16]), Namespace: engine.DefaultNamespace, Name: definition.Name, Spec: definition,
		Generation: 1, Revision: 1, CreatedAt: at, CreatedBy: "admin", UpdatedAt: at, UpdatedBy: "admin",
	}
	job.Shard = engine.ShardOf(job.UID)
	return job
}

// endedRun is one that succeeded at its first try and wrote a line.
func endedRun(uid, id, job string, slot time.Time, i int) engine.Run {
	code, end := 0, slot.Add(time.Duration(50+i)*time.Millisecond)
	after := func(micros int) time.Time { return slot.Add(time.Duration(micros+i*7) * time.Microsecond) }
	return engine.Run{
		ID: id, Revision: 1, Namespace: engine.DefaultNamespace, JobUID: uid, Job: job, Shard: engine.ShardOf(uid), Generation: 1,
		Trigger: engine.TriggerSchedule, Slot: slot, Status: engine.StatusSucceeded, Tier: spec.TierLight, Class: spec.ClassStandard,
		Binary: "report@stable", Version: 3, Digest: strings.Repeat("0123456789abcdef", 4), Kind: "elf", Size: 1 << 20,
		CreatedAt: slot.Add(-2 * time.Second), QueuedAt: after(300), StartedAt: after(1500), FinishedAt: end, Attempt: 1,
		Attempts: []engine.Attempt{{
			N: 1, Status: engine.StatusSucceeded, Executor: "executor-light-17", Token: uint64(900_000_000 + i), QueuedAt: after(300), ClaimedAt: after(900),
			FetchedAt: after(1000), StartedAt: after(1500), FinishedAt: end, ExitCode: &code,
			Usage: &engine.Usage{CPU: time.Duration(1_234_567 + i), MaxRSS: 1 << 20}, Output: &engine.Output{Size: 24, Lines: 1, Tail: []byte("1234 rows in 17 shops ok\n")},
		}},
	}
}

func sizes(documents []bson.Raw, collection string, indexes []shapes.Index) (each sizesOf) {
	var page []byte
	for i, document := range documents {
		each.bson += float64(len(document))
		if page = append(page, document...); len(page) >= pageBytes || i == len(documents)-1 {
			each.compressed += float64(len(snappy.Encode(nil, page)))
			page = page[:0]
		}
		for _, index := range indexes {
			if index.Collection == collection && holds(&index, document) {
				each.keys += float64(keySize(&index, document))
			}
		}
	}
	n := float64(len(documents))
	return sizesOf{each.bson / n, each.compressed / n, each.keys / n}
}

// holds reports whether a document is in a partial index.
func holds(index *shapes.Index, document bson.Raw) bool {
	for _, wanted := range index.Partial {
		value, err := document.LookupErr(wanted.Field)
		if err != nil || wanted.Value != "" && fmt.Sprint(value.Boolean()) != wanted.Value {
			return false
		}
	}
	return true
}

// keySize is how long an entry is before WiredTiger leaves out what it has in common with the previous one: the form of
// MongoDB's KeyString, src/mongo/db/storage/key_string. A byte says the type, and one ends the key.
func keySize(index *shapes.Index, document bson.Raw) int {
	size := 1 + recordID
	for _, key := range index.Keys {
		size++
		value, err := document.LookupErr(key.Field)
		if err != nil {
			continue // null
		}
		switch value.Type {
		case bson.TypeString:
			size += len(value.StringValue()) + 1
		case bson.TypeDateTime:
			size += 8
		case bson.TypeInt32, bson.TypeInt64:
			for rest := value.AsInt64() << 1; rest > 0; rest >>= 8 {
				size++
			}
		}
	}
	return size
}

var sizesRow = regexp.MustCompile(`(?m)^\| ([a-z ]+) \| ([0-9,]+) \| ([0-9,]+) \| ([0-9,]+) \|`)

func sizesOfThePage(t *testing.T) map[string]sizesOf {
	t.Helper()
	all := map[string]sizesOf{}
	for _, row := range sizesRow.FindAllStringSubmatch(scalePage(t), -1) {
		number := func(text string) float64 {
			n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		all[row[1]] = sizesOf{number(row[2]), number(row[3]), number(row[4])}
	}
	return all
}

// scalePage is the page of the capacity plan.
func scalePage(t *testing.T) string {
	t.Helper()
	root, err := e2e.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "scale.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}
