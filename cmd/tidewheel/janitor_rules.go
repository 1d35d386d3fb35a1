package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// ownSettled is how long a run or a wave is kept after its end, however many are newer.
const ownSettled = 10 * time.Minute

// ownRule is the retention of a job or a DAG, without what it leaves to its namespace.
type ownRule struct {
	uid, namespace string
	dag            bool
	keep           spec.Retention
}

// ageClass is some namespaces whose history is kept for the same time.
type ageClass struct {
	age          time.Duration
	only, except []string      // namespaces; in the class of the server's default only those without an age are
	longer       []string      // uids of jobs and DAGs in them that ask for more
	most         time.Duration // the most that one of these asks for
}

// key distinguishes the classes.
func (c *ageClass) key() string { return fmt.Sprint(" ", c.age, c.only) }

// expiry returns what goes of a class at an instant.
func (c *ageClass) expiry(now time.Time) engine.Expiry {
	return engine.Expiry{Before: now.Add(-c.age), Namespaces: c.only, Except: c.except, Longer: c.longer}
}

// rules are what namespaces, jobs and DAGs say about retention.
type rules struct {
	namespaces map[string]spec.Retention
	own        []ownRule
	byUID      map[string]spec.Retention // of own
	classes    []ageClass
}

// readRules reads what namespaces and definitions say about retention. Where none says anything it costs a look at the
// namespaces, and one at each of two indexes that are empty.
func (j *janitor) readRules(ctx context.Context) (*rules, error) {
	known, err := j.namespaces.List(ctx)
	if err != nil {
		return nil, err
	}
	found := &rules{namespaces: map[string]spec.Retention{}, byUID: map[string]spec.Retention{}}
	for i := range known {
		if keep := known[i].Retention; keep != (spec.Retention{}) {
			found.namespaces[known[i].Name] = keep
		}
	}
	add := func(rule ownRule) error {
		found.own, found.byUID[rule.uid] = append(found.own, rule), rule.keep
		return nil
	}
	filter := engine.DefinitionFilter{Retaining: true, Limit: janitorBatch}
	if err := eachRule(ctx, j.store.Jobs(), filter, add); err != nil {
		return nil, fmt.Errorf("read the retention of jobs: %w", err)
	}
	filter.Limit = dagsAtOnce
	if err := eachRule(ctx, j.store.DAGs(), filter, add); err != nil {
		return nil, fmt.Errorf("read the retention of DAGs: %w", err)
	}
	found.classes = found.sorted(j.keep.History)
	return found, nil
}

// eachRule calls for the retention of all definitions that a filter finds, also of those that say nothing.
func eachRule[S engine.Spec](ctx context.Context, of engine.Definitions[S], filter engine.DefinitionFilter, each func(ownRule) error) error {
	for {
		definitions, next, err := of.List(ctx, filter)
		if err != nil {
			return err
		}
		for i := range definitions {
			d := &definitions[i]
			_, dag := any(&d.Spec).(*spec.DAG)
			if err := each(ownRule{uid: d.UID, namespace: d.Namespace, dag: dag, keep: d.Retention()}); err != nil {
				return err
			}
		}
		if filter.Cursor = next; next == "" {
			return nil
		}
	}
}

// sorted puts the namespaces into classes by the age of their history; server is that of those that do not say.
func (r *rules) sorted(server time.Duration) (classes []ageClass) {
	ages := map[time.Duration][]string{}
	var except []string
	for _, name := range slices.Sorted(maps.Keys(r.namespaces)) {
		if age := time.Duration(r.namespaces[name].Age); age > 0 {
			ages[age] = append(ages[age], name)
			except = append(except, name)
		}
	}
	if server > 0 {
		classes = append(classes, ageClass{age: server, except: except})
	}
	for _, age := range slices.Sorted(maps.Keys(ages)) {
		classes = append(classes, ageClass{age: age, only: ages[age]})
	}
	for i := range classes {
		class := &classes[i]
		for _, rule := range r.own {
			inside := !slices.Contains(class.except, rule.namespace) && (len(class.only) == 0 || slices.Contains(class.only, rule.namespace))
			if inside && time.Duration(rule.keep.Age) > class.age {
				class.longer, class.most = append(class.longer, rule.uid), max(class.most, time.Duration(rule.keep.Age))
			}
		}
	}
	return classes
}

// age is how long the history of a definition is kept, 0 for ever.
func (r *rules) age(namespace string, own spec.Retention, server time.Duration) time.Duration {
	return cmp.Or(time.Duration(own.Or(r.namespaces[namespace]).Age), server)
}

