package ui_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

type field struct{ name, value string }

// form writes an upload as a browser does: the fields in their order, and the file last. A file name of "" is a form
// in which no file was chosen.
func form(t *testing.T, fileName, content string, fields ...field) (body *bytes.Buffer, contentType string) {
	t.Helper()
	body = &bytes.Buffer{}
	writer := multipart.NewWriter(body)
	for _, f := range fields {
		if err := writer.WriteField(f.name, f.value); err != nil {
			t.Fatal(err)
		}
	}
	part, err := writer.CreateFormFile("file", fileName)
	if err == nil {
		_, err = io.WriteString(part, content)
	}
	if err = errors.Join(err, writer.Close()); err != nil {
		t.Fatal(err)
	}
	return body, writer.FormDataContentType()
}

func (s *site) upload(t *testing.T, body io.Reader, contentType, accept string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/binaries/upload", body)
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", accept)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	response := httptest.NewRecorder()
	s.server.Handler().ServeHTTP(response, request)
	return response
}

const (
	asPage   = "text/html"
	asScript = "application/json"
)

func TestUploadByForm(t *testing.T) {
	s := newSite(t)
	body, kind := form(t, "report.sh", "#!/bin/sh\necho\n", field{"name", "report"}, field{"alias", "stable"})
	sent := body.String()
	response := s.upload(t, strings.NewReader(sent), kind, asPage)
	if response.Code != http.StatusSeeOther || response.Header().Get("Location") != "/binaries/report?done=uploaded" {
		t.Fatalf("%d %v %s", response.Code, response.Header(), response.Body)
	}
	binary, err := s.Binary(t.Context(), "default", "report")
	if err != nil || binary.Aliases["stable"] != 1 || binary.Versions[0].UploadedBy != "local" {
		t.Errorf("%+v, %v", binary, err)
	}
	again := s.upload(t, strings.NewReader(sent), kind, asScript)
	var answer struct{ Location string }
	if err := json.Unmarshal(again.Body.Bytes(), &answer); err != nil || again.Code != http.StatusCreated || answer.Location != "/binaries/report?done=same" {
		t.Errorf("the script gets %d %s", again.Code, again.Body)
	}
}

func TestUploadIsRefusedWithWords(t *testing.T) {
	s := newSite(t, service.Config{MaxBinary: 1 << 20})
	name, script := field{"name", "report"}, "#!/bin/sh\n"
	for what, try := range map[string]struct {
		fileName, content string
		fields            []field
		status            int
		words             string
	}{
		"an empty file":       {"a", "", []field{name}, 422, "the file is empty"},
		"no file":             {"", "", []field{name}, 422, "choose a file first"},
		"no name":             {"a", script, nil, 422, "give the program a name first"},
		"a name with a slash": {"a", script, []field{{"name", "a/b"}}, 422, "use letters, digits"},
		"a very long name":    {"a", script, []field{{"name", strings.Repeat("n", 300)}}, 422, "128"},
		"a field too long":    {"a", script, []field{{"name", strings.Repeat("n", 5000)}}, 422, "too long"},
		"a wrong alias":       {"a", script, []field{name, {"alias", "7"}}, 422, "is a number"},
		"another platform":    {"a", webtest.ForeignProgram, []field{name}, 422, "built for linux/arm64"},
		"a broken program":    {"a", webtest.BrokenProgram, []field{name}, 422, "cut off"},
		"too large":           {"a", strings.Repeat("x", 1<<20+1), []field{name}, 413, "larger than the limit"},
	} {
		t.Run(what, func(t *testing.T) {
			body, kind := form(t, try.fileName, try.content, try.fields...)
			sent := body.String()
			page := s.upload(t, strings.NewReader(sent), kind, asPage)
			if page.Code != try.status || !strings.Contains(page.Body.String(), try.words) || !strings.Contains(page.Body.String(), "data-upload") {
				t.Errorf("as a page: %d: %s", page.Code, page.Body)
			}
			var problem struct{ Detail string }
			answer := s.upload(t, strings.NewReader(sent), kind, asScript)
			if err := json.Unmarshal(answer.Body.Bytes(), &problem); err != nil || answer.Code != try.status || !strings.Contains(problem.Detail, try.words) {
				t.Errorf("to the script: %d: %s", answer.Code, answer.Body)
			}
		})
	}
	if binaries, _, err := s.Binaries(t.Context(), "default", "", 10); err != nil || len(binaries) > 0 {
		t.Errorf("something was kept: %v, %v", binaries, err)
	}
}

func TestUploadForAnotherPlatformIsKeptOnRequest(t *testing.T) {
	s := newSite(t)
	body, kind := form(t, "a", webtest.ForeignProgram, field{"name", "far"}, field{"any_platform", "yes"})
	if response := s.upload(t, body, kind, asPage); response.Code != http.StatusSeeOther {
		t.Errorf("%d: %s", response.Code, response.Body)
	}
}

func TestUploadThatIsNoFormIsRefused(t *testing.T) {
	s := newSite(t)
	if response := s.upload(t, strings.NewReader("name=x"), "application/x-www-form-urlencoded", asPage); response.Code != http.StatusUnprocessableEntity {
		t.Errorf("%d: %s", response.Code, response.Body)
	}
}

func TestUploadThatBreaksOffLeavesNothing(t *testing.T) {
	s := newSite(t)
	body, kind := form(t, "a", "#!/bin/sh\n"+strings.Repeat("x", 1<<16), field{"name", "broken"})
	broken := io.MultiReader(io.LimitReader(body, 1<<15), failing{})
	if response := s.upload(t, broken, kind, asPage); response.Code < 400 {
		t.Errorf("%d: %s", response.Code, response.Body)
	}
	if _, err := s.Binary(t.Context(), "default", "broken"); err == nil {
		t.Error("half a program was kept")
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// A program passes through in pieces: what is allocated does not grow with it.
func TestUploadIsNotHeldInMemory(t *testing.T) {
	const size = 64 << 20
	s := newSite(t)
	read, write := io.Pipe()
	writer := multipart.NewWriter(write)
	sent := make(chan error, 1)
	go func() {
		err := writer.WriteField("name", "large")
		part, partErr := writer.CreateFormFile("file", "large")
		err = errors.Join(err, partErr)
		chunk := bytes.Repeat([]byte("x"), 64<<10)
		for n := 0; err == nil && n < size; n += len(chunk) {
			_, err = part.Write(chunk)
		}
		err = errors.Join(err, writer.Close())
		sent <- errors.Join(err, write.CloseWithError(err))
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	response := s.upload(t, read, writer.FormDataContentType(), asScript)
	runtime.ReadMemStats(&after)
	if err := <-sent; err != nil || response.Code != http.StatusCreated {
		t.Fatalf("%d: %s, %v", response.Code, response.Body, err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("%d MiB were allocated for %d MiB", grown>>20, size>>20)
	}
}
