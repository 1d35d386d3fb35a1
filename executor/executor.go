package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/cache"
	"github.com/tidewheel/tidewheel/executor/process"
	"github.com/tidewheel/tidewheel/internal/logthrottle"
)

// The keys of log records.
const (
	keyRun     = "run"
	keyAttempt = "attempt"
	keyJob     = "job"
	keyError   = "error"
)

// Executor runs attempts. Make one with New.
type Executor struct {
	config   Config
	queue    Queue
	blobs    Blobs
	log      *slog.Logger
	observer Observer
	since    time.Time

	// What Run sets before it pulls.
	base    context.Context // of the attempts: it ends when even reports are given up
	intake  context.Context // ends when no more tasks are taken
	cache   *cache.Cache
	runner  Runner
	folders folders
	host    speaker // nil with a Runner of its own
	// isolation is what keeps programs from this executor and from each other; "" with a Runner of its own.
	isolation process.Isolation
	watch     watch
	// noInputs is the file of $TIDEWHEEL_INPUTS of tasks that are given nothing.
	noInputs string

	hold     chan bool     // to the pull: whether it stands still; only the last word counts
	ordered  chan struct{} // holds one: an order was left
	tries    atomic.Uint64 // counts tasks that were given
	throttle logthrottle.Throttle

	mu      sync.Mutex
	running map[attemptKey]*attempt
	order   *engine.DrainOrder // the last; nil if there was none. It is not changed once it is here
	refused engine.Refusals
}

// folders hands out work folders.
type folders interface {
	TakeFolder() (*process.Folder, error)
	ReturnFolder(*process.Folder) error
}

type attemptKey struct {
	run     string
	attempt int
}

// New makes an executor. observer may be nil. It panics on nothing and starts nothing; Run returns the error of a faulty config.
func New(config Config, queue Queue, blobs Blobs, log *slog.Logger, observer Observer) *Executor {
	config.setDefaults()
	if observer == nil {
		observer = unobserved{}
	}
	return &Executor{
		config: config, queue: queue, blobs: blobs, log: log.With("executor", config.ID), observer: observer,
		since: time.Now().UTC(), running: make(map[attemptKey]*attempt),
		hold: make(chan bool, 1), ordered: make(chan struct{}, 1),
	}
}

type unobserved struct{}

func (unobserved) AttemptStarted(*engine.Task, time.Time)       {}
func (unobserved) AttemptFinished(*engine.Task, *engine.Finish) {}
func (unobserved) BinaryFetched(bool)                           {}
func (unobserved) TaskRefused(engine.RefusalReason)             {}

// Run pulls and executes tasks until ctx ends, and then drains: it takes no more, hands back what has not begun, gives
// the running programs DrainTimeout, ends those that are left, and hands their attempts back, too. It returns when nothing runs any more.
func (e *Executor) Run(ctx context.Context) (err error) {
	if err := e.config.validate(); err != nil {
		return fmt.Errorf("executor: %w", err)
	}
	closeHost, err := e.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeHost()) }()
	// Controls and reports continue while the last programs end.
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.base, e.intake = base, ctx
	pulled := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() { e.present(pulled) })
	beside.Go(func() { e.hear() })
	beside.Go(func() { e.keepSpeaking(pulled) })
	beside.Go(func() { e.drain(pulled, stop) })
	err = e.queue.Pull(ctx, PullConfig{
		Executor: e.config.ID, Tiers: e.config.Tiers, ShareTiers: e.config.ShareTiers, Slots: e.config.Slots, PremiumWeight: e.config.PremiumWeight,
		Labels: e.config.Labels, Hold: e.hold,
	}, e.handle)
	close(pulled)
	stop()
	beside.Wait()
	if err != nil {
		return fmt.Errorf("executor: pull: %w", err)
	}
	return nil
}

