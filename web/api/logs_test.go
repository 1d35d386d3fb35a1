package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/api"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// running puts a job with a running run into the store.
func running(s *site) engine.Run {
	s.PutBinary(s.t, "report")
	run := s.Running(s.PutJob(s.t, report), webtest.Start)
	s.PutRun(s.t, run)
	return run
}

func TestStoredLogIsRead(t *testing.T) {
	const text = "first\nsecond\nthird\n"
	for name, store := range map[string]func(*site) string{
		"in the run": func(s *site) string {
			_, runs := history(s)
			return runs[0].ID
		},
		"in chunks": func(s *site) string {
			run := running(s)
			ended := webtest.Ended(run, engine.StatusSucceeded, text)
			ended.Attempts[0].Output.Chunks, ended.Attempts[0].Output.Tail = 1, []byte("third\n")
			s.PutRun(s.t, ended)
			s.Blobs.SetLog(run.ID, webtest.TextLog(text))
			return run.ID
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			path := "/api/v1/runs/" + store(s) + "/logs"
			for query, want := range map[string]string{
				"":                     text,
				"?attempt=1":           text,
				"?offset=6":            "second\nthird\n",
				"?offset=100":          "",
				"?tail=0":              "",
				"?tail=1":              "third\n",
				"?tail=2":              "second\nthird\n",
				"?tail=99":             text,
				"?follow=true":         text,
				"?follow=true&tail=1":  "third\n",
				"?follow=1&offset=100": "",
			} {
				got := s.ask("GET", path+query, "").is(http.StatusOK)
				if string(got.body) != want || got.header.Get("Content-Type") != "text/plain; charset=utf-8" {
					t.Errorf("%s gives %q, want %q", query, got.body, want)
				}
				if got.header.Get("X-Log-Size") != "19" || got.header.Get("X-Log-Complete") != "true" || got.header.Get("X-Log-Attempt") != "1" {
					t.Errorf("%s says %v", query, got.header)
				}
				if !strings.Contains(query, "offset=100") && got.header.Get("X-Log-Offset") != fmt.Sprint(len(text)-len(want)) {
					t.Errorf("%s begins at %s", query, got.header.Get("X-Log-Offset"))
				}
			}
			for asked, want := range map[string]string{
				"bytes=6-11":  "second|bytes 6-11/19",
				"bytes=13-":   "third\n|bytes 13-18/19",
				"bytes=-6":    "third\n|bytes 13-18/19",
				"bytes=0-999": text + "|bytes 0-18/19",
			} {
				got := s.ask("GET", path, "", "Range", asked).is(http.StatusPartialContent)
				if said := string(got.body) + "|" + got.header.Get("Content-Range"); said != want {
					t.Errorf("%s gives %q, want %q", asked, said, want)
				}
			}
			for _, asked := range []string{"bytes=5-2", "bytes=a-b", "bytes=0-1,3-4", "lines=1-2", "bytes=-0", "bytes=7"} {
				if got := s.ask("GET", path, "", "Range", asked).is(http.StatusOK); string(got.body) != text {
					t.Errorf("%s gives %q", asked, got.body)
				}
			}
			beyond := s.ask("GET", path, "", "Range", "bytes=19-")
			beyond.problem(http.StatusRequestedRangeNotSatisfiable, "range_not_satisfiable", "19 bytes")
			if got := beyond.header.Get("Content-Range"); got != "bytes */19" {
				t.Errorf("Content-Range %q", got)
			}
			s.ask("GET", path+"?attempt=2", "").problem(http.StatusNotFound, "attempt_not_found", "no attempt 2")
			at(t, s.ask("GET", path+"?tail=few", "").problem(http.StatusUnprocessableEntity, "invalid_request"), "query.tail")
			at(t, s.ask("GET", path+"?offset=-1", "").problem(http.StatusUnprocessableEntity, "invalid_request"), "query.offset")
		})
	}
	s := newSite(t)
	s.ask("GET", "/api/v1/runs/nothing/logs", "").problem(http.StatusNotFound, "run_not_found")
	s.ask("GET", "/api/v1/runs/nothing/logs?follow=true", "").problem(http.StatusNotFound, "run_not_found")
}

