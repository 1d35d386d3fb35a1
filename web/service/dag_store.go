package service

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// DAGStore is the part of the truth that is about DAGs and their waves.
type DAGStore interface {
	DAGs() engine.Definitions[spec.DAG]
	DAGsByUID(ctx context.Context, uids []string) ([]engine.DAG, error)

	Wave(ctx context.Context, id string) (engine.Wave, error)
	WavesByID(ctx context.Context, ids []string) ([]engine.Wave, error)
	Waves(ctx context.Context, filter engine.WaveFilter) (waves []engine.Wave, next string, err error)
	RunsOfWave(ctx context.Context, wave, after string, limit int) ([]engine.Run, error)
}
