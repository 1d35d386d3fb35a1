package ui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// running makes a run whose output so far lies in S3.
func running(t *testing.T, s *site, output string) engine.Run {
	t.Helper()
	s.PutBinary(t, "talk")
	job := s.PutJob(t, `{"name": "talk", "binary": "talk"}`)
	run := s.Running(job, s.Now.Add(-time.Second))
	s.PutRun(t, run)
	s.Blobs.SetLog(run.ID, webtest.TextLog(output))
	return run
}

var (
	rowIDs = regexp.MustCompile(`id="L([0-9]+)"`)
	codes  = regexp.MustCompile(`(?s)<code>(.*?)</code>`)
)

// texts returns the lines of a page, by their numbers.
func texts(t *testing.T, page string) map[int]string {
	t.Helper()
	_, page, _ = strings.Cut(page, `class="rows"`)
	numbers, lines := rowIDs.FindAllStringSubmatch(page, -1), codes.FindAllStringSubmatch(page, -1)
	if len(lines) < len(numbers) {
		t.Fatalf("%d lines have %d texts", len(numbers), len(lines))
	}
	found := map[int]string{}
	for i, number := range numbers {
		n, err := strconv.Atoi(number[1])
		if err != nil {
			t.Fatal(err)
		}
		found[n] = html.UnescapeString(lines[i][1])
	}
	return found
}

// The page shows the end of an output, and without a script links lead through all that is before it.
func TestOutputIsReadBackwardsToItsBeginning(t *testing.T) {
	s := newSite(t)
	var text strings.Builder
	const many = 3000
	for i := range many {
		fmt.Fprintf(&text, "line %d of an output with <tags> & Œuvres\n", i+1)
	}
	run := running(t, s, text.String())
	earlier := regexp.MustCompile(`href="([^"]*)">Earlier lines`)
	got, pages := map[int]string{}, 0
	for at := "/runs/" + run.ID; at != ""; pages++ {
		page := s.see(t, at)
		if len(page) > 300<<10 {
			t.Fatalf("a page has %d bytes", len(page))
		}
		maps.Copy(got, texts(t, page))
		if at = ""; earlier.MatchString(page) {
			at, _, _ = strings.Cut(html.UnescapeString(earlier.FindStringSubmatch(page)[1]), "#")
		}
		if pages > 20 {
			t.Fatal("the links lead in a circle")
		}
	}
	for n := 1; n <= many; n++ {
		if want := fmt.Sprintf("line %d of an output with <tags> & Œuvres", n); got[n] != want {
			t.Fatalf("line %d is %q", n, got[n])
		}
	}
	if len(got) != many {
		t.Errorf("%d lines, want %d", len(got), many)
	}
}

func TestOutputAroundALine(t *testing.T) {
	s := newSite(t)
	run := running(t, s, strings.Repeat("early\n", 20_000)+"late\n")
	page := s.see(t, "/runs/"+run.ID+"?attempt=1&line=700")
	lines := texts(t, page)
	if lines[700] != "early" || lines[20_001] != "" || !strings.Contains(page, "data-past") || !strings.Contains(page, "Later lines") || !strings.Contains(page, "Earlier lines") {
		t.Error("the page does not show what is around the line, with the ways on and back")
	}
	for line, want := range map[string]int{"lines=19990": 19_990, "lines=end": 20_001, "lines=99999": 0} {
		part := texts(t, s.see(t, "/runs/"+run.ID+"/output?attempt=1&"+line))
		if want > 0 && part[want] == "" || want == 0 && len(part) > 0 {
			t.Errorf("%s gives %d lines", line, len(part))
		}
	}
}

func TestHugeOutputOnOneLine(t *testing.T) {
	s := newSite(t)
	run := running(t, s, "")
	s.Blobs.SetLog(run.ID, webtest.HugeLog(1<<30))
	page := s.see(t, "/runs/"+run.ID)
	if len(page) > 100<<10 || !strings.Contains(page, "more of this line") || !strings.Contains(page, "data-mid") {
		t.Errorf("the page has %d bytes", len(page))
	}
	link := regexp.MustCompile(`href="([^"]*)">[^<]* more of this line`).FindStringSubmatch(page)
	if rest := s.see(t, html.UnescapeString(link[1])); len(rest) != 1<<20 {
		t.Errorf("the rest of the line has %d bytes", len(rest))
	}
}

