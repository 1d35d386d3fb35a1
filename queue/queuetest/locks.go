package queuetest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

var locks = map[string]func(*testing.T, Harness){
	"a lock excludes everybody, its own holder too":         lockExcludes,
	"of many who lock at once one succeeds":                 lockRace,
	"a lock made by a try without an answer is found again": lockTriedAgain,
	"a refresh without an answer is refreshed again":        lockRefreshedAgain,
	"a lock expires":                                         lockExpires,
	"a refreshed lock lives on":                              lockRefreshed,
	"a lock that was released is free at once":               lockReleased,
	"unlocking with a revision of before does nothing":       lockStaleUnlock,
	"refreshing with a revision of before is fenced":         lockStaleRefresh,
	"tokens of one key grow, released or expired in between": lockTokens,
}

func lockExcludes(t *testing.T, h Harness) {
	q, other := h.Connect(t), h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	mine := holder(task, "one")
	begun := time.Now()
	lock(t, q, task.Lock, mine, 20*time.Second)
	for _, who := range []executor.LockHolder{holder(task, "two"), mine} {
		_, err := other.Lock(patient(t), task.Lock, who, time.Minute)
		var held *executor.HeldError
		if !errors.As(err, &held) {
			t.Fatalf("got %v, want *HeldError", err)
		}
		if held.Holder != mine || held.Key != task.Lock {
			t.Errorf("held by %+v of %s, want %+v of %s", held.Holder, held.Key, mine, task.Lock)
		}
		if held.Until.Before(begun.Add(19*time.Second)) || held.Until.After(time.Now().Add(21*time.Second)) {
			t.Errorf("held until %v, want 20 s after %v", held.Until, begun)
		}
	}
}

// A try whose answer was lost has made the lock all the same. Its holder gets it with the next one, for as long as a new lock
// and under a token that grows; for another one that was given the same attempt it is held.
func lockTriedAgain(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	mine, twin := holder(task, "one"), holder(task, "one")
	mine.Try, twin.Try = "first", "second"
	token := lock(t, q, task.Lock, mine, 5*time.Second)
	again, err := q.Lock(patient(t), task.Lock, mine, time.Minute)
	if err != nil || again <= token {
		t.Fatalf("tried again it is %d, %v, after %d", again, err, token)
	}
	_, err = q.Lock(patient(t), task.Lock, twin, time.Minute)
	var held *executor.HeldError
	if !errors.As(err, &held) || held.Holder != mine || time.Until(held.Until) < 30*time.Second {
		t.Errorf("got %v, want it held by %+v for about a minute", err, mine)
	}
}

func lockRace(t *testing.T, h Harness) {
	q := h.Connect(t)
	for range 20 {
		task := newTask(spec.TierLight, spec.ClassStandard)
		var mu sync.Mutex
		var won int
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				_, err := q.Lock(patient(t), task.Lock, holder(task, string(rune('a'+i))), time.Minute)
				var held *executor.HeldError
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
				} else if !errors.As(err, &held) {
					t.Errorf("lock: %v", err)
				}
			})
		}
		all.Wait()
		if won != 1 {
			t.Fatalf("%d hold the lock", won)
		}
	}
}

// obtain asks for a lock until it is free.
func obtain(t *testing.T, q Queue, key string, h executor.LockHolder) (token uint64) {
	t.Helper()
	await(t, "the lock is free", func() bool {
		var err error
		token, err = q.Lock(patient(t), key, h, time.Minute)
		var held *executor.HeldError
		if err != nil && !errors.As(err, &held) {
			t.Fatalf("lock: %v", err)
		}
		return err == nil
	})
	return token
}

