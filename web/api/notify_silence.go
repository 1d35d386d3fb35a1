package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/notify"
	"github.com/tidewheel/tidewheel/web/service"
)

type silenceAnswer struct {
	Status int
	Body   wire.NotifySilence
}

func (a *API) notifySilences() {
	register(a, notifying("list-silences", http.MethodGet, "/silences", "List silences", "Those that are not over, by when they end."),
		func(ctx context.Context, in *InNotifying) (*pageAnswer[wire.NotifySilence], error) {
			silences, err := a.service.Silences(ctx, in.Namespace)
			if err != nil {
				return nil, err
			}
			var items []wire.NotifySilence
			for i := range silences {
				items = append(items, viewSilence(&silences[i]))
			}
			return answerPage(items, ""), nil
		})
	add := notifying("create-silence", http.MethodPost, "/silences", "Silence notifications for a time",
		"Incidents that begin meanwhile are recorded as silenced, and not sent.")
	add.DefaultStatus = http.StatusCreated
	register(a, add, func(ctx context.Context, in *struct {
		InNotifying
		Keyed
		Body wire.NewNotifySilence
	}) (*silenceAnswer, error) {
		silence, err := a.newSilence(in.Namespace, in.Key, &in.Body)
		if err != nil {
			return nil, err
		}
		request := service.Request{Namespace: in.Namespace, Operation: "create-silence", Key: in.Key, Asked: in.Body}
		return once(ctx, a.service, request, func() (*silenceAnswer, error) {
			made, err := a.silence(ctx, in.Namespace, silence.ID)
			return &silenceAnswer{http.StatusOK, viewSilence(&made)}, err
		}, func() (*silenceAnswer, error) {
			made, err := a.service.AddSilence(ctx, silence)
			return &silenceAnswer{http.StatusCreated, viewSilence(&made)}, err
		})
	})
	register(a, notifying("delete-silence", http.MethodDelete, "/silences/{id}", "End a silence", ""),
		func(ctx context.Context, in *NotifyPath) (*nothing, error) {
			return &nothing{}, a.service.DeleteSilence(ctx, in.Namespace, in.ID)
		})
}

// newSilence is what a request asks for. Under a key it has an identity of its own.
func (a *API) newSilence(namespace, key string, asked *wire.NewNotifySilence) (notify.Silence, error) {
	silence := notify.Silence{
		Namespace: namespace, Definition: asked.Definition, Alert: asked.Alert, From: asked.From, Until: asked.Until, Reason: asked.Reason,
	}
	switch {
	case asked.For != 0 && !asked.Until.IsZero():
		return notify.Silence{}, invalid("invalid_silence", "body.for", "for and until are both given: keep one of them")
	case asked.For != 0:
		from := asked.From
		if from.IsZero() {
			from = a.config.Now()
		}
		silence.Until = from.Add(time.Duration(asked.For))
	case asked.Until.IsZero():
		return notify.Silence{}, invalid("invalid_silence", "body.for", "say how long it lasts, such as for: 2h")
	}
	if key != "" {
		digest := sha256.Sum256([]byte(namespace + "\n" + key))
		silence.ID = hex.EncodeToString(digest[:8])
	}
	return silence, nil
}

// silence finds a silence that is not over.
func (a *API) silence(ctx context.Context, namespace, id string) (notify.Silence, error) {
	silences, err := a.service.Silences(ctx, namespace)
	if err != nil {
		return notify.Silence{}, err
	}
	at := slices.IndexFunc(silences, func(one notify.Silence) bool { return one.ID == id })
	if at < 0 {
		return notify.Silence{}, &service.Error{
			Kind: service.KindNotFound, Code: "silence_not_found", Err: engine.ErrNotFound, Detail: "the silence that this request made is over",
		}
	}
	return silences[at], nil
}

func viewSilence(s *notify.Silence) wire.NotifySilence {
	return wire.NotifySilence{
		ID: s.ID, Namespace: s.Namespace, Definition: s.Definition, Alert: s.Alert, From: s.From, Until: s.Until, By: s.By, Reason: s.Reason,
	}
}