func TestLogIsReadWithTimestamps(t *testing.T) {
	s := newSite(t)
	ended := webtest.Ended(running(s), engine.StatusFailed, "first\nsecond\nthird\n")
	at := time.Date(2026, 11, 27, 11, 57, 21, 150_000_000, time.UTC)
	ended.Attempts[0].Output.Marks = engine.EncodeOutputMarks([]engine.OutputMark{
		{Offset: 0, At: at}, {Offset: 6, At: at.Add(time.Second), Stream: engine.StreamStderr}, {Offset: 13, At: at.Add(2 * time.Second), Stream: engine.StreamStdout},
	})
	s.PutRun(t, ended)
	path := "/api/v1/runs/" + ended.ID + "/logs?timestamps=true"
	const first, second, third = "2026-11-27T11:57:21.150Z - first\n", "2026-11-27T11:57:22.150Z stderr second\n", "2026-11-27T11:57:23.150Z stdout third\n"
	for query, want := range map[string]string{
		"": first + second + third, "&tail=1": third, "&offset=6": second + third, "&offset=8": "cond\n" + third, "&offset=99": "",
		"&follow=true": first + second + third, "&follow=true&offset=8": "cond\n" + third,
	} {
		if got := s.ask("GET", path+query, "").is(http.StatusOK); string(got.body) != want {
			t.Errorf("%s gives %q, want %q", query, got.body, want)
		}
	}
	s.ask("GET", path, "", "Range", "bytes=0-3").problem(http.StatusUnprocessableEntity, "no_timestamps", "without Range")
	s.ask("GET", path, "", "Accept", "text/event-stream").problem(http.StatusUnprocessableEntity, "no_timestamps", "text/plain")
	ended.Revision++
	ended.Attempts[0].Output.Marks = nil // as an earlier version ran it
	s.PutRun(t, ended)
	if got := s.ask("GET", path, "").is(http.StatusOK); string(got.body) != "- - first\n- - second\n- - third\n" {
		t.Errorf("without marks: %q", got.body)
	}
}

// markedLog is an output that may still grow.
type markedLog struct {
	webtest.TextLog
	marks []engine.OutputMark
}

func (l markedLog) Marks() []byte { return engine.EncodeOutputMarks(l.marks) }

func TestStoredLogOfARunningAttemptIsReadWithTimestamps(t *testing.T) {
	s := newSite(t)
	run := running(s)
	at := time.Date(2026, 11, 27, 11, 57, 21, 150_000_000, time.UTC)
	s.Blobs.SetLog(run.ID, markedLog{"first\nsecond\n", []engine.OutputMark{{Offset: 0, At: at}, {Offset: 6, At: at.Add(time.Second), Stream: engine.StreamStderr}}})
	const first, second = "2026-11-27T11:57:21.150Z - first\n", "2026-11-27T11:57:22.150Z stderr second\n"
	for query, want := range map[string]string{"": first + second, "&tail=1": second} {
		if got := s.ask("GET", "/api/v1/runs/"+run.ID+"/logs?timestamps=true"+query, "").is(http.StatusOK); string(got.body) != want {
			t.Errorf("%s gives %q, want %q", query, got.body, want)
		}
	}
}