// outputAge is how long what a run has in S3 is kept, 0 as long as the run.
func (r *rules) outputAge(run *engine.Run, server time.Duration) time.Duration {
	return cmp.Or(time.Duration(r.byUID[run.JobUID].Or(r.namespaces[run.Namespace]).Output), server)
}

// remove reports whether any history is ever removed.
func (r *rules) remove(server time.Duration) bool {
	return server > 0 || len(r.namespaces)+len(r.own) > 0
}

// longest is the longest age that any rule names, 0 without one.
func (r *rules) longest(server time.Duration) time.Duration {
	for _, keep := range r.namespaces {
		server = max(server, time.Duration(keep.Age))
	}
	for i := range r.own {
		server = max(server, time.Duration(r.own[i].keep.Age))
	}
	return server
}

// retentionProgress is how far the documents of the classes were looked at. Those that are kept longer than their class are then not
// looked at again and again. All are once a day, and when a rule has changed.
type retentionProgress struct {
	classes []ageClass
	since   time.Time
	came    map[string]time.Time // by what, of which class
}

// begin begins a pass over classes.
func (p *retentionProgress) begin(classes []ageClass, now time.Time) {
	if now.Sub(p.since) >= sweepEvery || !reflect.DeepEqual(p.classes, classes) {
		*p = retentionProgress{classes: classes, since: now, came: map[string]time.Time{}}
	}
}

// expireOwn removes what the retention of jobs and DAGs, and the number of runs that namespaces keep, take of this node's shards.
func (j *janitor) expireOwn(ctx context.Context, found *rules) error {
	removed, busy := 0, time.Duration(0)
	defer func() {
		if removed > 0 {
			j.log.Info("removed runs by the retention of their jobs, DAGs and namespaces", "runs", removed)
		}
	}()
	one := func(rule ownRule) error {
		if !j.owns(engine.ShardOf(rule.uid)) {
			return nil
		}
		began := time.Now()
		n, err := j.expireRule(ctx, &rule, found)
		removed += n
		if busy += time.Since(began); err != nil || busy < 5*time.Millisecond {
			return err
		}
		pause := j.breath(busy, false)
		busy = 0
		return j.pauseFor(ctx, pause)
	}
	for _, rule := range found.own {
		if err := one(rule); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found.namespaces)) {
		if found.namespaces[name].Runs == 0 {
			continue
		}
		others := func(rule ownRule) error {
			if rule.keep != (spec.Retention{}) {
				return nil // it is among found.own
			}
			return one(rule)
		}
		filter := engine.DefinitionFilter{Namespace: name, Limit: janitorBatch}
		if err := eachRule(ctx, j.store.Jobs(), filter, others); err != nil {
			return err
		}
		filter.Limit = dagsAtOnce
		if err := eachRule(ctx, j.store.DAGs(), filter, others); err != nil {
			return err
		}
	}
	return nil
}

// wavesAtOnce is how many waves of a DAG go at a time, each with all of its runs.
const wavesAtOnce = 20

// expireRule removes what the retention of one job or DAG takes, and returns how many runs.
func (j *janitor) expireRule(ctx context.Context, rule *ownRule, found *rules) (removed int, err error) {
	now := j.now()
	what := engine.OwnExpiry{Newest: rule.keep.Or(found.namespaces[rule.namespace]).Runs, Settled: now.Add(-ownSettled)}
	if age := time.Duration(rule.keep.Age); age > 0 {
		what.Before = now.Add(-age)
	}
	if what.Newest == 0 && what.Before.IsZero() {
		return 0, nil // it says only how long output is kept
	}
	for {
		began := time.Now()
		var runs engine.ExpiredRuns
		var count int
		if rule.dag {
			waves, failed := j.store.ExpireWavesOf(ctx, rule.uid, what, wavesAtOnce)
			runs, count, err = waves.Runs, waves.Count, failed
			j.metrics.expired.WithLabelValues("wave").Add(float64(count))
		} else {
			runs, err = j.store.ExpireRunsOf(ctx, rule.uid, what, j.batch)
			count = runs.Count
		}
		j.removedRuns(ctx, &runs)
		removed += runs.Count
		if err != nil || count == 0 {
			return removed, err
		}
		if err := j.pauseFor(ctx, j.breath(time.Since(began), false)); err != nil {
			return removed, err
		}
	}
}
