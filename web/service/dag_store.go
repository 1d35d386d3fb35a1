package service

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
)

// DAGStore is the part of the truth that is about DAGs and their waves.
type DAGStore interface {
	CreateDAG(ctx context.Context, dag engine.DAG) error
	ReplaceDAG(ctx context.Context, dag engine.DAG) error
	DAG(ctx context.Context, namespace, name string) (engine.DAG, error)
	DAGs(ctx context.Context, filter engine.DAGFilter) (dags []engine.DAG, next string, err error)
	DAGGeneration(ctx context.Context, uid string, generation int64) (engine.DAGGeneration, error)
	DAGGenerations(ctx context.Context, uid string, before int64, limit int) ([]engine.DAGGeneration, error)

	Wave(ctx context.Context, id string) (engine.Wave, error)
	WavesByID(ctx context.Context, ids []string) ([]engine.Wave, error)
	Waves(ctx context.Context, filter engine.WaveFilter) (waves []engine.Wave, next string, err error)
	RunsOfWave(ctx context.Context, wave, after string, limit int) ([]engine.Run, error)
}
