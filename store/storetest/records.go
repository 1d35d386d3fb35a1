package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

func aRecord(kind, key string) engine.Record {
	return engine.Record{Kind: kind, Key: key, Revision: 1, Data: []byte(`{"of": "` + key + `",  "n": 1e400}` + "\x00\xff")}
}

func (h *harness) insertRecords(records ...engine.Record) {
	h.Helper()
	for _, record := range records {
		h.must("insert "+record.Key, h.store.InsertRecord(h.ctx, record))
	}
}

func (h *harness) record(kind, key string) engine.Record {
	h.Helper()
	record, err := h.store.Record(h.ctx, kind, key)
	h.must("read "+kind+" "+key, err)
	return record
}

// recordKeys walks all pages of a filter.
func (h *harness) recordKeys(filter engine.RecordFilter) (keys []string) {
	h.Helper()
	for range 1000 {
		page, err := h.store.Records(h.ctx, filter)
		h.must("list", err)
		if len(page) > filter.Limit {
			h.Fatalf("a page of %d for a limit of %d", len(page), filter.Limit)
		}
		for _, record := range page {
			keys = append(keys, record.Key)
		}
		if len(page) < filter.Limit {
			return keys
		}
		filter.After = page[len(page)-1].Key
	}
	h.Fatal("there is no end of pages")
	return nil
}

var recordPromises = []promise{
	{"a record comes back as it was written", func(h *harness) {
		for _, record := range []engine.Record{
			aRecord("user", "ada"), aRecord("user", "Ada"), aRecord("token", "ada"), aRecord("user", "ns/ä $.x"),
			{Kind: "user", Key: strings.Repeat("k", engine.MaxRecordKey), Revision: 1, Data: []byte("x"), ExpiresAt: noon},
			{Kind: "user", Key: "large", Revision: 1, Data: []byte(strings.Repeat("x", engine.MaxRecord))},
		} {
			h.insertRecords(record)
			same(h.T, "record", h.record(record.Kind, record.Key), record)
			h.record(record.Kind, record.Key).Data[0] = 'y'
			same(h.T, "after its reader changed it", h.record(record.Kind, record.Key), record)
		}
		if _, err := h.store.Record(h.ctx, "user", "nobody"); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("one that is not there: %v", err)
		}
	}},
	{"a record is inserted once", func(h *harness) {
		h.insertRecords(aRecord("user", "ada"))
		again := aRecord("user", "ada")
		again.Data = []byte("2")
		if err := h.store.InsertRecord(h.ctx, again); !errors.Is(err, engine.ErrExists) {
			h.Fatalf("got %v", err)
		}
		same(h.T, "record", h.record("user", "ada"), aRecord("user", "ada"))
	}},
	{"stale write of a record is refused", func(h *harness) {
		h.insertRecords(aRecord("user", "ada"))
		second := aRecord("user", "ada")
		second.Revision, second.Data, second.ExpiresAt = 2, []byte("second"), noon
		h.must("replace", h.store.ReplaceRecord(h.ctx, second))
		if err := h.store.ReplaceRecord(h.ctx, second); !errors.Is(err, engine.ErrConflict) {
			h.Fatalf("the same a second time: %v", err)
		}
		same(h.T, "record", h.record("user", "ada"), second)
		third := aRecord("user", "ada")
		third.Revision = 3
		h.must("replace", h.store.ReplaceRecord(h.ctx, third))
		same(h.T, "one that does not expire any more", h.record("user", "ada"), third)
		missing := aRecord("user", "grace")
		missing.Revision = 2
		if err := h.store.ReplaceRecord(h.ctx, missing); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("one that is not there: %v", err)
		}
	}},
	{"raced writes of a record have one winner, though all write the same", func(h *harness) {
		answers := race(func(int) error { return h.store.InsertRecord(h.ctx, aRecord("user", "ada")) })
		h.oneWinner(answers, engine.ErrExists)
		second := aRecord("user", "ada")
		second.Revision = 2
		answers = race(func(int) error { return h.store.ReplaceRecord(h.ctx, second) })
		h.oneWinner(answers, engine.ErrConflict)
	}},
	{"a record is deleted in the revision that was read, or in any", func(h *harness) {
		h.insertRecords(aRecord("user", "ada"), aRecord("user", "grace"))
		if err := h.store.DeleteRecord(h.ctx, "user", "ada", 2); !errors.Is(err, engine.ErrConflict) {
			h.Fatalf("another revision: %v", err)
		}
		h.must("delete", h.store.DeleteRecord(h.ctx, "user", "ada", 1))
		h.must("delete any", h.store.DeleteRecord(h.ctx, "user", "grace", 0))
		for _, key := range []string{"ada", "grace"} {
			if err := h.store.DeleteRecord(h.ctx, "user", key, 0); !errors.Is(err, engine.ErrNotFound) {
				h.Fatalf("again: %v", err)
			}
		}
		h.insertRecords(aRecord("user", "ada"))
	}},
	{"records of a kind are listed by key, either way", func(h *harness) {
		keys := []string{"0", "A", "a", "a-", "a.b", "a/1", "a/2", "a0", "b", "b/1", "ä", "ä/1"}
		for i := range keys {
			h.insertRecords(aRecord("token", keys[(i*5+1)%len(keys)]), aRecord("tokens", keys[i]), aRecord("toke", keys[i]))
		}
		for prefix, want := range map[string][]string{"": keys, "a/": {"a/1", "a/2"}, "a": keys[2:8], "ä": {"ä", "ä/1"}, "c": nil} {
			backwards := slices.Clone(want)
			slices.Reverse(backwards)
			for _, limit := range []int{1, 2, 100} {
				same(h.T, fmt.Sprintf("%q by %d", prefix, limit), h.recordKeys(engine.RecordFilter{Kind: "token", Prefix: prefix, Limit: limit}), want)
				same(h.T, fmt.Sprintf("%q by %d, backwards", prefix, limit),
					h.recordKeys(engine.RecordFilter{Kind: "token", Prefix: prefix, Limit: limit, Backwards: true}), backwards)
			}
		}
		same(h.T, "of no kind", h.recordKeys(engine.RecordFilter{Kind: "none", Limit: 10}), nil)
	}},
	{"records expire when their time is over, and not before", func(h *harness) {
		for i := range 7 {
			record := aRecord("session", fmt.Sprint(i))
			record.ExpiresAt = noon.Add(time.Duration(i) * time.Second)
			h.insertRecords(record)
		}
		h.insertRecords(aRecord("user", "ada"))
		deleted := 0
		for range 10 {
			some, err := h.store.ExpireRecords(h.ctx, noon.Add(4*time.Second), 3)
			h.must("expire", err)
			if some > 3 {
				h.Fatalf("%d for a limit of 3", some)
			}
			deleted += some
		}
		same(h.T, "deleted", deleted, 4)
		same(h.T, "left", h.recordKeys(engine.RecordFilter{Kind: "session", Limit: 10}), []string{"4", "5", "6"})
		h.record("user", "ada")
	}},
}
