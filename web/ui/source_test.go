package ui_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestEditorShowsAndKeepsComments(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	for kind, text := range map[string]string{
		"jobs": "# why at night\nname: night\nkind: Job\nbinary: tide-forecast\n",
		"dags": "# of the harbour\nname: night-dag\nkind: DAG\ntasks:\n  # first\n  one: {binary: tide-forecast}\n",
	} {
		at := s.act(t, "/"+kind+"/new", url.Values{"definition": {text}})
		path, _, _ := strings.Cut(at, "?")
		for _, page := range []string{"/edit", "/definition"} {
			if shown := html.UnescapeString(s.see(t, path+page)); page == "/edit" && !strings.Contains(shown, text) || !strings.Contains(shown, "# ") {
				t.Errorf("%s%s does not show what was written", path, page)
			}
		}
		if at := s.act(t, path+"/edit", url.Values{"definition": {text}, "revision": {"1"}}); at != path+"?done=unchanged" {
			t.Errorf("the same again leads to %s", at)
		}
		reworded := strings.Replace(text, "# ", "# now another reason: ", 1)
		check := s.ask(t, http.MethodPost, path+"/edit/check", url.Values{"definition": {reworded}}).Body.String()
		if !strings.Contains(check, "now another reason") {
			t.Errorf("%s: the check does not show that the comment changes", path)
		}
		if at := s.act(t, path+"/edit", url.Values{"definition": {reworded}, "revision": {"1"}}); at != path+"?done=saved" {
			t.Errorf("another comment leads to %s", at)
		}
		if shown := html.UnescapeString(s.see(t, path+"/edit")); !strings.Contains(shown, reworded) {
			t.Errorf("%s/edit lost the comment", path)
		}
	}
}
