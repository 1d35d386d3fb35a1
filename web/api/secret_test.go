package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
)

func TestSecretsAreSetListedAndDeletedAndNeverAnswered(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	const value = "correct-horse-battery"
	made := into[wire.Secret](s.ask("PUT", "/api/v1/secrets/db", `{"value":"`+value+`"}`).is(http.StatusCreated))
	if made.Name != "db" || made.Version != 1 || made.UpdatedAt.IsZero() {
		t.Errorf("made %+v", made)
	}
	again := into[wire.Secret](s.ask("PUT", "/api/v1/secrets/db", `{"value":"`+value+`2"}`).is(http.StatusOK))
	if again.Version != 2 {
		t.Errorf("set again: %+v", again)
	}
	s.ask("PUT", "/api/v1/secrets/other?namespace=finance", `{"value":"`+value+`"}`).is(http.StatusCreated)
	list := s.ask("GET", "/api/v1/secrets", "").is(http.StatusOK)
	if got := into[wire.List[wire.Secret]](list); len(got.Items) != 1 || got.Items[0].Name != "db" {
		t.Errorf("listed %+v", got)
	}
	for _, body := range [][]byte{list.body, s.ask("GET", "/api/v1/secrets/db", "").is(http.StatusOK).body} {
		if strings.Contains(string(body), "correct") || strings.Contains(string(body), "sealed") {
			t.Errorf("answered %s", body)
		}
	}

	s.ask("POST", "/api/v1/jobs", `{"name":"a","binary":"report","secrets":{"P":"db"}}`).is(http.StatusCreated)
	s.ask("DELETE", "/api/v1/secrets/db", "").problem(http.StatusConflict, "secret_in_use", "a (1 in all)")
	s.ask("DELETE", "/api/v1/secrets/db?force=true", "").is(http.StatusNoContent)
	s.ask("DELETE", "/api/v1/secrets/db", "").problem(http.StatusNotFound, "secret_not_found")
	s.ask("PUT", "/api/v1/jobs/a", `{"name":"a","binary":"report","args":["x"],"secrets":{"P":"db"}}`).problem(http.StatusUnprocessableEntity, "secret_not_found", "tidewheel secret set db")
	s.ask("POST", "/api/v1/apply?file=j.yaml", "kind: Job\nname: b\nbinary: report\nsecrets:\n  P: other\n").
		problem(http.StatusUnprocessableEntity, "invalid_definition", `j.yaml:5:3: there is no secret "other"`)
}

// What is refused of a value does not come back in the answer.
func TestRefusedValueIsNotAnswered(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct{ name, body, code string }{
		{"db", `{"value":""}`, "invalid_value"},
		{"db", `{"value":"hunter2` + strings.Repeat("x", 64<<10) + `"}`, "invalid_value"},
		{"db", `{"value":"hunter2\u0000"}`, "invalid_value"},
		{"d.b", `{"value":"hunter2"}`, "invalid_name"},
		{"db", `{"value":["hunter2"]}`, ""},
		{"db", `{"value":"hunter2","vlaue":"hunter2"}`, ""},
		{"db", `{"value":hunter2}`, ""},
		{"db", `hunter2`, ""},
	} {
		answer := s.ask("PUT", "/api/v1/secrets/"+c.name, c.body)
		if answer.status < 400 || answer.status >= 500 || c.code != "" && !strings.Contains(string(answer.body), c.code) || strings.Contains(string(answer.body), "hunter2") {
			t.Errorf("%.30s: %d %.300s", c.body, answer.status, answer.body)
		}
	}
}
