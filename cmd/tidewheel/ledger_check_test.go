package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// A slot that is removed from the ledger is found by a server that starts, which reports it in its metrics, on its
// overview and to the doctor.
func TestSlotMissingFromTheLedgerIsReported(t *testing.T) {
	config := serverConfigFor(t)
	config.Auth, config.Drain = false, 100*time.Millisecond
	s := startServer(t, config)
	s.push("sleep", "exec sleep 60")
	s.apply("kind: Job\nname: busy\nbinary: sleep@stable\nevery: 1s\noverlap: skip\ngrace: 1s\n")
	var skipped wire.LedgerEntry
	for skipped.Count < 2 { // the run continues, so that the slots after it are skipped, one a second
		for _, entry := range decode[wire.List[wire.LedgerEntry]](t, s.must("slots", "busy", "-o", "json")).Items {
			if entry.Outcome == string(engine.OutcomeSkipped) {
				skipped = entry
			}
		}
	}
	s.must("pause", "job", "busy")
	doctor := func() (status int, out string) {
		result := s.run("doctor", "--data", config.Data, "--http", strings.TrimPrefix(s.server.URL(), "http://"))
		return result.status, result.out
	}
	if err := s.server.service.CheckLedger(t.Context()); err != nil {
		t.Fatal(err)
	}
	if sound := s.server.service.LedgerState(); sound.Found != 0 || sound.Slots == 0 {
		t.Errorf("with nothing missing: %+v", sound)
	}
	if _, out := doctor(); !strings.Contains(out, "is accounted for") {
		t.Errorf("the doctor says %s", out)
	}
	if n, err := s.server.store.ExpireSlots(t.Context(), engine.Expiry{Before: time.Now().Add(time.Hour)}, 1000); err != nil || n == 0 {
		t.Fatal(n, err)
	}
	s.stop()
	s.start()
	if err := s.server.service.CheckLedger(t.Context()); err != nil {
		t.Fatal(err)
	}
	state := s.server.service.LedgerState()
	found := false
	for _, d := range state.Differences {
		found = found || d.Owner == "busy" && d.Slot.Equal(skipped.From)
	}
	if !found {
		t.Fatalf("the slot %s is not reported: %+v", skipped.From, state)
	}
	if status, out := doctor(); status != exitFailed || !strings.Contains(out, "did not end once") || !strings.Contains(out, "of busy, neither run nor in the ledger (missing)") {
		t.Errorf("the doctor: exit %d, %s", status, out)
	}
	for path, words := range map[string]string{"/": "neither run nor in the ledger", "/metrics": fmt.Sprint("\ntidewheel_ledger_differences ", state.Found, "\n")} {
		if _, page := get(t, s.server.URL()+path); !strings.Contains(page, words) {
			t.Errorf("%s does not say %q", path, words)
		}
	}
}

func TestSlotsOfAllRootsAreListedTogether(t *testing.T) {
	config := serverConfigFor(t)
	config.Auth = false
	s := startServer(t, config)
	s.push("ok", "echo ok")
	s.apply("kind: DAG\nname: etl\ndefaults: {binary: ok@stable}\ntasks:\n  orders: {schedule: '* * * * * *'}\n  rates: {schedule: '* * * * * *'}\n  join: {needs: [orders, rates]}\n")
	roots := map[string]bool{}
	for len(roots) < 2 {
		for _, entry := range decode[wire.List[wire.LedgerEntry]](t, s.must("slots", "etl", "-o", "json")).Items {
			roots[entry.Root] = true
		}
	}
	if !roots["orders"] || !roots["rates"] {
		t.Errorf("the roots are %v", roots)
	}
	if out := s.must("slots", "etl"); !strings.HasPrefix(out, "ROOT") || !strings.Contains(out, "orders") || !strings.Contains(out, "rates") {
		t.Errorf("the table is %s", out)
	}
	if out := s.must("slots", "etl/rates"); strings.Contains(out, "ROOT") || !strings.Contains(out, "fired") {
		t.Errorf("of one root: %s", out)
	}
}
