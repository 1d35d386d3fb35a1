package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
)

// Half of the budgets of section 11 of the design: what a step of a chain may take, and a wave of one task, a thousand
// and one.
const (
	stepBudget = 5 * time.Millisecond
	fanBudget  = 2 * time.Second
)

// waves measures what a DAG costs: a chain of tasks, one after the other, and a fan of n tasks between two. Every task
// is a real process, and a wave's time is what its document says, from its opening to its end.
func (b *bench) waves(ctx context.Context, chain, fan, rounds int) error {
	dir, err := b.folder()
	if err != nil {
		return err
	}
	s, _, err := startServer(ctx, b.binary, filepath.Join(dir, "data"))
	if err != nil {
		return err
	}
	defer b.stop(s)
	if err := s.push(ctx, "true", b.trueProgram); err != nil {
		return err
	}
	steps, err := b.wavesOf(ctx, s, "chain", chainOf(chain), rounds)
	if err != nil {
		return err
	}
	each := make(sample, len(steps))
	for i, took := range steps {
		each[i] = took / time.Duration(chain)
	}
	b.print(fmt.Sprintf("a chain of %d tasks, `true` in each", chain),
		fmt.Sprintf("a step p50 %s, max %s (%d waves; a start of `true` on this machine: %s)", milliseconds(each.at(0.5)), milliseconds(each.at(1)), rounds,
			milliseconds(time.Duration(float64(time.Second)/b.forks))),
		fmt.Sprintf("%s a step; design 2.50", milliseconds(stepBudget)))
	whole, err := b.wavesOf(ctx, s, "fan", fanOf(fan), max(rounds/2, 1))
	if err != nil {
		return err
	}
	b.print(fmt.Sprintf("1 task, then %d at once, then 1", fan),
		fmt.Sprintf("p50 %s, max %s (%d starts of `true` on this machine: %s)", milliseconds(whole.at(0.5)), milliseconds(whole.at(1)), fan+2,
			milliseconds(time.Duration(float64(fan+2)/b.forks*float64(time.Second)))),
		fmt.Sprintf("%s; design 1000", milliseconds(fanBudget)))
	return nil
}

func chainOf(n int) map[string]any {
	tasks := map[string]any{}
	for i := range n {
		task := map[string]any{"timeout": "1m"}
		if i > 0 {
			task["needs"] = []string{"t" + strconv.Itoa(i-1)}
		}
		tasks["t"+strconv.Itoa(i)] = task
	}
	return tasks
}

func fanOf(n int) map[string]any {
	tasks := map[string]any{"first": map[string]any{"timeout": "1m"}}
	var all []string
	for i := range n {
		name := "t" + strconv.Itoa(i)
		all = append(all, name)
		tasks[name] = map[string]any{"needs": []string{"first"}, "timeout": "1m"}
	}
	tasks["last"] = map[string]any{"needs": all, "timeout": "1m"}
	return tasks
}

// wavesOf defines a DAG and runs it some times, after one time that is not counted.
func (b *bench) wavesOf(ctx context.Context, s *server, name string, tasks map[string]any, rounds int) (sample, error) {
	definition := map[string]any{"kind": "DAG", "name": name, "defaults": map[string]any{"binary": "true"}, "tasks": tasks}
	if err := s.call(ctx, http.MethodPost, "/dags", definition, nil); err != nil {
		return nil, err
	}
	var took sample
	for round := range rounds + 1 {
		var wave wire.Wave
		if err := s.call(ctx, http.MethodPost, "/dags/"+name+"/run", map[string]any{}, &wave); err != nil {
			return nil, err
		}
		for !wave.Status.Terminal() {
			if err := sleepUntil(ctx, time.Now().Add(50*time.Millisecond)); err != nil {
				return nil, err
			}
			var page struct{ Items []wire.Wave }
			if err := s.call(ctx, http.MethodGet, "/dags/"+name+"/waves?limit=1", nil, &page); err != nil {
				return nil, err
			}
			wave = page.Items[0]
		}
		if wave.Status.String() != "succeeded" {
			return nil, fmt.Errorf("wave %s is %s: %s", wave.ID, wave.Status, wave.Reason)
		}
		if round > 0 {
			took = append(took, wave.FinishedAt.Sub(wave.StartedAt))
		}
	}
	return took, nil
}
