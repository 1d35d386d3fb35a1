package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// Jobs with which users do something while parts are broken.
const (
	jobEdited  = "edited"  // several, numbered: edited, paused and resumed
	jobBrief   = "brief"   // deleted and made again
	jobLong    = "long"    // run manually and cancelled
	jobFailing = "failing" // run manually, fails, retried
	jobFilled  = "filled"  // one slot a year, backfilled
)

// editedJobs is how many jobs are edited.
const editedJobs = 3

// firstYear is the first one that is backfilled.
const firstYear = 1971

// deeds is what users did, as far as it was acknowledged or may have been done.
type deeds struct {
	mu              sync.Mutex
	lives           []job // with a uid each, of the jobs that users act on and whose slots are not judged
	texts           map[string]string
	pauses          map[string][]span    // by job: from before a pause was asked for until its resumption was acknowledged
	edits           map[string][]span    // by job
	cancelled       map[string]bool      // by run: it was asked for
	retried         map[string]bool      // by run: it was acknowledged
	filled          map[string]bool      // by run: it was acknowledged
	deleteRequested map[string]bool      // by uid: its deletion was asked for
	deleted         map[string]time.Time // by uid: when it was acknowledged, or the job was found gone
	done            map[string]int       // by what
	year            int
}

// defineUsers makes the jobs with which users do something.
func (w *workload) defineUsers(config Config, journal string) string {
	w.deeds = deeds{
		texts: map[string]string{}, pauses: map[string][]span{}, edits: map[string][]span{}, cancelled: map[string]bool{}, retried: map[string]bool{},
		filled: map[string]bool{}, deleteRequested: map[string]bool{}, deleted: map[string]time.Time{}, done: map[string]int{}, year: firstYear,
	}
	var text strings.Builder
	for i := range editedJobs {
		j := job{name: fmt.Sprintf("%s%d", jobEdited, i), period: time.Duration(config.Period) * time.Second, overlap: "allow", catchUp: "none"}
		j.text = fmt.Sprintf("---\nkind: Job\nname: %s\nbinary: witness\nschedule: \"%s * * * * *\"\noverlap: allow\ncatch_up: {policy: none}\nretry: {max_attempts: 3, delay: 200ms}\nenv: {WORK: \"50\", EDIT: \"0\", JOURNAL: %q}\n",
			j.name, seconds(0, config.Period), journal)
		w.jobs = append(w.jobs, j)
		text.WriteString(j.text)
	}
	w.texts[jobBrief] = fmt.Sprintf("---\nkind: Job\nname: %s\nbinary: witness\nschedule: \"* * * * * *\"\noverlap: allow\nretry: {max_attempts: 3, delay: 200ms}\nenv: {WORK: \"50\", JOURNAL: %q}\n", jobBrief, journal)
	w.texts[jobLong] = fmt.Sprintf("---\nkind: Job\nname: %s\nbinary: witness\noverlap: allow\nretry: {max_attempts: 3, delay: 200ms}\nenv: {WORK: \"4000\", JOURNAL: %q}\n", jobLong, journal)
	w.texts[jobFailing] = fmt.Sprintf("---\nkind: Job\nname: %s\nbinary: witness\noverlap: allow\nretry: {max_attempts: 1}\nenv: {WORK: \"50\", FAIL: always-first, JOURNAL: %q}\n", jobFailing, journal)
	w.texts[jobFilled] = fmt.Sprintf("---\nkind: Job\nname: %s\nbinary: witness\nschedule: \"0 0 1 1 *\"\noverlap: allow\nretry: {max_attempts: 3, delay: 200ms}\nenv: {WORK: \"50\", JOURNAL: %q}\n", jobFilled, journal)
	for _, name := range []string{jobBrief, jobLong, jobFailing, jobFilled} {
		text.WriteString(w.texts[name])
	}
	return text.String()
}

