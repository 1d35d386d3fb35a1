package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/memory"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func entry(n int) audit.Entry {
	return audit.Entry{
		At: noon.Add(time.Duration(n) * time.Minute), By: []string{"ada", "ada/deploy", "grace"}[n%3],
		Namespace: []string{"default", "finance"}[n%2],
		Action:    "POST /api/v1/jobs/{name}/pause", Target: fmt.Sprintf("/api/v1/jobs/job%d/pause", n), Outcome: audit.Done, Status: 200,
	}
}

func filled(t *testing.T, store *memory.Store, count int) *audit.Log {
	t.Helper()
	log := audit.New(store)
	for n := range count {
		if err := log.Append(t.Context(), entry(n)); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

func list(t *testing.T, log *audit.Log, filter audit.Filter) (numbers []int64) {
	t.Helper()
	for range 1000 {
		page, next, err := log.List(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page {
			numbers = append(numbers, page[i].Number)
		}
		if filter.Below = next; next == 0 {
			return numbers
		}
	}
	t.Fatal("there is no end of pages")
	return nil
}

func TestEntriesOfTwoNodesAreOneChain(t *testing.T) {
	store := memory.New()
	nodes := []*audit.Log{audit.New(store), audit.New(store)}
	var wait sync.WaitGroup
	for n := range 400 {
		wait.Go(func() {
			if err := nodes[n%2].Append(t.Context(), entry(n)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	last, err := nodes[0].Verify(t.Context(), "")
	if err != nil || last.Number != 400 {
		t.Fatalf("the last is %d, %v", last.Number, err)
	}
	if again, err := nodes[1].Verify(t.Context(), last.Hash); err != nil || again.Hash != last.Hash {
		t.Fatalf("by its hash: %v", err)
	}
	targets := map[string]bool{}
	for below := int64(0); ; {
		page, next, err := nodes[0].List(t.Context(), audit.Filter{Below: below, Limit: 7})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page {
			targets[page[i].Target] = true
		}
		if below = next; next == 0 {
			break
		}
	}
	if len(targets) != 400 {
		t.Errorf("%d of 400 are listed", len(targets))
	}
}

func TestEntriesAreListedByWhatIsAskedFor(t *testing.T) {
	log := filled(t, memory.New(), 12)
	for name, c := range map[string]struct {
		filter audit.Filter
		want   []int64
	}{
		"all":                   {audit.Filter{}, []int64{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}},
		"of ada and her tokens": {audit.Filter{By: "ada"}, []int64{11, 10, 8, 7, 5, 4, 2, 1}},
		"of a token":            {audit.Filter{By: "ada/deploy"}, []int64{11, 8, 5, 2}},
		"in a namespace":        {audit.Filter{Namespaces: []string{"finance"}}, []int64{12, 10, 8, 6, 4, 2}},
		"by text":               {audit.Filter{Text: "JOB11"}, []int64{12}},
		"in a time":             {audit.Filter{Since: noon.Add(3 * time.Minute), Until: noon.Add(5 * time.Minute)}, []int64{5, 4}},
		"refused ones":          {audit.Filter{Outcome: audit.Refused}, nil},
	} {
		for _, limit := range []int{1, 3, 100} {
			c.filter.Limit = limit
			if got := list(t, log, c.filter); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s, by %d: %v, want %v", name, limit, got, c.want)
			}
		}
	}
}

// change rewrites the record of an entry, as a program that can write to the store might.
func change(t *testing.T, store *memory.Store, number int, edit func(*audit.Entry)) {
	t.Helper()
	record, err := store.Record(t.Context(), "audit", fmt.Sprintf("%016d", number))
	if err != nil {
		t.Fatal(err)
	}
	var entries []audit.Entry
	if err := json.Unmarshal(record.Data, &entries); err != nil {
		t.Fatal(err)
	}
	edit(&entries[0])
	record.Data, _ = json.Marshal(entries)
	record.Revision++
	if err := store.ReplaceRecord(t.Context(), record); err != nil {
		t.Fatal(err)
	}
}

func TestWhatWasChangedAfterwardsIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		break_ func(t *testing.T, store *memory.Store)
		number int64
	}{
		"a field": {func(t *testing.T, store *memory.Store) {
			change(t, store, 5, func(e *audit.Entry) { e.By = "grace" })
		}, 5},
		"a field, with its hash": {func(t *testing.T, store *memory.Store) {
			change(t, store, 5, func(e *audit.Entry) {
				e.By = "grace"
				e.Hash = audit.Sum(*e)
			})
		}, 6},
		"one taken out": {func(t *testing.T, store *memory.Store) {
			if err := store.DeleteRecord(t.Context(), "audit", fmt.Sprintf("%016d", 5), 0); err != nil {
				t.Fatal(err)
			}
		}, 6},
		"one that cannot be read": {func(t *testing.T, store *memory.Store) {
			record, _ := store.Record(t.Context(), "audit", fmt.Sprintf("%016d", 5))
			record.Revision, record.Data = 2, []byte("[")
			if err := store.ReplaceRecord(t.Context(), record); err != nil {
				t.Fatal(err)
			}
		}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New()
			filled(t, store, 9)
			c.break_(t, store)
			_, err := audit.New(store).Verify(t.Context(), "")
			if broken, is := errors.AsType[*audit.BrokenError](err); !is || broken.Number != c.number {
				t.Errorf("got %v, want entry %d", err, c.number)
			}
		})
	}
}

func TestNewestEntriesThatWereRemovedAreFoundByAHashKeptElsewhere(t *testing.T) {
	store := memory.New()
	last, err := filled(t, store, 9).Verify(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.DeleteRecord(t.Context(), "audit", fmt.Sprintf("%016d", 9), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.New(store).Verify(t.Context(), ""); err != nil {
		t.Errorf("without a hash: %v", err)
	}
	if _, err := audit.New(store).Verify(t.Context(), last.Hash); err == nil {
		t.Error("the check did not notice")
	}
}

// forgetful writes, and says that it did not.
type forgetful struct {
	*memory.Store
	lose int
}

var errLost = errors.New("the answer was lost")

func (f *forgetful) InsertRecord(ctx context.Context, record engine.Record) error {
	err := f.Store.InsertRecord(ctx, record)
	if f.lose--; f.lose >= 0 && err == nil {
		return errLost
	}
	return err
}

func TestAnEntryWhoseAnswerWasLostBreaksNoChain(t *testing.T) {
	store := &forgetful{Store: memory.New(), lose: 1}
	log := audit.New(store)
	if err := log.Append(t.Context(), entry(0)); !errors.Is(err, errLost) {
		t.Fatalf("got %v", err)
	}
	if err := log.Append(t.Context(), entry(1)); err != nil {
		t.Fatal(err)
	}
	if last, err := log.Verify(t.Context(), ""); err != nil || last.Number != 2 {
		t.Errorf("the last is %d, %v", last.Number, err)
	}
}

func TestTextsOfUsersAreBounded(t *testing.T) {
	long := entry(0)
	long.Target, long.Agent = strings.Repeat("ä", 5000), strings.Repeat("x", 5000)
	log := audit.New(memory.New())
	if err := log.Append(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	page, _, err := log.List(t.Context(), audit.Filter{Limit: 1})
	if err != nil || len(page) != 1 || len(page[0].Target) > 1100 || len(page[0].Agent) > 1100 {
		t.Errorf("%v, %d bytes", err, len(page[0].Target))
	}
	if _, err := log.Verify(t.Context(), ""); err != nil {
		t.Error(err)
	}
}

func TestWhatIsChangedAtOnceIsDescribedByAll(t *testing.T) {
	ctx, changes := audit.Collect(t.Context())
	var wait sync.WaitGroup
	for n := range 150 {
		wait.Go(func() { audit.Describe(ctx, "default", audit.Change{What: fmt.Sprint("run ", n), After: "retry"}) })
	}
	wait.Wait()
	var entry audit.Entry
	if changes.Fill(&entry); len(entry.Changes) != 101 || entry.Changes[100].What != "and 50 more" || entry.Namespace != "default" {
		t.Errorf("%d changes, the last is %+v", len(entry.Changes), entry.Changes[len(entry.Changes)-1])
	}
}
