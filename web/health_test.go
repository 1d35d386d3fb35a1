package web_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/web"
)

func TestPageNamesThePartThatIsDown(t *testing.T) {
	s := newSite(t, nil)
	s.Store.Fail(errors.New("connection refused"))
	page := s.ask("GET", "/jobs", "", authorization, bearer, "Accept", html).is(503)
	if !strings.Contains(page.body, "the store does not answer") || strings.Contains(page.body, "something went wrong") {
		t.Errorf("the page says %s", page.body)
	}
	s.ask("GET", "/jobs", "", authorization, bearer).problem(503, "unavailable", "the store does not answer")
	s.Store.Fail(nil)
	s.ask("GET", "/jobs", "", authorization, bearer).problem(500, "internal_error")
}

func TestHealthNamesWhatIsDown(t *testing.T) {
	s := newSite(t, nil)
	for name, fail := range map[string]func(error){"the store": s.Store.Fail, "the queue": s.Queue.Fail, "S3": s.Blobs.Fail} {
		fail(errors.New("connection refused"))
		if got := s.ask("GET", "/readyz", "").is(503); !strings.Contains(got.body, name+" does not answer") {
			t.Errorf("without %s it says %q", name, got.body)
		}
		s.ask("GET", "/livez", "").is(200)
		fail(nil)
		s.ask("GET", "/readyz", "").is(200)
	}
}

func TestReadyzNamesASlowStore(t *testing.T) {
	s := newSite(t, func(config *web.Config) {
		config.Slow = func() string { return "the store is slower than what is asked of it" }
	})
	if got := s.ask("GET", "/readyz", "").is(200); got.body != "ok, but the store is slower than what is asked of it\n" {
		t.Errorf("it says %q", got.body)
	}
}

func TestLivezSaysWhyTheProcessMustBeStartedAgain(t *testing.T) {
	s := newSite(t, func(config *web.Config) {
		config.Live = func() error { return errors.New("the engine is stalled: it has not stepped for 31s") }
	})
	if got := s.ask("GET", "/livez", "").is(503); got.body != "the engine is stalled: it has not stepped for 31s\n" {
		t.Errorf("it says %q", got.body)
	}
	s.ask("GET", "/readyz", "").is(200)
}
