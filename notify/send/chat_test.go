package send

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/notify"
)

// posted sends a letter to a real server, and returns what came.
func posted(t *testing.T, kind notify.TargetKind, message *notify.Message) (header http.Header, body map[string]any) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(text, &body) != nil || r.URL.Path != "/services/T0/x" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		header = r.Header
		_, _ = io.WriteString(w, "ok\nmore")
	}))
	defer server.Close()
	letter := &notify.Letter{
		ID: message.Data.ID, Message: *message,
		Target: notify.Target{Namespace: "default", Name: "chat", Kind: kind, URL: server.URL + "/services/T0/x", AllowPrivate: true},
	}
	if answer, err := NewHTTP("tidewheel/test", nil, time.Now).Send(t.Context(), letter); err != nil || answer != "200 OK ok" {
		t.Fatalf("answered %q, %v", answer, err)
	}
	return header, body
}

func aMessage(n int) notify.Message {
	return notify.Message{Type: notify.MessageOpened, Timestamp: time.Now(), Data: notify.Data{
		ID: fmt.Sprint("d-", n), Title: fmt.Sprintf("Job j%d <!channel> & co failed", n), Namespace: "default", Job: fmt.Sprint("j", n), Alert: "failed",
		Since: time.Unix(1_800_000_000, 0), Count: 3, Reason: "exit 3 <b>", Run: fmt.Sprint("run-", n), Output: []string{"connect: refused", "``` <x>"},
		URL: "https://tide.example.com/runs/run-1",
	}}
}

// textsOf are all texts in a message of a chat.
func textsOf(value any) (all []string) {
	switch value := value.(type) {
	case string:
		all = append(all, value)
	case []any:
		for _, one := range value {
			all = append(all, textsOf(one)...)
		}
	case map[string]any:
		for _, one := range value {
			all = append(all, textsOf(one)...)
		}
	}
	return all
}

func TestChatsGetWhatIsWrongWithALink(t *testing.T) {
	message := aMessage(1)
	for _, kind := range []notify.TargetKind{notify.TargetSlack, notify.TargetTeams} {
		header, body := posted(t, kind, &message)
		if header.Get("Webhook-Signature") != "" || header.Get("Content-Type") != "application/json" || header.Get("User-Agent") != "tidewheel/test" {
			t.Errorf("%s: header %v", kind, header)
		}
		text := strings.Join(textsOf(body), "\n")
		for _, want := range []string{"Job j1", "exit 3", "2027-01-15 08:00:00 UTC", "3 times", "connect: refused", message.Data.URL} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %s", kind, want, text)
			}
		}
		if kind == notify.TargetSlack && strings.Contains(text, "<!channel>") {
			t.Errorf("a title calls the whole channel: %s", text)
		}
	}
}

// Slack takes 50 blocks at most. A large digest says how many it does not show.
func TestLargeDigestFitsAChat(t *testing.T) {
	digest := notify.Message{Type: notify.MessageDigest, Data: notify.Data{ID: "d", Title: "100 incidents began"}}
	for n := range 100 {
		digest.Data.Messages = append(digest.Data.Messages, aMessage(n))
	}
	for _, kind := range []notify.TargetKind{notify.TargetSlack, notify.TargetTeams} {
		_, body := posted(t, kind, &digest)
		text := strings.Join(textsOf(body), "\n")
		if !strings.Contains(text, "j19 ") || strings.Contains(text, "j20 ") || !strings.Contains(text, "80 more") {
			t.Errorf("%s: %s", kind, text)
		}
		if blocks, _ := body["blocks"].([]any); len(blocks) > 50 {
			t.Errorf("%s: %d blocks", kind, len(blocks))
		}
	}
}