// A line whose end has not come is shown as far as there are whole characters, and sent again when more comes.
func TestOutputEndsInTheMiddleOfALine(t *testing.T) {
	s := newSite(t)
	run := running(t, s, "one\ncaf")
	page := s.see(t, "/runs/"+run.ID)
	if !strings.Contains(page, `data-offset="4"`) || !strings.Contains(page, `data-line="2"`) || texts(t, page)[2] != "caf" {
		t.Error("what follows would not go on in the line that has no end")
	}
}

func TestOutputIsSearchedOnThePage(t *testing.T) {
	s := newSite(t)
	run := running(t, s, strings.Repeat("all is well\n", 900)+"\x1b[31mERROR <b>no gauge</b>\x1b[0m answers\n"+strings.Repeat("Gauge\n", 500))
	page := s.see(t, "/runs/"+run.ID+"?attempt=1&errors=1")
	if !strings.Contains(page, "One line looks like an error") || texts(t, page)[901] != `<span class="f1">ERROR <b>no gauge</b></span> answers` || strings.Contains(page, "<b>no gauge") {
		t.Error("the page does not lead to the first error")
	}
	page = s.see(t, "/runs/"+run.ID+"?attempt=1&find=gauge")
	if !strings.Contains(page, "100 lines hold “gauge”") || !strings.Contains(page, "<mark>gauge</mark>") {
		t.Error("the page does not tell what was found")
	}
	further := regexp.MustCompile(`href="([^"]*)" data-find-on`).FindStringSubmatch(page)
	if further == nil {
		t.Fatal("the search cannot be gone on with")
	}
	at, _, _ := strings.Cut(html.UnescapeString(further[1]), "#")
	if page = s.see(t, at); !strings.Contains(page, ">1001<") {
		t.Error("the search does not go on where it was")
	}
	if part := s.see(t, "/runs/"+run.ID+"/output?attempt=1&find=nowhere"); !strings.Contains(part, "No line holds “nowhere”") {
		t.Errorf("nothing found is told as %s", part)
	}
}

