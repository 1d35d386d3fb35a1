package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

const program = "#!/bin/sh\necho hello\n"

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestBinaryIsUploaded(t *testing.T) {
	s := newSite(t)
	const path = "/api/v1/binaries/report/versions"
	first := s.ask("POST", path+"?alias=stable&sha256="+digestOf(program), program, "Content-Type", "application/octet-stream").is(http.StatusCreated)
	upload := into[wire.Upload](first)
	if upload.Version.N != 1 || upload.Version.Size != int64(len(program)) || upload.Version.SHA256 != digestOf(program) ||
		upload.Version.Kind != "script" || upload.Aliases["stable"] != 1 || upload.Existed {
		t.Errorf("uploaded %+v", upload)
	}
	if got := first.header.Get("Location"); got != "/api/v1/binaries/report" {
		t.Errorf("Location %q", got)
	}
	if again := into[wire.Upload](s.ask("POST", path, program).is(http.StatusOK)); !again.Existed || again.Version.N != 1 {
		t.Errorf("uploaded again: %+v", again)
	}
	second := into[wire.Upload](s.ask("POST", path+"?alias=stable,canary", program+"true\n").is(http.StatusCreated))
	if second.Version.N != 2 || second.Aliases["stable"] != 2 || second.Aliases["canary"] != 2 {
		t.Errorf("second %+v", second)
	}

	content := s.ask("GET", path+"/1/content", "").is(http.StatusOK)
	if string(content.body) != program || content.header.Get("X-Content-SHA256") != digestOf(program) || content.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("content %q, %v", content.body, content.header)
	}
	s.ask("GET", path+"/3/content", "").problem(http.StatusNotFound, "version_not_found", "versions up to 2")
	at(t, s.ask("GET", path+"/x/content", "").problem(http.StatusUnprocessableEntity, "invalid_request"), "path.n")
	s.ask("GET", "/api/v1/binaries/other/versions/1/content", "").problem(http.StatusNotFound, "binary_not_found")
}

