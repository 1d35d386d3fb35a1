package ui

import (
	"context"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/web/service"
)

const (
	// waveFresh is how old what is shown of a wave may be that has not ended, however many look at it. Deriving it
	// takes a look at each of its runs.
	waveFresh = time.Second
	// waveKept is how long a wave that has ended is taken from memory: it changes only with its revision, but for runs
	// that are not kept any more.
	waveKept   = 5 * time.Minute
	wavesAtOne = 16
)

// waveCache keeps the waves that were looked at last. It is safe for concurrent use; the zero value is ready. Details
// are shared: nobody changes them.
type waveCache struct {
	mu   sync.Mutex
	kept []keptWave // the one looked at longest ago first
}

type keptWave struct {
	detail *service.WaveDetail
	at     time.Time
}

// wave returns a wave with its tasks, from memory where that is fresh enough.
func (u *UI) wave(ctx context.Context, id string) (*service.WaveDetail, error) {
	present, err := u.service.Wave(ctx, namespaceOf(ctx), id)
	if err != nil {
		return nil, err
	}
	now := u.now()
	fresh := waveFresh
	if present.Status.Terminal() {
		fresh = waveKept
	}
	if detail := u.waves.find(id, present.Revision, now.Add(-fresh)); detail != nil {
		return detail, nil
	}
	detail, err := u.service.WaveDetail(ctx, namespaceOf(ctx), id)
	if err != nil {
		return nil, err
	}
	u.waves.keep(detail, now)
	return detail, nil
}

func (w *waveCache) find(id string, revision int64, since time.Time) *service.WaveDetail {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.kept {
		if wave := &w.kept[i].detail.Wave; wave.ID == id && wave.Revision == revision && w.kept[i].at.After(since) {
			return w.kept[i].detail
		}
	}
	return nil
}

func (w *waveCache) keep(detail *service.WaveDetail, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.kept {
		if w.kept[i].detail.Wave.ID == detail.Wave.ID {
			w.kept = append(w.kept[:i], w.kept[i+1:]...)
			break
		}
	}
	w.kept = append(w.kept, keptWave{detail, at})
	if len(w.kept) > wavesAtOne {
		w.kept = append([]keptWave(nil), w.kept[1:]...)
	}
}
