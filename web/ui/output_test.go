package ui_test

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
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
	piece  = regexp.MustCompile(`(?s)<pre[^>]*>(.*)</pre>`)
	before = regexp.MustCompile(`data-before="([0-9]+)"`)
)

// The page shows the end of an output, and piece by piece all that is before it: nothing twice, nothing left out.
func TestOutputIsReadBackwardsToItsBeginning(t *testing.T) {
	s := newSite(t)
	var text strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&text, "line %d of an output with <tags> & Œuvres\n", i)
	}
	run := running(t, s, text.String())
	_, page, _ := strings.Cut(s.see(t, "/runs/"+run.ID), `class="output"`)
	got, pieces := "", 0
	for {
		got = html.UnescapeString(piece.FindStringSubmatch(page)[1]) + got
		pieces++
		link := before.FindStringSubmatch(page)
		if link == nil {
			break
		}
		page = s.see(t, "/runs/"+run.ID+"/output?attempt=1&before="+link[1])
		if len(page) > 200<<10 {
			t.Fatalf("a piece has %d bytes", len(page))
		}
	}
	if got != text.String() {
		t.Errorf("%d pieces are %d bytes together, want %d", pieces, len(got), text.Len())
	}
	if pieces < 5 {
		t.Errorf("there were only %d pieces", pieces)
	}
}

func TestOutputIsReadBackwardsWithoutScripts(t *testing.T) {
	s := newSite(t)
	run := running(t, s, strings.Repeat("early\n", 20_000)+"late\n")
	page := s.see(t, "/runs/"+run.ID)
	link := regexp.MustCompile(`/runs/[^"]*before=[0-9]+`).FindString(html.UnescapeString(page))
	if !strings.Contains(page, "late") || link == "" {
		t.Fatal("the page does not show the end, and the way to what is before it")
	}
	past := s.see(t, link)
	if strings.Contains(past, "late\n") || strings.Contains(past, "data-output") || !strings.Contains(past, "Show the end") {
		t.Error("the earlier piece is shown with the end, or follows it")
	}
}

func TestHugeOutputOnOneLine(t *testing.T) {
	s := newSite(t)
	run := running(t, s, "")
	s.Blobs.SetLog(run.ID, webtest.HugeLog(1<<30))
	if page := s.see(t, "/runs/"+run.ID); len(page) > 100<<10 || !strings.Contains(page, "xxxxx") {
		t.Errorf("the page has %d bytes", len(page))
	}
}

// A character whose bytes have not all come yet is left to what follows.
func TestOutputEndsInTheMiddleOfACharacter(t *testing.T) {
	s := newSite(t)
	run := running(t, s, "caf\xc3")
	page := s.see(t, "/runs/"+run.ID)
	if !strings.Contains(page, `data-offset="3"`) || strings.Contains(page, "\ufffd") {
		t.Errorf("the half character is shown: %s", piece.FindString(page))
	}
}

func TestOutputIsFollowed(t *testing.T) {
	s := newSite(t)
	run := running(t, s, "one\n")
	server := httptest.NewServer(s.server.Handler())
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/runs/"+run.ID+"/output?attempt=1&follow=1&offset=0", nil)
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
	lines := bufio.NewReader(response.Body)
	next := func() string {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	if got := next(); got != "one\n" {
		t.Errorf("first came %q", got)
	}
	<-s.Queue.Watching
	if err := s.Queue.Say(ctx, engine.LogFrame{Run: run.ID, Attempt: 1, Offset: 4, Data: []byte("two\n")}); err != nil {
		t.Fatal(err)
	}
	if got := next(); got != "two\n" {
		t.Errorf("then came %q", got)
	}
	s.PutRun(t, webtest.Ended(run, engine.StatusSucceeded, "one\ntwo\nthree\n"))
	rest, err := io.ReadAll(lines)
	if err != nil || string(rest) != "three\n" {
		t.Errorf("at the end came %q, %v", rest, err)
	}
	again := s.ask(t, http.MethodGet, "/runs/"+run.ID+"/output?attempt=1&follow=1&offset=8", nil)
	if again.Header().Get("X-Log-Complete") != "true" || again.Body.String() != "three\n" {
		t.Errorf("asked again after the end: %q, complete %s", again.Body, again.Header().Get("X-Log-Complete"))
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
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/runs/"+id+"/output?attempt="+attempt+"&follow=1&offset=0", nil)
		response := httptest.NewRecorder()
		finished := make(chan struct{})
		go func() {
			s.server.Handler().ServeHTTP(response, request)
			close(finished)
		}()
		<-s.Queue.Watching
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
		"attempt=1&before=x": 400, "attempt=1&follow=1&offset=x": 400, "attempt=1&follow=1&offset=-1": 400, "attempt=9": 404,
		"attempt=1&before=-5": 200, "attempt=1&before=99999999": 200,
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
}
