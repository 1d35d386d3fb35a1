package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) waveCancel() {
	register(a, huma.Operation{
		OperationID: "cancel-wave", Method: http.MethodPost, Path: "/waves/{id}/cancel", Tags: []string{"waves"}, DefaultStatus: http.StatusAccepted,
		Summary:     "Cancel a wave",
		Description: "What has not begun does not, what runs is asked to end; tasks with the rule always still run. 202 as soon as the request is durable. 409 if it has ended.",
	}, func(ctx context.Context, in *WavePath) (*waveAnswer, error) {
		return accepted(a.service.CancelWave(ctx, in.ID, service.Actor(ctx)))
	})
}

func (a *API) waveResume() {
	register(a, huma.Operation{
		OperationID: "resume-wave", Method: http.MethodPost, Path: "/waves/{id}/resume", Tags: []string{"waves"}, DefaultStatus: http.StatusAccepted,
		Summary:     "Resume a wave",
		Description: "A wave that failed or was cancelled goes on in place: what succeeded stays, the rest is run again. 202 as soon as the request is durable. 409 if it succeeded or has not ended.",
	}, func(ctx context.Context, in *WavePath) (*waveAnswer, error) {
		return accepted(a.service.ResumeWave(ctx, in.ID, service.Actor(ctx)))
	})
}

func (a *API) waveMark() {
	register(a, huma.Operation{
		OperationID: "mark-task", Method: http.MethodPost, Path: "/waves/{id}/mark", Tags: []string{"waves"}, DefaultStatus: http.StatusAccepted,
		Summary: "Say how a task counts",
		Description: "A task that waits, or that did not succeed in a wave that has ended, counts as said without being executed, and the wave goes on. " +
			"202 as soon as the request is durable. 409 if it runs, or cannot be marked.",
	}, func(ctx context.Context, in *struct {
		WavePath
		Body wire.MarkRequest
	}) (*waveAnswer, error) {
		as, err := engine.ParseStatus(in.Body.As)
		if err != nil {
			return nil, invalid("invalid_mark", "body.as", "%s", err)
		}
		return accepted(a.service.MarkTask(ctx, in.ID, in.Body.Task, as, service.Actor(ctx)))
	})
}

func accepted(wave engine.Wave, err error) (*waveAnswer, error) {
	if err != nil {
		return nil, err
	}
	return &waveAnswer{Status: http.StatusAccepted, Body: viewWave(&wave)}, nil
}