func TestBinaryComesInAForm(t *testing.T) {
	s := newSite(t)
	form := func(write func(*multipart.Writer)) *answer {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		write(w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return s.ask("POST", "/api/v1/binaries/report/versions", body.String(), "Content-Type", w.FormDataContentType())
	}
	field := func(w *multipart.Writer, name, value string) {
		if err := w.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	file := func(w *multipart.Writer, content string) {
		part, err := w.CreateFormFile("file", "report.sh")
		if err == nil {
			_, err = io.WriteString(part, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	upload := into[wire.Upload](form(func(w *multipart.Writer) {
		field(w, "alias", "stable")
		field(w, "sha256", digestOf(program))
		field(w, "any_platform", "")
		file(w, program)
	}).is(http.StatusCreated))
	if upload.Version.SHA256 != digestOf(program) || upload.Aliases["stable"] != 1 {
		t.Errorf("uploaded %+v", upload)
	}
	at(t, form(func(w *multipart.Writer) { field(w, "alias", "stable") }).problem(http.StatusUnprocessableEntity, "file_missing"), "body.file")
	at(t, form(func(w *multipart.Writer) { field(w, "colour", "red") }).problem(http.StatusUnprocessableEntity, "invalid_request", "colour"), "body.colour")
	form(func(w *multipart.Writer) { file(w, "") }).problem(http.StatusUnprocessableEntity, "empty_file")
	form(func(w *multipart.Writer) { field(w, "alias", strings.Repeat("x", 2000)) }).problem(http.StatusUnprocessableEntity, "invalid_request")
	s.ask("POST", "/api/v1/binaries/report/versions", "x", "Content-Type", "multipart/form-data").problem(http.StatusUnprocessableEntity, "invalid_request", "boundary")
	s.ask("POST", "/api/v1/binaries/report/versions", "x", "Content-Type", "multipart/form-data; boundary=b").is(http.StatusUnprocessableEntity)
}

func TestBadUploadsAreExplained(t *testing.T) {
	s := newSite(t, service.Config{MaxBinary: 1 << 20})
	for name, c := range map[string]struct {
		path, body string
		status     int
		code       string
		words      []string
	}{
		"empty":            {"/report/versions", "", 422, "empty_file", []string{"at least one byte"}},
		"too large":        {"/report/versions", strings.Repeat("x", 1<<20+1), 413, "binary_too_large", []string{"1 MiB", "--max-binary"}},
		"foreign":          {"/report/versions", webtest.ForeignProgram, 422, "foreign_program", []string{"arm64", "any_platform"}},
		"broken":           {"/report/versions", webtest.BrokenProgram, 422, "broken_program", []string{"cut off"}},
		"other bytes":      {"/report/versions?sha256=" + strings.Repeat("0", 64), program, 422, "digest_mismatch", []string{digestOf(program), "upload the file again"}},
		"no digest":        {"/report/versions?sha256=abc", program, 422, "invalid_request", []string{"sha256"}},
		"bad name":         {"/rep%2Fort/versions", program, 422, "invalid_name", []string{"'/'"}},
		"long name":        {"/" + strings.Repeat("x", 300) + "/versions", program, 422, "invalid_name", []string{"300 characters"}},
		"reserved name":    {"/upload/versions", program, 422, "invalid_name", []string{"is reserved"}},
		"numeric alias":    {"/report/versions?alias=7", program, 422, "invalid_alias", []string{"taken for a version"}},
		"bad alias":        {"/report/versions?alias=a.b", program, 422, "invalid_alias", []string{"'.'"}},
		"bad any_platform": {"/report/versions?any_platform=maybe", program, 422, "invalid_request", []string{"any_platform"}},
	} {
		t.Run(name, func(t *testing.T) {
			s.ask("POST", "/api/v1/binaries"+c.path, c.body).problem(c.status, c.code, c.words...)
		})
	}
	if list := into[wire.List[wire.Binary]](s.ask("GET", "/api/v1/binaries", "")); len(list.Items) != 0 {
		t.Errorf("something was kept: %+v", list.Items)
	}
	s.ask("POST", "/api/v1/binaries/report/versions?any_platform=true", webtest.ForeignProgram).is(http.StatusCreated)
}

func TestBrokenUploadKeepsNothing(t *testing.T) {
	s := newSite(t)
	broken := errors.New("the cable was pulled")
	body := io.MultiReader(strings.NewReader(program), errorReader{broken})
	if _, err := http.DefaultClient.Do(s.request("POST", "/api/v1/binaries/report/versions", body)); !errors.Is(err, broken) {
		t.Errorf("sent: %v", err)
	}
	s.ask("GET", "/api/v1/binaries/report", "").problem(http.StatusNotFound, "binary_not_found")
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// A program of any size passes through in pieces: what is held at a time does not grow with it.
func TestUploadIsNotHeldInMemory(t *testing.T) {
	s := newSite(t)
	const size = 64 << 20
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	upload := into[wire.Upload](s.send(s.request("POST", "/api/v1/binaries/big/versions", io.LimitReader(endless{}, size))).is(http.StatusCreated))
	runtime.ReadMemStats(&after)
	if upload.Version.Size != size {
		t.Errorf("%d bytes arrived", upload.Version.Size)
	}
	// All that was ever allocated, not only what is left: 64 MiB passed through less than 12.
	if used := after.TotalAlloc - before.TotalAlloc; used > 12<<20 {
		t.Errorf("an upload of %d MiB allocated %d MiB", size>>20, used>>20)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestAliasesMoveAndRollBack(t *testing.T) {
	s := newSite(t)
	const path = "/api/v1/binaries/report"
	for i := range 3 {
		s.ask("POST", path+"/versions?alias=stable", fmt.Sprintf("#!/bin/sh\nexit %d\n", i)).is(http.StatusCreated)
	}
	if moved := into[wire.Binary](s.ask("PUT", path+"/aliases/canary", `{"version":1}`).is(http.StatusOK)); moved.Aliases["canary"] != 1 {
		t.Errorf("moved %+v", moved)
	}
	back := into[wire.Rollback](s.ask("POST", path+"/rollback", "").is(http.StatusOK))
	if back.Move.From != 3 || back.Move.To != 2 || back.Binary.Aliases["stable"] != 2 {
		t.Errorf("rolled back %+v", back)
	}
	s.ask("POST", path+"/rollback", `{"alias":"canary"}`).problem(http.StatusConflict, "nothing_to_roll_back", "canary")
	s.ask("POST", path+"/rollback", `{"alias":"none"}`).problem(http.StatusConflict, "alias_not_found", "none")
	at(t, s.ask("PUT", path+"/aliases/canary", `{"version":9}`).problem(http.StatusUnprocessableEntity, "version_not_found", "version 9"), "body.version")
	at(t, s.ask("PUT", path+"/aliases/canary", `{"version":0}`).problem(http.StatusUnprocessableEntity, "invalid_request"), "body.version")
	s.ask("PUT", path+"/aliases/7", `{"version":1}`).problem(http.StatusUnprocessableEntity, "invalid_alias")
	s.ask("PUT", "/api/v1/binaries/other/aliases/stable", `{"version":1}`).problem(http.StatusNotFound, "binary_not_found")
	s.ask("POST", "/api/v1/binaries/other/rollback", "").problem(http.StatusNotFound, "binary_not_found")
}

func TestBinaryInUseStays(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report", "stable")
	s.PutBinary(t, "spare")
	s.PutJob(t, report)
	one := into[wire.Binary](s.ask("GET", "/api/v1/binaries/report", "").is(http.StatusOK))
	if len(one.UsedBy) != 1 || one.UsedBy[0] != "nightly-report" || one.Aliases["stable"] != 1 {
		t.Errorf("binary %+v", one)
	}
	if list := into[wire.List[wire.Binary]](s.ask("GET", "/api/v1/binaries?limit=1", "")); len(list.Items) != 1 || list.Next == "" {
		t.Errorf("listed %+v", list)
	}
	s.ask("DELETE", "/api/v1/binaries/report", "").problem(http.StatusConflict, "binary_in_use", "nightly-report")
	s.ask("DELETE", "/api/v1/binaries/spare", "").is(http.StatusNoContent)
	s.ask("DELETE", "/api/v1/binaries/spare", "").problem(http.StatusNotFound, "binary_not_found")
	at(t, s.ask("GET", "/api/v1/binaries?cursor=x", "").problem(http.StatusUnprocessableEntity, "invalid_cursor"), "query.cursor")
}

func TestVersionsOfABinaryAreCompared(t *testing.T) {
	s := newSite(t)
	s.ask("POST", "/api/v1/binaries/report/versions?alias=stable", program).is(http.StatusCreated)
	s.ask("POST", "/api/v1/binaries/report/versions", "#!/bin/sh\necho goodbye\n").is(http.StatusCreated)
	s.ask("POST", "/api/v1/jobs", `{"name": "nightly", "binary": "report@stable"}`).is(http.StatusCreated)
	diff := into[wire.BinaryDiff](s.ask("GET", "/api/v1/binaries/report/diff?a=1&b=2", "").is(http.StatusOK))
	fields := map[string][2]string{}
	for _, field := range diff.Fields {
		fields[field.Field] = [2]string{field.A, field.B}
	}
	for name, want := range map[string][2]string{"size": {"21 bytes", "23 bytes, 2 bytes more"}, "aliases": {"stable", ""}, "run by": {"nightly", ""}} {
		if fields[name] != want {
			t.Errorf("%s: %q, want %q", name, fields[name], want)
		}
	}
	if _, differs := fields["kind"]; differs || diff.A.N != 1 || diff.B.N != 2 || diff.Source.Removed != 1 || diff.Source.Added != 1 || len(diff.Source.Rows) != 2 {
		t.Errorf("compared %+v", diff)
	}
	s.ask("GET", "/api/v1/binaries/report/diff?a=1&b=9", "").problem(http.StatusNotFound, "version_not_found")
	s.ask("GET", "/api/v1/binaries/report/diff?a=1", "").problem(http.StatusUnprocessableEntity, "invalid_request")
}