// open prepares the machine. What it returns undoes it.
func (e *Executor) open() (undo func() error, err error) {
	var places []string // in the place of folders that programs cannot reach
	defer func() {
		if err == nil {
			return
		}
		for _, place := range places { // unless they hold something: another executor may use them
			_ = os.Remove(place)
		}
	}()
	leave := func() error {
		var errs []error
		for _, place := range places {
			errs = append(errs, process.Leave(place))
		}
		return errors.Join(errs...)
	}
	user := *e.config.RunAs
	if e.config.OwnUsers {
		user = User{UID: nobody, GID: nobody} // who has no more rights than any other
	}
	place := func(what, dir string) (string, error) {
		place, err := process.Place(dir, user.UID, user.GID)
		if err != nil {
			return "", fmt.Errorf("executor: place %s: %w", what, err)
		}
		if sameFolder(place, dir) {
			return place, nil
		}
		e.log.Info("programs cannot reach the "+what+" folder, so another one is used", "folder", dir, "instead", place)
		places = append(places, place)
		return filepath.Join(place, what), nil
	}
	cacheDir, err := place("cache", e.config.CacheDir)
	if err != nil {
		return nil, err
	}
	if e.cache, err = cache.Open(cacheDir, e.config.CacheSize, e.blobs.GetBinary); err != nil {
		return nil, fmt.Errorf("executor: %w", err)
	}
	if e.config.Runner != nil {
		e.runner, e.folders = e.config.Runner, sharedFolder{}
		return leave, nil
	}
	workDir, err := place("work", e.config.WorkDir)
	if err != nil {
		return nil, err
	}
	host, err := process.Open(process.Config{
		Dir: workDir, UID: e.config.RunAs.UID, GID: e.config.RunAs.GID, OwnUsers: e.config.OwnUsers,
		OwnDomains: e.config.OwnDomains, OwnNamespaces: e.config.OwnNamespaces, Closed: e.config.Closed, Readable: []string{cacheDir},
		Guardian: e.config.Guardian, NoCgroups: e.config.NoCgroups, Logger: e.log,
	})
	if err != nil {
		return nil, fmt.Errorf("executor: %w", err)
	}
	if e.noInputs, err = host.Share(noInputsName, []byte("{}\n")); err != nil {
		return nil, errors.Join(fmt.Errorf("executor: %w", err), host.Close())
	}
	e.runner, e.folders, e.host = hostRunner{host}, host, host
	e.isolation = host.Isolation()
	e.tellIsolation(host)
	return func() error { return errors.Join(host.Close(), leave()) }, nil
}

// tellIsolation says in the log what keeps programs apart.
func (e *Executor) tellIsolation(host *process.Host) {
	for _, gap := range host.Gaps() {
		e.log.Warn("this kernel's Landlock does not keep programs from what they could do", "gap", gap)
	}
	switch e.isolation {
	case process.IsolationStrict:
		e.log.Info("each attempt runs in mount, PID and IPC namespaces of its own", "own_users", e.config.OwnUsers)
	case process.IsolationOwnUser:
		e.log.Info("each attempt runs as a user of its own", "processes_of_others_hidden", host.Hides())
	case process.IsolationOwnDomain:
		e.log.Info("each attempt runs in a Landlock domain of its own, as this executor's user", "user", os.Geteuid())
	case process.IsolationSharedUser:
		e.log.Warn("all programs run as one user: they can read each other's files, environments and memory",
			"user", e.config.RunAs.UID, "cure", "start the executor as root without --run-as")
	case process.IsolationNone:
		e.log.Warn("nothing keeps programs from this executor's files, or from each other: they run as its own user and can read its keys and its database",
			"user", os.Geteuid(), "cure", "start it without --sandbox off, use Linux 5.13 or later with Landlock, start the executor as root, or give it the capabilities that docs/deploy.md names")
	}
}

func sameFolder(a, b string) bool {
	b, err := filepath.Abs(b)
	return err == nil && a == b
}

// hostRunner starts real processes.
type hostRunner struct{ host *process.Host }

func (r hostRunner) Start(command process.Command, stdout, stderr io.Writer) (Running, error) {
	started, err := r.host.Start(command, stdout, stderr)
	if err != nil {
		return nil, err
	}
	return started, nil
}

// sharedFolder is for a Runner that starts no processes.
type sharedFolder struct{}

func (sharedFolder) TakeFolder() (*process.Folder, error) {
	return &process.Folder{Path: os.TempDir(), Temp: os.TempDir(), UID: -1, GID: -1}, nil
}
func (sharedFolder) ReturnFolder(*process.Folder) error { return nil }

// drain waits for the end of the intake, and then ends what takes too long.
func (e *Executor) drain(pulled <-chan struct{}, stop func()) {
	select {
	case <-pulled:
		return
	case <-e.intake.Done():
	}
	for _, a := range e.attempts() { // others can begin them at once
		a.handBack(endDrained)
	}
	if !wait(pulled, e.config.DrainTimeout) {
		return
	}
	var grace time.Duration
	for _, a := range e.attempts() {
		e.log.Info("a program is ended because its executor shuts down", keyRun, a.task.Run, keyAttempt, a.task.Attempt, keyJob, a.task.Job)
		grace = max(grace, a.task.Grace)
		a.end(endDrained)
	}
	if wait(pulled, grace+e.config.ReportTimeout) {
		stop()
	}
}

// wait reports whether the time has passed before done is closed.
func wait(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return false
	case <-timer.C:
		return true
	}
}

// attempts lists what runs.
func (e *Executor) attempts() []*attempt {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]*attempt, 0, len(e.running))
	for _, a := range e.running {
		all = append(all, a)
	}
	return all
}
