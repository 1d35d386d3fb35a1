package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// flood makes lines from a number on.
func flood(from, lines int) []byte {
	var text bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&text, "line %d\n", from+i)
	}
	return text.Bytes()
}

// sharedRecorder may be written to by a timer while the test reads it.
type sharedRecorder struct {
	*httptest.ResponseRecorder
	mu sync.Mutex
}

func (r *sharedRecorder) Write(data []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ResponseRecorder.Write(data)
}

func TestReaderOfAFloodIsSentItsEndNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := &sharedRecorder{ResponseRecorder: httptest.NewRecorder()}
		stream := &outputStream{
			ctx: t.Context(), out: &patient{w: answer, control: http.NewResponseController(answer), most: time.Minute},
			lines: assembler{place: templates.Place{Line: 1}},
		}
		var position int64
		add := func(data []byte) {
			if err := stream.add(service.LogPiece{Offset: position, Data: data}); err != nil {
				t.Fatal(err)
			}
			position += int64(len(data))
		}
		messages := func() (all []followed) {
			answer.mu.Lock()
			defer answer.mu.Unlock()
			for _, text := range strings.Split(strings.TrimSpace(answer.Body.String()), "\n") {
				var m followed
				if err := json.Unmarshal([]byte(text), &m); err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				all = append(all, m)
			}
			return all
		}
		add(flood(1, 3))
		if got := messages(); len(got) != 1 || got[0].Line != 4 || got[0].Skipped {
			t.Fatalf("what comes after a silence is not sent at once: %+v", got)
		}
		for i := range 100 {
			add(flood(4+i*500, 500))
		}
		add([]byte("and half"))
		if got := messages(); len(got) != 1 {
			t.Fatalf("%d messages were sent in no time", len(got))
		}
		<-time.After(2 * followPause)
		got := messages()
		if len(got) != 2 {
			t.Fatalf("%d messages, not 2", len(got))
		}
		last := got[1]
		if !last.Skipped || last.Total != 50_004 || last.Line != 50_004 || last.Offset != position-int64(len("and half")) {
			t.Errorf("its place is told as %+v", last)
		}
		if rows := strings.Count(last.HTML, `class="row"`); rows != templates.PageLines || !strings.Contains(last.HTML, `id="L50004"`) ||
			!strings.Contains(last.HTML, "<code>line 50003</code>") || !strings.Contains(last.HTML, "<code>and half</code>") {
			t.Errorf("its last lines are not sent, but %d rows", rows)
		}
		add([]byte(" a line\n"))
		add(flood(50_005, 2))
		if err := stream.end(); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * followPause)
		got = messages()
		end := got[len(got)-1]
		if end.Skipped || end.Total != 50_006 || !strings.Contains(end.HTML, "<code>line 50006</code>") {
			t.Errorf("what waited at the end is not sent: %+v", end)
		}
		if html := got[2].HTML; !strings.Contains(html, `id="L50004"`) || !strings.Contains(html, "<code>and half a line</code>") {
			t.Errorf("the line that was under way is not sent whole: %s", html)
		}
	})
}
