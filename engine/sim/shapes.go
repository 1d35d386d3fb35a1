package sim

import (
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// behaviour is how the programs of a job behave.
type behaviour struct {
	lasts  time.Duration // at most
	fails  float64
	codes  []int
	hangs  float64 // runs past its timeout
	lately bool    // most attempts are short, few are long
}

// zones have their clocks changed at the instants in which worlds begin.
var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Dhaka", "Australia/Lord_Howe"}

// changes are instants shortly before a clock changes somewhere, and two at which nothing happens.
var changes = []time.Time{
	time.Date(2026, 3, 29, 0, 59, 0, 0, time.UTC), time.Date(2026, 10, 25, 0, 59, 0, 0, time.UTC),
	time.Date(2026, 3, 8, 6, 59, 0, 0, time.UTC), time.Date(2026, 11, 1, 5, 59, 0, 0, time.UTC),
	time.Date(2026, 4, 4, 14, 59, 0, 0, time.UTC), time.Date(2026, 10, 3, 15, 29, 0, 0, time.UTC),
	time.Date(2026, 6, 17, 12, 0, 0, 0, time.UTC), time.Date(2026, 12, 31, 23, 59, 0, 0, time.UTC),
}

// shape draws a definition.
func (u *users) shape(jobName string) *spec.Job {
	w := u.w
	j := &spec.Job{Name: jobName, Binary: pick(w, "tool@stable", "tool@stable", "tool", "tool@1"), Timezone: pick(w, zones...)}
	now := w.wall()
	switch w.random.IntN(12) {
	case 0, 1:
		j.Schedule = spec.Strings{"* * * * * *"}
	case 2, 3:
		j.Schedule = spec.Strings{"*/5 * * * * *"}
	case 4:
		j.Schedule = spec.Strings{"* * * * *"}
	case 5: // the hours are fixed, so that a gap moves slots and a repeat does not repeat them
		local := now.In(mustZone(j.Timezone))
		j.Schedule = spec.Strings{fmt.Sprintf("*/7 * %d,%d,%d * * *", local.Hour(), (local.Hour()+1)%24, (local.Hour()+2)%24)}
	case 6:
		j.Schedule = spec.Strings{"*/6 * * * * *", "*/10 * * * * *"}
	case 7, 8:
		j.Every = spec.Duration(pick(w, time.Second, 2*time.Second, 5*time.Second, 13*time.Second))
	case 9:
		j.After = spec.Duration(pick(w, time.Second, 3*time.Second, 8*time.Second))
	case 10:
		at := now.Add(w.between(0, 40*time.Second)).Truncate(time.Millisecond)
		j.At = &at
	case 11: // manually only
	}
	j.Overlap = pick(w, spec.OverlapSkip, spec.OverlapSkip, spec.OverlapQueue, spec.OverlapAllow, spec.OverlapReplace)
	j.CatchUp = spec.CatchUp{
		Policy: pick(w, spec.CatchUpNone, spec.CatchUpLast, spec.CatchUpAll), Window: spec.Duration(pick(w, 15*time.Second, time.Minute, time.Hour)),
	}
	j.Delivery = pick(w, spec.DeliveryAtLeastOnce, spec.DeliveryAtLeastOnce, spec.DeliveryAtMostOnce)
	j.Retry = spec.Retry{
		MaxAttempts: pick(w, 1, 1, 2, 4), Delay: spec.Duration(pick(w, 100*time.Millisecond, time.Second, 5*time.Second)),
		MaxDelay: spec.Duration(8 * time.Second),
	}
	if w.odds(0.2) {
		j.Retry.On, j.Retry.NotOn = []int{64}, []int{1}
	}
	j.Timeout = spec.Duration(pick(w, 2*time.Second, 10*time.Second, 10*time.Second, 40*time.Second, 5*time.Minute))
	j.Tier = pick(w, "", "", spec.TierLight, spec.TierMedium, spec.TierHeavy)
	j.Class = pick(w, spec.ClassStandard, spec.ClassPremium)
	if w.odds(0.15) {
		from := now.Add(w.between(-10*time.Second, 40*time.Second)).Truncate(time.Millisecond)
		j.Exclude = append(j.Exclude, spec.Exclusion{From: from, To: from.Add(w.between(time.Second, 20*time.Second)).Truncate(time.Millisecond)})
	}
	if w.odds(0.1) && j.Every == 0 && j.After == 0 && j.At == nil && len(j.Schedule) > 0 {
		j.Exclude = append(j.Exclude, spec.Exclusion{Cron: "0,5,30 * * * * *"})
	}
	if w.odds(0.1) && j.At == nil {
		from, until := now.Add(w.between(-time.Minute, 20*time.Second)), now.Add(w.between(30*time.Second, 3*time.Minute))
		j.Active = &spec.Window{From: &from, Until: &until}
	}
	j.ApplyDefaults()
	return j
}

func mustZone(zone string) *time.Location {
	location, err := time.LoadLocation(zone)
	if err != nil {
		return time.UTC
	}
	return location
}

func (u *users) drawBehaviour(j *spec.Job) behaviour {
	w := u.w
	b := behaviour{
		lasts: pick(w, 0, 50*time.Millisecond, 400*time.Millisecond, 1500*time.Millisecond, 4*time.Second, 30*time.Second),
		fails: pick(w, 0, 0, 0.15, 0.6),
		codes: []int{1, 75, 64, engine.ExitTimeout, 2},
		hangs: pick(w, 0, 0, 0.05),
	}
	b.lately = b.lasts > time.Second && w.odds(0.5)
	if j.Overlap == spec.OverlapQueue || j.CatchUp.Policy == spec.CatchUpAll {
		b.lasts = min(b.lasts, 1500*time.Millisecond) // what piles up is worked off before the world ends
	}
	return b
}

// behaviour draws how long an attempt runs and how it ends.
func (u *users) behaviour(task *engine.Task) (time.Duration, int) {
	w := u.w
	if m := u.dagByUID[task.JobUID]; m != nil {
		return m.behaviour.draw(w)
	}
	b := u.byUID[task.JobUID].behaviour
	lasts, code := w.between(0, b.lasts), 0
	if b.lately && w.odds(0.8) {
		lasts /= 10
	}
	if w.odds(b.fails) {
		code = pick(w, b.codes...)
	}
	if w.odds(b.hangs) {
		lasts = time.Hour
	}
	return lasts, code
}