func lockExpires(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	begun := time.Now()
	first := lock(t, q, task.Lock, holder(task, "one"), time.Second)
	second := obtain(t, q, task.Lock, holder(task, "two"))
	if waited := time.Since(begun); waited < 900*time.Millisecond {
		t.Errorf("the lock was gone after %v", waited)
	}
	if second <= first {
		t.Errorf("token %d after %d", second, first)
	}
	if _, err := q.Refresh(patient(t), task.Lock, holder(task, "one"), first, time.Second); !errors.Is(err, executor.ErrFenced) {
		t.Errorf("refresh of an expired lock: %v, want ErrFenced", err)
	}
}

func lockRefreshed(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	token := lock(t, q, task.Lock, holder(task, "one"), time.Second)
	begun := time.Now()
	revision, err := q.Refresh(patient(t), task.Lock, holder(task, "one"), token, 3*time.Second)
	if err != nil || revision <= token {
		t.Fatalf("refresh: revision %d after %d, %v", revision, token, err)
	}
	obtain(t, q, task.Lock, holder(task, "two"))
	if waited := time.Since(begun); waited < 2900*time.Millisecond {
		t.Errorf("the refreshed lock was gone after %v", waited)
	}
}

// A refresh whose answer was lost is asked for again: the life of the lock begins with the one that is answered.
func lockRefreshedAgain(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	token := lock(t, q, task.Lock, holder(task, "one"), time.Minute)
	latest := token
	for range 3 {
		revision, err := q.Refresh(patient(t), task.Lock, holder(task, "one"), token, time.Minute)
		if err != nil || revision <= latest {
			t.Fatalf("refresh: revision %d after %d, %v: want a later one", revision, latest, err)
		}
		latest = revision
	}
	if _, err := q.Refresh(patient(t), task.Lock, holder(task, "one"), latest, time.Minute); err != nil {
		t.Errorf("refresh of the latest: %v", err)
	}
}

func lockReleased(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	for range 50 {
		token := lock(t, q, task.Lock, holder(task, "one"), time.Minute)
		revision, err := q.Refresh(patient(t), task.Lock, holder(task, "one"), token, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // a lock that has gone is no error
			if err := q.Unlock(patient(t), task.Lock, revision); err != nil {
				t.Fatalf("unlock: %v", err)
			}
		}
	}
}

func lockStaleUnlock(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	first := lock(t, q, task.Lock, holder(task, "one"), time.Minute)
	if err := q.Unlock(patient(t), task.Lock, first); err != nil {
		t.Fatal(err)
	}
	lock(t, q, task.Lock, holder(task, "two"), time.Minute)
	if err := q.Unlock(patient(t), task.Lock, first); err != nil {
		t.Fatalf("unlock: %v", err)
	}
	var held *executor.HeldError
	if _, err := q.Lock(patient(t), task.Lock, holder(task, "three"), time.Minute); !errors.As(err, &held) || held.Holder.Executor != "two" {
		t.Errorf("got %v, want it held by two", err)
	}
}

func lockStaleRefresh(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	first := lock(t, q, task.Lock, holder(task, "one"), time.Minute)
	if err := q.Unlock(patient(t), task.Lock, first); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Refresh(patient(t), task.Lock, holder(task, "one"), first, time.Minute); !errors.Is(err, executor.ErrFenced) {
		t.Errorf("refresh after unlock: %v, want ErrFenced", err)
	}
	lock(t, q, task.Lock, holder(task, "two"), time.Minute)
	if _, err := q.Refresh(patient(t), task.Lock, holder(task, "one"), first, time.Minute); !errors.Is(err, executor.ErrFenced) {
		t.Errorf("refresh of another's lock: %v, want ErrFenced", err)
	}
}

func lockTokens(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	var last uint64
	for i := range 4 {
		token := obtain(t, q, task.Lock, holder(task, "one"))
		if token <= last {
			t.Fatalf("token %d after %d", token, last)
		}
		last = token
		if i == 1 { // let it expire
			revision, err := q.Refresh(patient(t), task.Lock, holder(task, "one"), token, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			last = revision
			continue
		}
		if err := q.Unlock(patient(t), task.Lock, token); err != nil {
			t.Fatal(err)
		}
	}
}
