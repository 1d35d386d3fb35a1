package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) events() {
	register(a, huma.Operation{
		OperationID: "watch-events", Method: http.MethodGet, Path: "/events", Tags: []string{"cluster"},
		Summary: "Hear what changes",
		Description: "Server-sent events of the name changed: hints that a run, a wave, the executors or the queues have changed since they were last looked at, which is once a second. " +
			"A hint may be coarse or repeated, and changes within one second are combined. Read again what you show.",
	}, func(ctx context.Context, in *InNamespace) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(out huma.Context) {
			a.streamEvents(ctx, in.Namespace, a.eventStream(out))
		}}, nil
	})
	a.gives("/events", "200", "Events without an end", map[string]*huma.MediaType{"text/event-stream": {Schema: anyText,
		Example: "event: changed\ndata: {\"kind\":\"run\",\"id\":\"h5zq3x7rk2mnp4ab-s1767229200000\",\"job\":\"nightly-report\",\"status\":\"running\"}\n\n"}}, nil)
}

// streamEvents ends when the client goes or the server stops: both end ctx.
func (a *API) streamEvents(ctx context.Context, namespace string, stream *eventStream) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if stream.beat() != nil {
		return
	}
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if stream.beat() != nil {
					cancel()
					return
				}
			}
		}
	}()
	// It ends with ctx or with the connection: the client is gone, and gets no error.
	_ = a.service.Watch(ctx, func(hint service.Hint) error {
		if hint.Namespace != "" && hint.Namespace != namespace {
			return nil
		}
		event := wire.Event{Kind: string(hint.Kind), ID: hint.ID, Job: hint.Job, DAG: hint.DAG, Wave: hint.Wave, Task: hint.Task}
		if hint.Kind == service.HintRun || hint.Kind == service.HintWave {
			event.Status = hint.Status.String()
		}
		return stream.send("changed", "", event)
	})
	cancel()
	<-beating
}
