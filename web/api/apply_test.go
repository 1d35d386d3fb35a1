package api_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
)

const twoJobs = "kind: Job\nname: a\nbinary: report\nevery: 90s\n---\nkind: Job\nname: b\nbinary: report\nschedule: '@daily'\n"

func changes(list *wire.Applied) (text string) {
	for _, item := range list.Items {
		text += fmt.Sprintf("%s %s %s:%d\n", item.Name, item.Change, item.File, item.Line)
	}
	return text
}

func TestApplyConverges(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	apply := func(query, body string) string {
		return changes(into[wire.Applied](s.ask("POST", "/api/v1/apply?file=jobs.yaml"+query, body).is(http.StatusOK)))
	}
	if got := apply("&dry_run=true", twoJobs); got != "a created jobs.yaml:1\nb created jobs.yaml:6\n" {
		t.Errorf("dry run: %s", got)
	}
	s.ask("GET", "/api/v1/jobs/a", "").problem(http.StatusNotFound, "job_not_found")
	if got := apply("", twoJobs); got != "a created jobs.yaml:1\nb created jobs.yaml:6\n" {
		t.Errorf("first: %s", got)
	}
	const edited = "kind: Job\nname: a\nbinary: report\nevery: 60s\n"
	if got := apply("&prune=true&dry_run=true", edited); got != "a changed jobs.yaml:1\nb deleted :0\n" {
		t.Errorf("dry run of pruning: %s", got)
	}
	if got := apply("", twoJobs); got != "a unchanged jobs.yaml:1\nb unchanged jobs.yaml:6\n" {
		t.Errorf("second: %s", got)
	}
	if got := apply("&prune=true", edited); got != "a changed jobs.yaml:1\nb deleted :0\n" {
		t.Errorf("pruning: %s", got)
	}
	s.ask("GET", "/api/v1/jobs/b", "").problem(http.StatusNotFound, "job_not_found")
	if got := apply("", `{"kind":"Job","name":"c","binary":"report"}`); got != "c created jobs.yaml:1\n" {
		t.Errorf("JSON: %s", got)
	}
}

func TestApplyDoesNothingUnlessAllIsRight(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	faulty := twoJobs + "---\nkind: Job\nname: c\nbinary: absent\n---\nkind: Job\nname: d\nbinary: report\nshedule: '@daily'\n"
	problem := s.ask("POST", "/api/v1/apply?file=etl.yaml", faulty).problem(http.StatusUnprocessableEntity, "invalid_definition", "etl.yaml:18:1", "shedule")
	if fault := problem.Errors[0]; fault.File != "etl.yaml" || fault.Line != 18 || fault.Column != 1 || fault.Location != "body.shedule" {
		t.Errorf("fault %+v", fault)
	}
	missing := s.ask("POST", "/api/v1/apply?file=etl.yaml", twoJobs+"---\nkind: Job\nname: c\nbinary: absent\n").
		problem(http.StatusUnprocessableEntity, "invalid_definition", "etl.yaml:13:1", "absent")
	at(t, missing, "body.binary")
	s.ask("POST", "/api/v1/apply", twoJobs+"---\nkind: DAG\nname: etl\n").problem(http.StatusUnprocessableEntity, "invalid_definition", "DAG")
	s.ask("POST", "/api/v1/apply", "").problem(http.StatusUnprocessableEntity, "invalid_request", "no body")
	s.ask("POST", "/api/v1/apply", "# nothing\n").problem(http.StatusUnprocessableEntity, "invalid_definition", "no document")
	if list := into[wire.List[wire.Job]](s.ask("GET", "/api/v1/jobs", "")); len(list.Items) != 0 {
		t.Errorf("something was done: %+v", list.Items)
	}
}

func TestApplyTakesManyFiles(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	send := func(path string, files ...string) *answer {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		for i := 0; i < len(files); i += 2 {
			part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="` + files[i] + `"`}})
			if err == nil {
				_, err = part.Write([]byte(files[i+1]))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return s.ask("POST", path, body.String(), "Content-Type", w.FormDataContentType())
	}
	const one, two = "kind: Job\nname: a\nbinary: report\n", `{"kind":"Job","name":"b","binary":"report"}`
	if got := changes(into[wire.Applied](send("/api/v1/apply", "one.yaml", one, "two.json", two).is(http.StatusOK))); got != "a created one.yaml:1\nb created two.json:1\n" {
		t.Errorf("applied %s", got)
	}
	send("/api/v1/apply", "one.yaml", one, "again.yaml", "\n\n"+one).problem(http.StatusUnprocessableEntity, "invalid_definition", "again.yaml:4:1", "twice", "one.yaml:1")
	send("/api/v1/apply", "one.yaml", "kind: Job\nnaame: a\n", "two.json", `{"kind":`).problem(http.StatusUnprocessableEntity, "invalid_definition", "one.yaml:1:1", "problems")
	send("/api/v1/apply").problem(http.StatusUnprocessableEntity, "file_missing")

	checked := into[wire.Validated](send("/api/v1/validate", "one.yaml", one, "two.json", two).is(http.StatusOK))
	if len(checked.Items) != 2 || checked.Items[0].Schedule != "manual only" || checked.Items[1].File != "two.json" {
		t.Errorf("validated %+v", checked)
	}
	send("/api/v1/validate", "one.yaml", "kind: Job\nname: a\nbinary: absent\n").problem(http.StatusUnprocessableEntity, "invalid_definition", "absent")
	s.ask("POST", "/api/v1/validate", one, "Content-Type", ";;").problem(http.StatusUnprocessableEntity, "invalid_request", "Content-Type")
}
