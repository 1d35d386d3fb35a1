package access_test

import (
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
)

func TestSessionEndsByItself(t *testing.T) {
	const day = 24 * time.Hour
	w := newWorld()
	w.user(t, "ada", everywhere)
	used, idle := w.session(t, w.login(t, "ada")), w.session(t, w.login(t, "ada"))
	begun := w.now
	for w.now.Before(begun.Add(access.SessionLife - 20*day)) {
		w.now = w.now.Add(20 * day)
		if _, err := w.BySession(t.Context(), used); err != nil {
			t.Fatalf("after %s: %v", w.now.Sub(begun), err)
		}
	}
	_, err := w.BySession(t.Context(), idle)
	want(t, "one that is not used", err, access.ErrNoSession)
	w.now = begun.Add(access.SessionLife)
	_, err = w.BySession(t.Context(), used)
	want(t, "one that is old", err, access.ErrNoSession)
	if deleted, err := w.store.ExpireRecords(t.Context(), w.now.Add(time.Second), 10); deleted != 2 || err != nil {
		t.Errorf("the janitor removes %d, %v", deleted, err)
	}
}

func TestUseOfASessionIsNotedOnceAMinute(t *testing.T) {
	w := newWorld()
	w.user(t, "ada", everywhere)
	cookie := w.session(t, w.login(t, "ada"))
	for range 3 {
		w.now = w.now.Add(20 * time.Second)
		if _, err := w.BySession(t.Context(), cookie); err != nil {
			t.Fatal(err)
		}
	}
	records, err := w.store.Records(t.Context(), engine.RecordFilter{Kind: "session", Limit: 10})
	if err != nil || len(records) != 1 || records[0].Revision != 2 {
		t.Errorf("records %+v, %v", records, err)
	}
	sessions, err := w.Sessions(t.Context(), "ada")
	if err != nil || len(sessions) != 1 || !sessions[0].SeenAt.Equal(w.now) || sessions[0].Address != "10.0.0.7" || sessions[0].Agent != "Firefox" {
		t.Errorf("sessions %+v, %v", sessions, err)
	}
}

func TestOneSessionIsEndedByItsID(t *testing.T) {
	w := newWorld()
	w.user(t, "ada", everywhere)
	here, there := w.session(t, w.login(t, "ada")), w.session(t, w.login(t, "ada"))
	ada, err := w.BySession(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", ada.Session[:8], "0123456789abcdef"} {
		want(t, "to end session "+id, w.EndSession(t.Context(), "ada", id), engine.ErrNotFound)
	}
	want(t, "to end that of another user", w.EndSession(t.Context(), "bob", ada.Session), engine.ErrNotFound)
	want(t, "to end it", w.EndSession(t.Context(), "ada", ada.Session), nil)
	_, err = w.BySession(t.Context(), here)
	want(t, "the one that was ended", err, access.ErrNoSession)
	_, err = w.BySession(t.Context(), there)
	want(t, "the other", err, nil)
}