// meetUsers reads which jobs these have become, if there are users.
func (w *workload) meetUsers(ctx context.Context, t *testing.T, api *client.Client) {
	t.Helper()
	for name := range w.texts {
		made, err := api.Job(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		w.lives = append(w.lives, job{name: name, overlap: "allow", uid: made.UID, created: made.CreatedAt})
	}
}

// leave lets nothing be due of the jobs that users acted on.
func (w *workload) leave(ctx context.Context, t *testing.T, api *client.Client) {
	t.Helper()
	patiently(ctx, t, "delete "+jobBrief, func(ctx context.Context) error { return w.deleteBrief(ctx, api) })
}

// act lets users do one thing after another until ctx ends, each with the API of another engine, and each again and again
// until it is acknowledged.
func (w *workload) act(ctx context.Context, apis []*client.Client, random *rand.Rand, every time.Duration) {
	var busy sync.WaitGroup
	defer busy.Wait()
	paused := make(chan int, editedJobs) // those that are neither paused nor edited just now
	for i := range editedJobs {
		paused <- i
	}
	brief := make(chan struct{}, 1)
	brief <- struct{}{}
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(spell(random, every/2, 3*every/2)):
		}
		u := &user{w: w, api: apis[n%len(apis)], n: n, holds: spell(random, time.Second, 6*time.Second)}
		switch random.IntN(6) {
		case 0, 1:
			select {
			case i := <-paused:
				name := fmt.Sprintf("%s%d", jobEdited, i)
				edit := random.IntN(2) == 0
				busy.Go(func() {
					if edit {
						u.edit(ctx, name)
					} else {
						u.pause(ctx, name)
					}
					paused <- i
				})
			default:
			}
		case 2:
			busy.Go(func() { u.cancel(ctx) })
		case 3:
			busy.Go(func() { u.retry(ctx) })
		case 4:
			busy.Go(func() { u.backfill(ctx) })
		case 5:
			select {
			case <-brief:
				busy.Go(func() {
					u.delete(ctx)
					brief <- struct{}{}
				})
			default:
			}
		}
	}
}

// user does one thing.
type user struct {
	w     *workload
	api   *client.Client
	n     int
	holds time.Duration // how long a pause or a run lasts
}

// until asks again and again until the answer is yes or ctx ends, and reports whether it was yes.
func (u *user) until(ctx context.Context, do func(context.Context) error) bool {
	for {
		trying, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := do(trying)
		cancel()
		if err == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// note counts what was done.
func (u *user) note(what string, more func()) {
	u.w.mu.Lock()
	defer u.w.mu.Unlock()
	u.w.done[what]++
	more()
}

func (u *user) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(u.holds):
	}
}

// unknownEnd ends a span whose end was not acknowledged: what was asked for may be done at any time.
func unknownEnd() time.Time { return time.Now().Add(time.Hour) }

func (u *user) pause(ctx context.Context, name string) {
	s := span{time.Now().Add(-clockGrain), unknownEnd()}
	acknowledged := u.until(ctx, func(ctx context.Context) error { _, err := u.api.PauseJob(ctx, name, ""); return err })
	if acknowledged {
		u.wait(ctx)
		if u.until(ctx, func(ctx context.Context) error { _, err := u.api.ResumeJob(ctx, name); return err }) {
			s.to = time.Now().Add(recovery)
		}
	}
	u.note("paused and resumed", func() { u.w.pauses[name] = append(u.w.pauses[name], s) })
}

func (u *user) edit(ctx context.Context, name string) {
	s := span{time.Now().Add(-clockGrain), unknownEnd()}
	text := ""
	for _, j := range u.w.jobs {
		if j.name == name {
			text = strings.Replace(j.text, `EDIT: "0"`, fmt.Sprintf("EDIT: \"%d\"", u.n), 1)
		}
	}
	if u.apply(ctx, text) {
		s.to = time.Now().Add(recovery)
	}
	u.note("edited", func() { u.w.edits[name] = append(u.w.edits[name], s) })
}

func (u *user) apply(ctx context.Context, text string) bool {
	return u.until(ctx, func(ctx context.Context) error {
		_, err := u.api.Apply(ctx, []client.File{{Name: "user.yaml", Data: []byte(text)}}, client.ApplyOptions{})
		return err
	})
}

// run starts a job manually and returns the id of its run, "" if it was not acknowledged.
func (u *user) run(ctx context.Context, name string) (id string) {
	u.until(ctx, func(ctx context.Context) error {
		run, err := u.api.RunJob(ctx, name, wire.RunRequest{}, fmt.Sprintf("%s-%d", name, u.n))
		if err == nil {
			id = run.ID
		}
		return err
	})
	return id
}

