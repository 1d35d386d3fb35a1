package jetstream

import (
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
)

// `make generate` writes the methods of these types to codec_types_easyjson.go.

//easyjson:json
type taskMessage engine.Task

//easyjson:json
type resultMessage engine.Result

//easyjson:json
type holderMessage executor.LockHolder
