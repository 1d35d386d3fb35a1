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
		Description: "Running tasks are asked to stop, and no other task starts, except those with the rule always. 202 as soon as the request is durable. 409 if it has ended.",
	}, func(ctx context.Context, in *WavePath) (*waveAnswer, error) {
		return accepted(a.service.CancelWave(ctx, in.Namespace, in.ID, service.Actor(ctx)))
	})
}

func (a *API) waveResume() {
	register(a, huma.Operation{
		OperationID: "resume-wave", Method: http.MethodPost, Path: "/waves/{id}/resume", Tags: []string{"waves"}, DefaultStatus: http.StatusAccepted,
		Summary:     "Resume a wave",
		Description: "Resumes a wave that failed or was cancelled, in place: tasks that succeeded keep their results, the others run again. 202 as soon as the request is durable. 409 if it succeeded or has not ended.",
	}, func(ctx context.Context, in *struct {
		WavePath
		Keyed
	}) (*waveAnswer, error) {
		request := service.Request{Namespace: in.Namespace, Operation: "resume-wave " + in.ID, Key: in.Key}
		return accepted(once(ctx, a.service, request, a.waveNow(ctx, &in.WavePath), func() (engine.Wave, error) {
			return a.service.ResumeWave(ctx, in.Namespace, in.ID, service.Actor(ctx))
		}))
	})
}

func (a *API) waveMark() {
	register(a, huma.Operation{
		OperationID: "mark-task", Method: http.MethodPost, Path: "/waves/{id}/mark", Tags: []string{"waves"}, DefaultStatus: http.StatusAccepted,
		Summary: "Say how a task counts",
		Description: "Marks a task that waits, or that did not succeed in a wave that has ended, without running it, and the wave continues. " +
			"202 as soon as the request is durable. 409 if it runs, or cannot be marked.",
	}, func(ctx context.Context, in *struct {
		WavePath
		Keyed
		Body wire.MarkRequest
	}) (*waveAnswer, error) {
		as, err := engine.ParseStatus(in.Body.As)
		if err != nil {
			return nil, invalid("invalid_mark", "body.as", "%s", err)
		}
		request := service.Request{Namespace: in.Namespace, Operation: "mark-task " + in.ID, Key: in.Key, Asked: in.Body}
		return accepted(once(ctx, a.service, request, a.waveNow(ctx, &in.WavePath), func() (engine.Wave, error) {
			return a.service.MarkTask(ctx, in.Namespace, in.ID, in.Body.Task, as, service.Actor(ctx))
		}))
	})
}

func (a *API) waveClear() {
	register(a, huma.Operation{
		OperationID: "clear-task", Method: http.MethodPost, Path: "/waves/{id}/clear", Tags: []string{"waves"}, DefaultStatus: http.StatusAccepted,
		Summary: "Run a task of a wave again",
		Description: "Runs a task of a wave that has ended again, in place and however it has ended, or one item of a mapped task. The tasks that come after it " +
			"are decided again, unless alone is true; all others keep their results. 202 as soon as the request is durable. 409 if the wave has not ended, " +
			"or the task's trigger rule would not let it run.",
	}, func(ctx context.Context, in *struct {
		WavePath
		Keyed
		Body wire.ClearRequest
	}) (*waveAnswer, error) {
		request := service.Request{Namespace: in.Namespace, Operation: "clear-task " + in.ID, Key: in.Key, Asked: in.Body}
		return accepted(once(ctx, a.service, request, a.waveNow(ctx, &in.WavePath), func() (engine.Wave, error) {
			asked := service.Clear{Task: in.Body.Task, Item: in.Body.Item, Alone: in.Body.Alone, Args: in.Body.Args, Payload: in.Body.Payload}
			return a.service.ClearTask(ctx, in.Namespace, in.ID, asked, service.Actor(ctx))
		}))
	})
}

func (a *API) waveNow(ctx context.Context, in *WavePath) func() (engine.Wave, error) {
	return func() (engine.Wave, error) { return a.service.Wave(ctx, in.Namespace, in.ID) }
}

func accepted(wave engine.Wave, err error) (*waveAnswer, error) {
	if err != nil {
		return nil, err
	}
	return &waveAnswer{Status: http.StatusAccepted, Body: viewWave(&wave)}, nil
}