func TestHugeLogIsNotHeldInMemory(t *testing.T) {
	s := newSite(t)
	run := running(s)
	const size = 256 << 20
	s.Blobs.SetLog(run.ID, webtest.HugeLog(size))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	response, err := http.DefaultClient.Do(s.request("GET", "/api/v1/runs/"+run.ID+"/logs", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	runtime.ReadMemStats(&after)
	if err != nil || n != size || response.ContentLength != size {
		t.Errorf("%d of %d bytes came: %v", n, response.ContentLength, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("a log of %d MiB allocated %d MiB", size>>20, used>>20)
	}
}

// follow opens a log and continues as its output comes.
func (s *site) follow(run, query string, headers ...string) *http.Response {
	s.t.Helper()
	response, err := http.DefaultClient.Do(s.request("GET", "/api/v1/runs/"+run+"/logs?follow=true"+query, nil, headers...))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		s.t.Fatalf("status %d", response.StatusCode)
	}
	return response
}

func (s *site) say(run string, offset int64, text string, end bool) {
	s.t.Helper()
	if err := s.Queue.Say(s.t.Context(), engine.LogFrame{Run: run, Attempt: 1, Offset: offset, Data: []byte(text), End: end}); err != nil {
		s.t.Fatal(err)
	}
}

func TestFollowedLogEndsWithItsAttempt(t *testing.T) {
	s := newSite(t)
	run := running(s)
	response := s.follow(run.ID, "")
	if response.Header.Get("X-Log-Complete") != "false" {
		t.Errorf("headers %v", response.Header)
	}
	<-s.Queue.Watching
	lines := bufio.NewReader(response.Body)
	s.say(run.ID, 0, "one\n", false)
	if line, err := lines.ReadString('\n'); line != "one\n" {
		t.Fatalf("came %q, %v", line, err)
	}
	// A piece that comes twice, and one that overlaps, appear once.
	s.say(run.ID, 0, "one\n", false)
	s.say(run.ID, 2, "e\ntwo\n", false)
	if line, err := lines.ReadString('\n'); line != "two\n" {
		t.Fatalf("came %q, %v", line, err)
	}
	// A piece that was lost is taken from what is stored at the end.
	s.PutRun(t, webtest.Ended(run, engine.StatusSucceeded, "one\ntwo\nlost\nfour\n"))
	s.say(run.ID, 13, "four\n", true)
	if rest, err := io.ReadAll(lines); string(rest) != "lost\nfour\n" || err != nil {
		t.Errorf("the rest is %q, %v", rest, err)
	}
}

func TestFollowerWaitsForTheFirstAttempt(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	job := s.PutJob(t, report)
	waiting := s.Running(job, webtest.Start)
	waiting.Status, waiting.Attempt, waiting.Attempts = engine.StatusScheduled, 0, nil
	s.PutRun(t, waiting)
	response := s.follow(waiting.ID, "")
	begun := s.Running(job, webtest.Start)
	begun.Revision = 2
	s.PutRun(t, begun)
	<-s.Queue.Watching
	s.say(begun.ID, 0, "begun\n", false)
	s.PutRun(t, webtest.Ended(begun, engine.StatusFailed, "begun\n"))
	s.say(begun.ID, 6, "", true)
	if all, err := io.ReadAll(response.Body); string(all) != "begun\n" || err != nil {
		t.Errorf("followed %q, %v", all, err)
	}
}

func TestLogIsFollowedWithoutAQueue(t *testing.T) {
	s := newSite(t)
	run := running(s)
	s.Queue.Fail(errors.New("no queue"))
	response := s.follow(run.ID, "")
	s.Blobs.SetLog(run.ID, webtest.TextLog("stored\n"))
	lines := bufio.NewReader(response.Body)
	if line, err := lines.ReadString('\n'); line != "stored\n" {
		t.Fatalf("came %q, %v", line, err)
	}
	ended := webtest.Ended(run, engine.StatusSucceeded, "stored\nlast\n")
	s.PutRun(t, ended)
	if rest, err := io.ReadAll(lines); string(rest) != "last\n" || err != nil {
		t.Errorf("the rest is %q, %v", rest, err)
	}
}

// events reads server-sent events.
func events(t *testing.T, body io.Reader) func() (name, id, data string) {
	scanner := bufio.NewScanner(body)
	return func() (name, id, data string) {
		for scanner.Scan() {
			field, value, _ := strings.Cut(scanner.Text(), ": ")
			switch {
			case field == "event":
				name = value
			case field == "id":
				id = value
			case field == "data":
				data = value
			case scanner.Text() == "" && name != "":
				return name, id, data
			}
		}
		t.Fatalf("the stream ended: %v", scanner.Err())
		return "", "", ""
	}
}

func TestFollowedLogComesAsEvents(t *testing.T) {
	s := newSite(t)
	run := running(s)
	response := s.follow(run.ID, "", "Accept", "text/event-stream")
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("Content-Type %q", got)
	}
	<-s.Queue.Watching
	next := events(t, response.Body)
	expect := func(name, id, data string) {
		t.Helper()
		if gotName, gotID, got := next(); gotName != name || gotID != id || got != data {
			t.Errorf("event %s %s %s, want %s %s %s", gotName, gotID, got, name, id, data)
		}
	}
	const wave = "tide 🌊\n\xff"
	s.say(run.ID, 0, wave[:7], false) // in the middle of a character
	expect("output", "5", `{"offset":0,"text":"tide "}`)
	s.say(run.ID, 7, wave[7:], false)
	expect("output", "11", `{"offset":5,"text":"🌊\n\ufffd"}`)
	s.PutRun(t, webtest.Ended(run, engine.StatusFailed, wave))
	s.say(run.ID, int64(len(wave)), "", true)
	expect("end", "11", `{"status":"failed","size":11}`)

	again := s.follow(run.ID, "", "Accept", "text/event-stream", "Last-Event-ID", "5")
	next = events(t, again.Body)
	if _, _, data := next(); !strings.Contains(data, `"offset":5`) {
		t.Errorf("continued with %s", data)
	}
}

// A client that takes nothing is given up, and leaves nothing behind: TestMain looks for goroutines.
func TestStalledReaderIsGivenUp(t *testing.T) {
	world := webtest.New(t)
	e := echo.New()
	gone := make(chan struct{})
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			defer close(gone)
			return next(c)
		}
	})
	if _, err := api.New(e, world.Service, api.Config{Log: world.Log, Patience: 50 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	s := &site{World: world, t: t, server: newServer(t, e)}
	run := running(s)
	s.Blobs.SetLog(run.ID, webtest.HugeLog(1<<40))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	response, err := http.DefaultClient.Do(s.request("GET", "/api/v1/runs/"+run.ID+"/logs", nil).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	<-gone // without a byte of the body read
}

func TestChangesAreHinted(t *testing.T) {
	s := newSite(t)
	run := running(s)
	response, err := http.DefaultClient.Do(s.request("GET", "/api/v1/events", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("status %d, Content-Type %q", response.StatusCode, got)
	}
	s.Queue.Looked(t)
	s.PutRun(t, webtest.Ended(run, engine.StatusSucceeded, ""))
	s.Queue.SetExecutors(engine.Presence{ID: "one"})
	s.Queue.SetDepths(engine.QueueDepth{Tier: "light", Class: "standard", Waiting: 3})
	next := events(t, response.Body)
	for _, want := range []wire.Event{
		{Kind: "run", ID: run.ID, Job: run.Job, Status: "succeeded"}, {Kind: "executors"}, {Kind: "queues"},
	} {
		name, _, data := next()
		var event wire.Event
		if err := json.Unmarshal([]byte(data), &event); err != nil || name != "changed" || event != want {
			t.Errorf("event %s %s, want %+v", name, data, want)
		}
	}
}