func TestOutputIsFollowed(t *testing.T) {
	s := newSite(t)
	run := running(t, s, "one\n")
	server := httptest.NewServer(s.server.Handler())
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/runs/"+run.ID+"/output?attempt=1&follow=1&offset=0&line=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.Header.Get("X-Log-Complete") != "false" || response.Header.Get("Content-Encoding") != "" {
		t.Fatalf("%d %v", response.StatusCode, response.Header)
	}
	messages := json.NewDecoder(response.Body)
	type message struct {
		HTML         string
		Offset, Line int64
		Total        int64
	}
	next := func() (m message) {
		if err := messages.Decode(&m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	if got := next(); !strings.Contains(got.HTML, "<code>one</code>") || got.Line != 2 || got.Offset != 4 || got.Total != 1 {
		t.Errorf("first came %+v", got)
	}
	<-s.Queue.Watching
	if err := s.Queue.Say(ctx, engine.LogFrame{Run: run.ID, Attempt: 1, Offset: 4, Data: []byte("two\nthr")}); err != nil {
		t.Fatal(err)
	}
	if got := next(); !strings.Contains(got.HTML, "<code>two</code>") || !strings.Contains(got.HTML, "<code>thr</code>") || got.Line != 3 || got.Offset != 8 || got.Total != 3 {
		t.Errorf("then came %+v", got)
	}
	s.PutRun(t, webtest.Ended(run, engine.StatusSucceeded, "one\ntwo\nthree\n"))
	if got := next(); strings.Contains(got.HTML, "two") || !strings.Contains(got.HTML, `id="L3"`) || !strings.Contains(got.HTML, "<code>three</code>") || got.Line != 4 {
		t.Errorf("at the end came %+v", got)
	}
	if err := messages.Decode(&message{}); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	again := s.ask(t, http.MethodGet, "/runs/"+run.ID+"/output?attempt=1&follow=1&offset=8&line=3", nil)
	if again.Header().Get("X-Log-Complete") != "true" || !strings.Contains(again.Body.String(), "three") {
		t.Errorf("asked again after the end: %q, complete %s", again.Body, again.Header().Get("X-Log-Complete"))
	}
}

// flushRecorder reports when an answer has begun.
type flushRecorder struct {
	*httptest.ResponseRecorder
	flushed chan struct{}
}

func (r flushRecorder) Flush() {
	r.ResponseRecorder.Flush()
	select {
	case r.flushed <- struct{}{}:
	default:
	}
}

func TestOutputOfRunThatHasNotBegunIsWaitedFor(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "talk")
	s.PutJob(t, `{"name": "talk", "binary": "talk"}`)
	at := s.act(t, "/jobs/talk/run", nil)
	id := regexp.MustCompile(`/runs/([^?]*)`).FindStringSubmatch(at)[1]
	for _, attempt := range []string{"0", "1"} {
		ctx, cancel := context.WithCancel(t.Context())
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/runs/"+id+"/output?attempt="+attempt+"&follow=1&offset=0&line=1", nil)
		response := flushRecorder{httptest.NewRecorder(), make(chan struct{}, 10)}
		finished := make(chan struct{})
		go func() {
			s.server.Handler().ServeHTTP(response, request)
			close(finished)
		}()
		<-response.flushed
		cancel()
		<-finished
		if response.Code != http.StatusOK || response.Header().Get("X-Log-Complete") != "false" {
			t.Errorf("attempt %s: %d %v", attempt, response.Code, response.Header())
		}
	}
}

func TestOutputIsDownloaded(t *testing.T) {
	s := newSite(t)
	text := strings.Repeat("\x00\xff raw\n", 50_000)
	run := running(t, s, text)
	response := s.ask(t, http.MethodGet, "/runs/"+run.ID+"/output?attempt=1&download=1", nil)
	if response.Body.String() != text || !strings.HasPrefix(response.Header().Get("Content-Disposition"), `attachment; filename="talk-`) ||
		!strings.HasPrefix(response.Header().Get("Content-Type"), "text/plain") || response.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d bytes, %v", response.Body.Len(), response.Header())
	}
}

func TestOutputRefusesWhatIsNoPlace(t *testing.T) {
	s := newSite(t)
	run := running(t, s, "text")
	for query, status := range map[string]int{
		"attempt=1&lines=x": 400, "attempt=1&lines=0": 400, "attempt=1&follow=1&offset=x&line=1": 400, "attempt=1&follow=1&offset=-1&line=1": 400,
		"attempt=1&follow=1&offset=0": 400, "attempt=9": 404, "attempt=1&lines=99999999": 200, "attempt=1&offset=x": 400, "attempt=1&offset=99999": 200,
		"attempt=1&find=x&from=nowhere": 422,
	} {
		if response := s.ask(t, http.MethodGet, "/runs/"+run.ID+"/output?"+query, nil); response.Code != status {
			t.Errorf("%s: %d, want %d", query, response.Code, status)
		}
	}
}

func TestOutputThatWasCutSaysSo(t *testing.T) {
	s := newSite(t)
	run := running(t, s, "")
	ended := webtest.Ended(run, engine.StatusSucceeded, "what was kept")
	ended.Current().Output.Truncated = 85 << 20
	s.PutRun(t, ended)
	if page := s.see(t, "/runs/"+run.ID); !strings.Contains(page, "more were printed and not kept") {
		t.Error("the page shows what was kept as if it were all")
	}
	ended.Revision++
	ended.Current().Output.Truncated, ended.Current().Output.Lost = 0, 3<<20
	s.PutRun(t, ended)
	if page := s.see(t, "/runs/"+run.ID); !strings.Contains(page, "could not be stored: S3") || strings.Contains(page, "limits.output") {
		t.Error("the page blames the limit for what could not be stored")
	}
}
