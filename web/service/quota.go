package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

const (
	// countsKnown is for how long the counts of runs answer for engines.
	countsKnown = time.Second
	// queuedRetry is when it makes sense to ask again for a run that a bound on queued runs has refused.
	queuedRetry = 10 * time.Second
	// binariesPerRead is how many binaries are read at a time to count their bytes.
	binariesPerRead = 200
)

// Usage is what a namespace uses of what its quota bounds.
type Usage struct {
	Jobs        int64            // jobs and DAGs
	Runs        *engine.RunCount // nil: what engines report cannot be read
	StoredBytes int64            // of the versions of its binaries, equal ones each, and of what its runs have in S3
}

// quotas remember what is counted towards the quotas of namespaces.
type quotas struct {
	saving sync.Mutex // held from counting definitions and bytes until what is saved counts too, where there is a bound

	mu      sync.Mutex
	at      time.Time
	runs    map[string]engine.RunCount // as engines reported at that time; nil: never
	asked   map[string]int             // runs and waves that this node has taken since
	submits map[string]*rate.Limiter
}

// quotaOf returns the quota of a namespace.
func (s *Service) quotaOf(ctx context.Context, namespace string) (access.Quota, error) {
	found, err := s.namespaces.Get(ctx, namespace)
	if err != nil && !errors.Is(err, engine.ErrNotFound) { // the namespace default has no record until it is described
		return access.Quota{}, fmt.Errorf("read the quota of namespace %s: %w", namespace, err)
	}
	return found.Quota, nil
}

// UsageOf counts what a namespace uses.
func (s *Service) UsageOf(ctx context.Context, namespace string) (usage Usage, err error) {
	if usage.Jobs, err = s.countDefinitions(ctx, namespace); err != nil {
		return usage, err
	}
	if usage.StoredBytes, err = s.countStored(ctx, namespace); err != nil {
		return usage, err
	}
	s.quotas.mu.Lock()
	defer s.quotas.mu.Unlock()
	if s.countRuns(ctx) {
		runs := s.quotas.runs[namespace]
		usage.Runs = &runs
	}
	return usage, nil
}

func (s *Service) countDefinitions(ctx context.Context, namespace string) (int64, error) {
	jobs, err := s.store.Jobs().Count(ctx, namespace)
	if err != nil {
		return 0, err
	}
	dags, err := s.store.DAGs().Count(ctx, namespace)
	return jobs + dags, err
}

func (s *Service) countStored(ctx context.Context, namespace string) (int64, error) {
	binaries, err := BinaryBytes(ctx, s.store, namespace)
	if err != nil {
		return 0, err
	}
	runs, err := s.runBytes.Of(ctx, namespace)
	return binaries + runs, err
}

// BinaryLister lists the binaries of a namespace by pages, as a Store does.
type BinaryLister interface {
	Binaries(ctx context.Context, namespace, cursor string, limit int) (binaries []engine.Binary, next string, err error)
}

// BinaryBytes adds up the bytes of all versions of the binaries of a namespace.
func BinaryBytes(ctx context.Context, store BinaryLister, namespace string) (bytes int64, err error) {
	for cursor := ""; ; {
		binaries, next, err := store.Binaries(ctx, namespace, cursor, binariesPerRead)
		if err != nil {
			return 0, fmt.Errorf("count the bytes of binaries: %w", err)
		}
		for i := range binaries {
			for _, version := range binaries[i].Versions {
				bytes += version.Size
			}
		}
		if cursor = next; next == "" {
			return bytes, nil
		}
	}
}

// countRuns reads what engines report of runs, unless it is known; false: it cannot be read. The caller holds the lock.
func (s *Service) countRuns(ctx context.Context) bool {
	q := &s.quotas
	if age := s.now().Sub(q.at); q.runs != nil && age >= 0 && age <= countsKnown {
		return true
	}
	engines, err := s.presentEngines(ctx)
	if err != nil {
		s.log.Warn("what engines report cannot be read: queued runs are not counted", "error", err)
		return false
	}
	q.at, q.runs, q.asked = s.now(), map[string]engine.RunCount{}, map[string]int{}
	for i := range engines {
		for namespace, count := range engines[i].Namespaces {
			q.runs[namespace] = q.runs[namespace].Add(count)
		}
	}
	return true
}

// overQuota returns an error that a bound is reached, and who can change it.
func overQuota(kind Kind, code, namespace, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Detail: fmt.Sprintf("namespace %q ", namespace) + fmt.Sprintf(format, args...) +
		fmt.Sprintf(", or ask an admin of all namespaces for more (`tidewheel namespace set %s`)", namespace)}
}

// mayDefine refuses more definitions than the namespace may have. What is saved until done is called counts for the next one.
func (s *Service) mayDefine(ctx context.Context, namespace string, more int64) (done func(), err error) {
	quota, err := s.quotaOf(ctx, namespace)
	if err != nil || quota.Jobs == 0 || more == 0 {
		return func() {}, err
	}
	s.quotas.saving.Lock()
	used, err := s.countDefinitions(ctx, namespace)
	if err == nil && used+more > quota.Jobs {
		err = overQuota(KindForbidden, "quota_jobs", namespace, "has %d jobs and DAGs, and may have %d: %d more cannot be saved. Delete some", used, quota.Jobs, more)
	}
	if err != nil {
		s.quotas.saving.Unlock()
		return nil, err
	}
	return s.quotas.saving.Unlock, nil
}

