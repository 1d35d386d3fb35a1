package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/secret"
)

const (
	// secretLookups is how many attempts are given their secrets at once.
	secretLookups = 16
	// secretLimit is how long the store may take to give the secrets of one attempt.
	secretLimit = 10 * time.Second
)

// secretGiver adds the sealed values of secrets to tasks as they are published, so that neither the engine's state nor its
// journal holds them. A task without secrets does not come here.
type secretGiver struct {
	vault  *secret.Vault
	slots  chan struct{}
	work   sync.WaitGroup
	ctx    context.Context // ends with run
	cancel context.CancelFunc
}

func newSecretGiver(vault *secret.Vault) *secretGiver {
	g := &secretGiver{vault: vault, slots: make(chan struct{}, secretLookups)}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// run waits until ctx ends and for what is under way then. No task may be given afterwards.
func (g *secretGiver) run(ctx context.Context) error {
	<-ctx.Done()
	g.cancel()
	g.work.Wait()
	return nil
}

// give looks the latest values up and publishes the task with them. It does not wait.
func (g *secretGiver) give(task *engine.Task, publish func(*engine.Task, func(error)), done func(error)) {
	g.work.Go(func() {
		select {
		case g.slots <- struct{}{}:
		case <-g.ctx.Done():
			done(g.ctx.Err())
			return
		}
		err := g.seal(task)
		<-g.slots
		if err != nil {
			done(fmt.Errorf("read the secrets of run %s: %w", task.Run, err))
			return
		}
		publish(task, done)
	})
}

// seal adds the sealed values. Of a task whose secrets cannot be had, however often one asks, it says so in their place.
func (g *secretGiver) seal(task *engine.Task) error {
	ctx, cancel := context.WithTimeout(g.ctx, secretLimit)
	defer cancel()
	task.Sealed = make(map[string][]byte, len(task.Secrets))
	size := 0
	for _, variable := range slices.Sorted(maps.Keys(task.Secrets)) {
		name := task.Secrets[variable]
		sealed, err := g.vault.Sealed(ctx, task.Namespace, name)
		if errors.Is(err, engine.ErrNotFound) {
			task.Refused = fmt.Sprintf("there is no secret %q, which its variable %s takes its value from: "+
				"set it with `tidewheel secret set %s`, or change the definition; then retry the run", name, variable, name)
			break
		}
		if err != nil {
			return err
		}
		task.Sealed[variable] = sealed
		if size += len(sealed); size > engine.MaxSecretBytes {
			task.Refused = fmt.Sprintf("its secrets have more than %d bytes together: keep larger values where the program can fetch them", engine.MaxSecretBytes)
			break
		}
	}
	if task.Refused != "" {
		task.Sealed = nil
	}
	return nil
}
