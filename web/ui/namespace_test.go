package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// What is in another namespace is on the pages once the reader has chosen it, and what is in default is not.
func TestPagesShowTheNamespaceThatWasChosen(t *testing.T) {
	s := newSite(t)
	s.fill(t)
	s.PutNamespace(t, "harbour")
	if _, _, _, err := s.UploadBinary(t.Context(), "harbour", "pump", webtest.Script("echo pump"), service.Upload{By: "mira"}); err != nil {
		t.Fatal(err)
	}
	chosen := s.ask(t, http.MethodPost, "/namespace", url.Values{"namespace": {"harbour"}})
	cookies := chosen.Result().Cookies()
	if chosen.Code != http.StatusSeeOther || len(cookies) != 1 {
		t.Fatalf("%d, %v", chosen.Code, cookies)
	}
	cookie := cookies[0].Name + "=" + cookies[0].Value
	for path, want := range map[string]string{"/binaries": "pump", "/binaries/pump": "content?namespace=harbour", "/jobs": `value="harbour"`} {
		if page := s.see(t, path, "Cookie", cookie); !strings.Contains(page, want) || strings.Contains(page, "tide-forecast") {
			t.Errorf("%s of harbour lacks %q, or shows what is in default", path, want)
		}
	}
	if page := s.see(t, "/binaries"); strings.Contains(page, "pump") || !strings.Contains(page, "tide-forecast") {
		t.Error("without the choice the pages do not show default")
	}
	if page := s.see(t, "/binaries", "Cookie", cookies[0].Name+"=../x"); !strings.Contains(page, "tide-forecast") {
		t.Error("a cookie that is no name is not left out")
	}
	refused := s.ask(t, http.MethodPost, "/namespace", url.Values{"namespace": {"a/b"}})
	if refused.Code != http.StatusUnprocessableEntity || !strings.Contains(refused.Body.String(), "letters, digits") {
		t.Errorf("a name with a slash: %d", refused.Code)
	}
}
