package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// heartbeat is how often a stream of events that has nothing to say shows that it lives.
const heartbeat = 15 * time.Second

// eventStream writes server-sent events. Its methods may be called from several goroutines.
type eventStream struct {
	mu     sync.Mutex
	out    *patientWriter
	failed error
}

func (a *API) eventStream(out huma.Context) *eventStream {
	out.SetHeader("Content-Type", "text/event-stream")
	out.SetHeader("Cache-Control", "no-store")
	out.SetHeader("X-Accel-Buffering", "no")
	out.SetStatus(http.StatusOK)
	return &eventStream{out: a.patient(out)}
}

// send writes one event; id "" is none.
func (s *eventStream) send(name, id string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("api: encode event %s: %w", name, err)
	}
	text := "event: " + name + "\n"
	if id != "" {
		text += "id: " + id + "\n"
	}
	return s.write(text + "data: " + string(data) + "\n\n")
}

// beat shows that the stream lives, and finds out whether its reader does.
func (s *eventStream) beat() error { return s.write(": \n\n") }

func (s *eventStream) write(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	if _, s.failed = s.out.Write([]byte(text)); s.failed == nil {
		s.failed = s.out.flush()
	}
	return s.failed
}
