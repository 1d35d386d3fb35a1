package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) schedulePreview() {
	register(a, huma.Operation{
		OperationID: "preview-schedule", Method: http.MethodPost, Path: "/schedule/preview", Tags: []string{"documents"},
		Summary: "When a schedule would fire", Description: "Gaps and repeats of the clock are explained in words.",
	}, func(_ context.Context, in *struct{ Body wire.PreviewRequest }) (*previewAnswer, error) {
		ask := &in.Body
		start := ask.Start
		if start.IsZero() {
			start = a.config.Now()
		}
		definition := cron.Definition{
			Cron: ask.Schedule, Every: time.Duration(ask.Every), After: time.Duration(ask.After), At: ask.At,
			Timezone: ask.Timezone, Key: ask.Key, Anchor: start, From: ask.From, Until: ask.Until,
		}
		for _, expression := range ask.Exclude {
			definition.Exclude = append(definition.Exclude, cron.Exclusion{Cron: expression})
		}
		count := ask.Count
		if count == 0 {
			count = 10
		}
		slots, description, err := service.Preview(definition, start, count)
		if err != nil {
			return nil, err
		}
		return answerPreview(slots, description), nil
	})
}
