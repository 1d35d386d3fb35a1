package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/web/service"
)

// remove does what was asked to be deleted, as the server does once the time to undo it is over.
func (s *site) remove(t *testing.T) {
	t.Helper()
	s.Now = s.Now.Add(service.UndoFor + time.Second)
	if _, err := s.CarryOutRemovals(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestADeletionIsTakenBackFromItsPage(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	at := s.act(t, "/jobs/tide-forecast/delete", url.Values{"confirm": {"tide-forecast"}})
	_, id, _ := strings.Cut(at, "undo=")
	if page := s.see(t, at); !strings.Contains(page, `action="/undo/`+id+`"`) {
		t.Fatal("there is no button to undo it")
	}
	if to := s.act(t, "/undo/"+id, nil); to != "/jobs?done=kept" {
		t.Errorf("undone, it leads to %s", to)
	}
	if response := s.ask(t, http.MethodPost, "/undo/"+id, nil); response.Code != http.StatusNotFound {
		t.Errorf("undone twice: %d", response.Code)
	}
	s.remove(t)
	s.see(t, "/jobs/tide-forecast")
	if page := s.see(t, at); strings.Contains(page, "data-undo") {
		t.Error("what is over is offered again")
	}
}
