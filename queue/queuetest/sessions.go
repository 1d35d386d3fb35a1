package queuetest

import (
	"testing"
	"time"
)

var sessions = map[string]func(*testing.T, Harness){
	"a session that was ended is ended for all nodes": sessionEnds,
}

func sessionEnds(t *testing.T, h Harness) {
	here, there := h.Connect(t), h.Connect(t)
	ended := func(id string) bool {
		t.Helper()
		over, err := there.SessionEnded(patient(t), id)
		if err != nil {
			t.Fatal(err)
		}
		return over
	}
	if ended("S1") {
		t.Error("a session is over before it was ended")
	}
	if err := here.EndSession(patient(t), "S1", time.Hour); err != nil {
		t.Fatal(err)
	}
	if !ended("S1") || ended("S2") {
		t.Error("another session was ended than the one that was named")
	}
	if err := here.EndSession(patient(t), "S1", time.Hour); err != nil || !ended("S1") {
		t.Errorf("ended twice: %v", err)
	}
	if err := here.EndSession(patient(t), "a.b", time.Hour); err == nil {
		t.Error("what is no id was ended")
	}
}