// mayDefineAll refuses documents of which more are new than the namespace may have.
func (s *Service) mayDefineAll(ctx context.Context, namespace string, documents []spec.Document) error {
	quota, err := s.quotaOf(ctx, namespace)
	if err != nil || quota.Jobs == 0 {
		return err
	}
	var more int64
	for _, document := range documents {
		if document.DAG != nil {
			_, err = s.store.DAGs().Get(ctx, namespace, document.Name())
		} else {
			_, err = s.store.Jobs().Get(ctx, namespace, document.Name())
		}
		switch {
		case errors.Is(err, engine.ErrNotFound):
			more++
		case err != nil:
			return fmt.Errorf("look for %s %s: %w", noun(document), document.Name(), err)
		}
	}
	done, err := s.mayDefine(ctx, namespace, more)
	if err == nil {
		done()
	}
	return err
}

// maySubmit refuses runs, or waves, that are triggered manually in a namespace that has too many waiting, or that asks too often. now is
// how many of them would wait at once. Slots are not refused: they go by their schedule.
func (s *Service) maySubmit(ctx context.Context, namespace string, now int) error {
	quota, err := s.quotaOf(ctx, namespace)
	if err != nil || quota.Queued == 0 && quota.SubmitsPerSecond == 0 {
		return err
	}
	q := &s.quotas
	q.mu.Lock()
	defer q.mu.Unlock()
	if quota.Queued > 0 && int64(now) > quota.Queued {
		return overQuota(KindForbidden, "quota_queued", namespace, "may have %d runs that wait, and this asks for %d at once: ask for fewer at a time", quota.Queued, now)
	}
	if quota.Queued > 0 && now > 0 && s.countRuns(ctx) { // else the store keeps what is asked for, or says itself that it is unavailable
		if waiting := q.runs[namespace].Waiting + q.asked[namespace]; int64(waiting+now) > quota.Queued {
			refused := overQuota(KindBusy, "quota_queued", namespace, "has %d runs that wait, and may have %d: try again once some have begun", waiting, quota.Queued)
			refused.RetryAfter = queuedRetry
			return refused
		}
	}
	if wait := q.submit(namespace, quota.SubmitsPerSecond, s.now()); wait > 0 {
		refused := overQuota(KindBusy, "quota_submits", namespace, "may ask for %d runs a second: wait a moment and try again", quota.SubmitsPerSecond)
		refused.RetryAfter = wait
		return refused
	}
	if q.asked != nil {
		q.asked[namespace] += now
	}
	return nil
}

// waitsNow returns how many runs wait at once of one that is asked for: one that is for later waits for no executor yet.
func waitsNow(now bool) int {
	if now {
		return 1
	}
	return 0
}

// submit counts a request for a run, and returns how long it has to wait before it may be made, 0 if it may now. A second's worth of
// requests may come at once.
func (q *quotas) submit(namespace string, perSecond int64, now time.Time) time.Duration {
	if perSecond == 0 {
		delete(q.submits, namespace)
		return 0
	}
	limiter := q.submits[namespace]
	if limiter == nil || limiter.Burst() != int(perSecond) {
		limiter = rate.NewLimiter(rate.Limit(perSecond), int(perSecond))
		if q.submits == nil {
			q.submits = map[string]*rate.Limiter{}
		}
		q.submits[namespace] = limiter
	}
	asked := limiter.ReserveN(now, 1)
	wait := asked.DelayFrom(now)
	if wait > 0 {
		asked.CancelAt(now)
	}
	return wait
}

// roomFor returns how large an upload may be, in bytes. It refuses one that certainly has no room. What is stored already needs none.
func (s *Service) roomFor(ctx context.Context, namespace, name string, how *Upload) (room int64, err error) {
	quota, err := s.quotaOf(ctx, namespace)
	if err != nil || quota.StoredBytes == 0 {
		return s.config.MaxBinary, err
	}
	if how.SHA256 != "" {
		stored, err := s.store.Binary(ctx, namespace, name)
		if latest, is := stored.Latest(); err == nil && is && latest.SHA256 == how.SHA256 {
			return s.config.MaxBinary, nil
		}
	}
	used, err := s.countStored(ctx, namespace)
	if err != nil {
		return 0, err
	}
	if room = max(quota.StoredBytes-used, 0); room == 0 || how.Size > room {
		return 0, noRoom(namespace, room)
	}
	return min(room, s.config.MaxBinary), nil
}

// mayStore refuses more bytes than a namespace may store. What is saved until done is called counts for the next one.
func (s *Service) mayStore(ctx context.Context, namespace string, more int64) (done func(), err error) {
	quota, err := s.quotaOf(ctx, namespace)
	if err != nil || quota.StoredBytes == 0 || more == 0 {
		return func() {}, err
	}
	s.quotas.saving.Lock()
	used, err := s.countStored(ctx, namespace)
	if err == nil && used+more > quota.StoredBytes {
		err = noRoom(namespace, max(quota.StoredBytes-used, 0))
	}
	if err != nil {
		s.quotas.saving.Unlock()
		return nil, err
	}
	return s.quotas.saving.Unlock, nil
}

// noRoom returns an error that an upload is larger than what a namespace may still store, in bytes.
func noRoom(namespace string, room int64) error {
	return overQuota(KindForbidden, "quota_stored_bytes", namespace,
		"may store %s more, and the upload is larger: delete binaries that nothing uses, wait until older runs go with their artifacts",
		spec.Size(room))
}