func (u *user) cancel(ctx context.Context) {
	id := u.run(ctx, jobLong)
	if id == "" {
		return
	}
	u.wait(ctx)
	u.note("cancelled", func() { u.w.cancelled[id] = true })
	trying, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, _ = u.api.CancelRun(trying, id) // it may have ended, or the answer be lost: both are judged alike
}

func (u *user) retry(ctx context.Context) {
	id := u.run(ctx, jobFailing)
	if id == "" {
		return
	}
	ended := u.until(ctx, func(ctx context.Context) error {
		run, err := u.api.Run(ctx, id)
		if err == nil && !run.Status.Terminal() {
			err = errors.New("it has not failed yet")
		}
		return err
	})
	if ended && u.until(ctx, func(ctx context.Context) error {
		_, err := u.api.RetryRun(ctx, id)
		if refused, is := errors.AsType[*client.APIError](err); is && refused.Status < 500 {
			return nil // an earlier try was done and its answer lost: it is not failed any more
		}
		return err
	}) {
		u.note("retried", func() { u.w.retried[id] = true })
	}
}

func (u *user) backfill(ctx context.Context) {
	u.w.mu.Lock()
	year := u.w.year
	u.w.year++
	uid := ""
	for _, j := range u.w.lives {
		if j.name == jobFilled {
			uid = j.uid
		}
	}
	u.w.mu.Unlock()
	slot := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	if u.until(ctx, func(ctx context.Context) error {
		_, err := u.api.Backfill(ctx, jobFilled, wire.BackfillRequest{From: slot, To: slot.Add(time.Hour)})
		return err
	}) {
		u.note("backfilled", func() { u.w.filled[engine.SlotRunID(uid, slot)] = true })
	}
}

func (u *user) delete(ctx context.Context) {
	if !u.until(ctx, func(ctx context.Context) error { return u.w.deleteBrief(ctx, u.api) }) {
		return
	}
	if u.apply(ctx, u.w.texts[jobBrief]) {
		u.until(ctx, func(ctx context.Context) error {
			made, err := u.api.Job(ctx, jobBrief)
			if err == nil {
				u.note("deleted and made again", func() {
					u.w.lives = append(u.w.lives, job{name: jobBrief, overlap: "allow", uid: made.UID, created: made.CreatedAt})
				})
			}
			return err
		})
	}
}

// deleteBrief deletes the job; that it is not there is as good: an earlier try was done, and its answer lost.
func (w *workload) deleteBrief(ctx context.Context, api *client.Client) error {
	made, err := api.Job(ctx, jobBrief)
	if err == nil {
		w.mu.Lock()
		w.deleteRequested[made.UID] = true
		w.mu.Unlock()
		err = api.DeleteJob(ctx, jobBrief, 0)
	}
	if refused, is := errors.AsType[*client.APIError](err); is && refused.Status == http.StatusNotFound {
		err = nil
	}
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		for uid := range w.deleteRequested {
			if w.deleted[uid].IsZero() {
				w.deleted[uid] = time.Now()
			}
		}
	}
	return err
}

// fails reports whether a run was to fail, and no retry of it was acknowledged.
func (w *workload) fails(run wire.Run) bool { return run.Job == jobFailing && !w.retried[run.ID] }

// users checks that what users asked for was done.
func (v *verdict) users() {
	for id := range v.work.retried {
		if run := v.runs[id]; run.Status != engine.StatusSucceeded || run.Attempt < 2 {
			v.t.Errorf("the retry of %s was acknowledged, and it is %s at attempt %d", id, run.Status, run.Attempt)
		}
	}
	for id := range v.work.filled {
		if v.runs[id].Status != engine.StatusSucceeded {
			v.t.Errorf("the backfill of %s was acknowledged, and it is %q", id, v.runs[id].Status)
		}
	}
	for id, run := range v.runs {
		gone, deleted := v.work.deleted[run.JobUID]
		if deleted && run.Slot.After(gone.Add(clockGrain)) && !v.troubled(span{gone, run.Slot}, kindEngine, kindNATS, kindDatabase) {
			v.t.Errorf("%s of %s fired at %s, and its deletion was acknowledged at %s", id, run.Job, run.Slot, gone)
		}
	}
	v.checkedf("users' deeds: %v", v.work.done)
}
