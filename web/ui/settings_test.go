package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// profile sets that of those who read while authentication is off.
func profile(t *testing.T, s *site, to service.Profile) error {
	t.Helper()
	_, err := s.SetProfile(access.With(t.Context(), access.Local()), func(profile *service.Profile) { *profile = to })
	return err
}

func TestTheZoneOfTheProfileIsThatOfEveryPage(t *testing.T) {
	s := newSite(t)
	if to := s.act(t, "/settings/profile", url.Values{"zone": {"Asia/Dhaka"}, "theme": {"light"}}); to != "/settings?done=profile-set" {
		t.Errorf("it leads to %s", to)
	}
	for _, path := range []string{"/", "/settings"} {
		if page := s.see(t, path); !strings.Contains(page, `data-zone="Asia/Dhaka"`) || !strings.Contains(page, `data-theme="light"`) {
			t.Errorf("%s has another zone or theme", path)
		}
	}
	response := s.ask(t, http.MethodPost, "/settings/profile", url.Values{"zone": {"Berlin"}, "theme": {"dark"}})
	if body := response.Body.String(); response.Code != http.StatusUnprocessableEntity || !strings.Contains(body, "There is no time zone") || !strings.Contains(body, `value="Berlin"`) {
		t.Errorf("a zone that is none: %d", response.Code)
	}
	if page := s.see(t, "/"); !strings.Contains(page, `data-theme="light"`) {
		t.Error("what was refused is kept in part")
	}
}

func TestRetentionOfANamespaceIsChangedOnItsPage(t *testing.T) {
	s := newSite(t)
	s.act(t, "/settings/retention", url.Values{"age": {"90d"}, "runs": {"500"}, "output": {"36h"}})
	if page := s.see(t, "/settings/retention"); !strings.Contains(page, `value="90d"`) || !strings.Contains(page, `value="500"`) || !strings.Contains(page, `value="36h"`) {
		t.Error("the page does not show what was set")
	}
	for _, wrong := range []url.Values{{"age": {"soon"}}, {"runs": {"-1"}}, {"runs": {"many"}}, {"output": {"5m"}}} {
		response := s.ask(t, http.MethodPost, "/settings/retention", wrong)
		if response.Code != http.StatusUnprocessableEntity || !strings.Contains(response.Body.String(), `value="`+wrong.Get("age")+wrong.Get("runs")+wrong.Get("output")+`"`) {
			t.Errorf("%v: %d, or it is not in the form any more", wrong, response.Code)
		}
	}
	s.act(t, "/settings/retention", url.Values{})
	if page := s.see(t, "/settings/retention"); strings.Contains(page, `value="90d"`) {
		t.Error("what is left empty is not that of the server")
	}
}

func TestFavouritesAreThoseOfOneReader(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.act(t, "/jobs/tide-forecast/favourite", url.Values{"favourite": {"on"}})
	if page := s.see(t, "/jobs?state=favourite"); !strings.Contains(page, `id="job-tide-forecast"`) || strings.Contains(page, `id="job-nightly-report"`) {
		t.Error("the list does not show the favourites alone")
	}
	if page := s.see(t, "/"); !strings.Contains(page, `id="favourite-job-tide-forecast"`) {
		t.Error("the overview does not show it")
	}
	ada := access.With(t.Context(), access.Identity{Kind: access.KindToken, Name: "ada/cli", User: "ada"})
	if starred, err := s.Favourites(ada, "default"); err != nil || len(starred) != 0 {
		t.Errorf("another user has %v, %v", starred, err)
	}
	if response := s.ask(t, http.MethodPost, "/jobs/gone/favourite", url.Values{"favourite": {"on"}}); response.Code != http.StatusNotFound {
		t.Errorf("a job that is not there: %d", response.Code)
	}
	s.act(t, "/jobs/tide-forecast/favourite", url.Values{"favourite": {"off"}})
	if page := s.see(t, "/jobs?state=favourite"); strings.Contains(page, `id="job-tide-forecast"`) {
		t.Error("the star is not taken away")
	}
}

func TestLabelsOfManyAreChangedTogether(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	names := []string{"many-a", "many-b"}
	for _, name := range names {
		s.PutJob(t, `{"name": "`+name+`", "binary": "tide-forecast", "labels": {"old": "1"}}`)
	}
	response := s.ask(t, http.MethodPost, "/jobs/labels", url.Values{"name": names})
	if body := response.Body.String(); response.Code != http.StatusUnprocessableEntity || !strings.Contains(body, "old=1") || strings.Contains(body, `class="note bad" role="alert"`) {
		t.Errorf("the question: %d", response.Code)
	}
	response = s.ask(t, http.MethodPost, "/jobs/labels", url.Values{"name": names, "labels": {"team"}})
	if body := response.Body.String(); response.Code != http.StatusUnprocessableEntity || !strings.Contains(body, "is no label") || !strings.Contains(body, `value="team"`) {
		t.Errorf("what is no label: %d", response.Code)
	}
	s.act(t, "/jobs/labels", url.Values{"all": {"1"}, "back": {"/jobs?q=many"}, "labels": {"team=harbour old-"}})
	for _, name := range names {
		job, err := s.Jobs.Get(t.Context(), "default", name)
		if err != nil || len(job.Spec.Labels) != 1 || job.Spec.Labels["team"] != "harbour" {
			t.Errorf("%s has %v, %v", name, job.Spec.Labels, err)
		}
	}
	if job, err := s.Jobs.Get(t.Context(), "default", "tide-forecast"); err != nil || job.Spec.Labels["team"] == "harbour" {
		t.Error("what the list does not show was changed, too")
	}
}

func TestAboutSaysWhatTheServerIsMadeOf(t *testing.T) {
	s := newSite(t)
	if page := s.see(t, templates.AboutPath); !strings.Contains(page, "Apache License 2.0") || !strings.Contains(page, `href="/docs/api"`) {
		t.Error("the page does not name the license, or lead to the API")
	}
}
