package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/cron"
)

type previewAnswer struct {
	Body wire.Preview
}

func (a *API) jobNext() {
	register(a, huma.Operation{
		OperationID: "next-slots", Method: http.MethodGet, Path: "/jobs/{name}/next", Tags: []string{"jobs"},
		Summary: "When a job fires next", Description: "Of a paused job: when it would, if it were resumed. Gaps and repeats of the clock are told in words.",
	}, func(ctx context.Context, in *struct {
		JobPath
		Count int    `query:"count" default:"10" minimum:"1" maximum:"1000" doc:"How many slots"`
		After string `query:"after" doc:"Slots after this time; now if absent"`
	}) (*previewAnswer, error) {
		after, err := a.instant("after", in.After)
		if err != nil {
			return nil, err
		}
		slots, description, err := a.service.NextSlots(ctx, in.Namespace, in.Name, after, in.Count)
		if err != nil {
			return nil, err
		}
		return answerPreview(slots, description), nil
	})
}

func answerPreview(slots []cron.Slot, description string) *previewAnswer {
	answer := &previewAnswer{Body: wire.Preview{Items: []wire.Slot{}, Description: description}}
	for _, s := range slots {
		answer.Body.Items = append(answer.Body.Items, wire.Slot{Slot: s.Slot, Local: s.Local, Note: s.Note})
	}
	return answer
}
