package api

import (
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

func viewEffect(e *engine.RunEffect) wire.Effect {
	return wire.Effect{
		Run: e.Run, Key: e.Key, State: string(e.State), Attempt: e.Attempt, Token: e.Token,
		CreatedAt: e.CreatedAt, OpenedAt: e.OpenedAt, DoneAt: e.DoneAt, Result: e.Result,
	}
}
