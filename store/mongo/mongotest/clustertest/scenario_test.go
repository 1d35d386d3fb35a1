package clustertest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/engine"
)

const (
	// leaseTTL is how long the shards of an engine that died stay without one at most, and a second more.
	leaseTTL = 5 * time.Second
	// inTime is how late a program may begin to be in time on a busy machine.
	inTime = 2 * time.Second
	// backLimit is how soon after a fault programs are to begin in time again.
	backLimit = 10 * time.Second
	// standstill is how long nodes take to notice that the server they are connected to is suspended.
	standstill = 6 * time.Second
	// busy is what a machine with much other work may add to a limit.
	busy = 50 * time.Second
)

// outage is how long something is unavailable.
func outage() time.Duration {
	if *long {
		return 30 * time.Second
	}
	return 4 * time.Second
}

// scenario is one part that is broken, and mended.
type scenario struct {
	name string
	run  func(*testing.T, *load)
}

func (c *cluster) scenarios(ctx context.Context) []scenario {
	return []scenario{
		{"the engine with the most shards is killed", c.killOwner},
		{"a NATS server is killed", c.killNATS},
		{"the database stands still", c.stopMongo},
		{"the database breaks all connections", func(*testing.T, *load) { c.disconnect(ctx, time.Second) }},
		{"S3 is away", c.stopS3},
		{"an engine is added", c.addEngine},
		{"an executor is drained", c.drainExecutor},
		{"everything is restarted, one by one", c.restartAll},
		{"an earlier version works beside this one", c.mixVersions},
		{"a NATS server stands still", c.stopNATS},
		{"streams and task queues change their leaders", c.changeLeaders},
	}
}

// shortForm are the scenarios of -short-form, as -only names them.
const shortForm = "1,2,8,9,11"

// chosen are those that -only names, in its order.
func chosen(t *testing.T, all []scenario) []scenario {
	t.Helper()
	if *short {
		*only = shortForm
	}
	if *only == "" {
		return all
	}
	var list []scenario
	for text := range strings.SplitSeq(*only, ",") {
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 || number > len(all) {
			t.Fatalf("-only %s: use numbers from 1 to %d", *only, len(all))
		}
		list = append(list, all[number-1])
	}
	return list
}

// TestCluster breaks the parts of one cluster, one after the other, under load. Afterwards each must be in time again;
// at the end nothing may be lost and nothing done twice.
func TestCluster(t *testing.T) {
	c := newCluster(t)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	apis := []*client.Client{c.api(c.webs[0]), c.api(c.webs[1])}
	c.awaitShards(t, c.engines...)
	work := newLoad(newJournal(t, c.happens), *rate)
	stop := work.begin(ctx, t, apis)
	c.catchUp = inTime // until it is measured
	c.awaitInTime(t, work, "the first slots", time.Now())
	c.measureCatchUp(ctx, t, work, apis[0])
	for _, scenario := range chosen(t, c.scenarios(ctx)) {
		if !t.Run(scenario.name, func(t *testing.T) {
			scenario.run(t, work)
			c.awaitInTime(t, work, scenario.name, time.Now())
		}) {
			break
		}
	}
	stop()
	work.end(ctx, t, apis[1])
	ending, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	settle(ending, t, apis[0])
	judge(ctx, t, work, apis[0])
}

// measureCatchUp finds out how long this machine takes, with nothing broken, to make up for as many slots as a fault may
// hold up: all jobs are paused for that long, and resumed. Twice that is what a fault's recovery may take beyond what
// is promised, for the same work has to be done then.
func (c *cluster) measureCatchUp(ctx context.Context, t *testing.T, l *load, api *client.Client) {
	t.Helper()
	l.each(ctx, t, "pause", func(ctx context.Context, j *job) error { _, err := api.PauseJob(ctx, j.name, ""); return err })
	<-time.After(backLimit)
	l.each(ctx, t, "resume", func(ctx context.Context, j *job) error { _, err := api.ResumeJob(ctx, j.name); return err })
	c.catchUp = max(c.backInTime(t, l, "a pause of all jobs", time.Now(), startLimit), inTime)
}

// awaitInTime returns once every job is in time, and has been since a while after a fault: each slot that is due has
// begun, and within inTime. What counts is how long after the fault the last program began late.
func (c *cluster) awaitInTime(t *testing.T, l *load, what string, since time.Time) {
	t.Helper()
	c.awaitInTimeWithin(t, l, what, since, backLimit)
}

func (c *cluster) awaitInTimeWithin(t *testing.T, l *load, what string, since time.Time, limit time.Duration) {
	t.Helper()
	if !*strict && !*long {
		limit += 2 * c.catchUp
	}
	if back := c.backInTime(t, l, what, since, limit+busy); back > limit {
		t.Errorf("after %s it took %s, more than %s", what, back.Round(time.Millisecond), limit)
	}
}

// backInTime returns how long after an instant the last program began late.
func (c *cluster) backInTime(t *testing.T, l *load, what string, since time.Time, limit time.Duration) (back time.Duration) {
	t.Helper()
	<-time.After(time.Until(since.Add(period + inTime))) // before that a fault need not show
	late := func() (jobs []string) {
		due := time.Now().Add(-period - inTime)
		for i := range l.jobs {
			name := l.jobs[i].name
			if last := l.journal.latest[name]; last.slot.Before(due) || last.late > inTime {
				jobs = append(jobs, fmt.Sprintf("%s, whose slot %s began %s late", name, last.slot.Format(time.TimeOnly), last.late))
			}
		}
		return jobs
	}
	if !c.happens.within(time.Until(since.Add(limit)), func() bool { return len(late()) == 0 }) {
		c.happens.look(func() {
			if jobs := late(); len(jobs) > 0 {
				t.Fatalf("%s after %s, %d jobs of %d are late, such as %s", limit, what, len(jobs), len(l.jobs), jobs[0])
			}
		})
	}
	c.happens.look(func() { back = max(l.journal.late.Sub(since), 0) })
	t.Logf("after %s: every job began in time again from %s on", what, back.Round(time.Millisecond))
	return back
}

// awaitShards returns once these engines own all shards, evenly.
func (c *cluster) awaitShards(t *testing.T, engines ...*node) {
	t.Helper()
	least, most := engine.Shards/len(engines), (engine.Shards+len(engines)-1)/len(engines)
	c.happens.await(t, fmt.Sprintf("%d engines to share the shards evenly", len(engines)), startLimit, func() bool {
		sum := 0
		for _, e := range engines {
			if e.life.shards < least || e.life.shards > most {
				return false
			}
			sum += e.life.shards
		}
		return sum == engine.Shards
	})
}

func (c *cluster) killOwner(t *testing.T, l *load) {
	owner, other := c.engines[0], c.engines[1]
	c.happens.look(func() {
		if other.life.shards > owner.life.shards {
			owner, other = other, owner
		}
	})
	l.journal.awaitStarts(t, *rate)
	killed := time.Now()
	owner.kill()
	c.happens.await(t, "its shards to be taken over", leaseTTL+time.Second+busy, func() bool { return other.life.shards == engine.Shards })
	c.happens.look(func() { t.Logf("its shards had an owner after %s", other.life.at.Sub(killed).Round(time.Millisecond)) })
	c.awaitInTime(t, l, "the take-over", time.Now())
	owner.start()
	c.awaitShards(t, c.engines...)
}

func (c *cluster) killNATS(t *testing.T, l *load) {
	victim := c.busiestNATS(t)
	killed := time.Now()
	victim.kill()
	c.awaitInTime(t, l, "the loss of a NATS server", killed)
	victim.start()
}

// stopNATS lets a server stand still: unlike one that died it closes no connection.
func (c *cluster) stopNATS(t *testing.T, l *load) {
	victim := c.busiestNATS(t)
	stopped := time.Now()
	victim.signal(syscall.SIGSTOP)
	c.awaitInTimeWithin(t, l, "a NATS server has come to a standstill", stopped, backLimit+standstill)
	victim.signal(syscall.SIGCONT)
}

// changeLeaders lets every leader step down, three times in a row: nothing dies, and each question is asked of a server
// that does not lead any more.
func (c *cluster) changeLeaders(t *testing.T, l *load) {
	changed := 0
	for range 3 {
		changed += c.stepDown(t)
		l.journal.awaitStarts(t, *rate)
	}
	if changed == 0 {
		t.Error("no leader has changed")
	}
	t.Logf("leaders stepped down %d times", changed)
}

func (c *cluster) stopMongo(t *testing.T, _ *load) {
	c.mongo.signal(syscall.SIGSTOP)
	<-time.After(outage())
	c.mongo.signal(syscall.SIGCONT)
}

func (c *cluster) stopS3(*testing.T, *load) {
	c.s3.stop()
	<-time.After(outage())
	c.s3.start()
}

func (c *cluster) addEngine(t *testing.T, _ *load) {
	third := c.engine("engine-3")
	third.start()
	c.engines = append(c.engines, third)
	c.awaitShards(t, c.engines...)
}

func (c *cluster) drainExecutor(*testing.T, *load) {
	fresh := c.executor("light-2", "light")
	fresh.start()
	c.executors[0].stop()
	c.executors[0] = fresh
}

// restartAll restarts the nodes with another of their kind first, as one who installs a new version does.
func (c *cluster) restartAll(t *testing.T, l *load) {
	for i, e := range c.engines {
		e.stop()
		left := time.Now()
		c.happens.await(t, "the others to share its shards", leaseTTL+busy, func() bool {
			sum := 0
			for n, other := range c.engines {
				if n != i {
					sum += other.life.shards
				}
			}
			return sum == engine.Shards
		})
		t.Logf("%s's shards had owners %s after its end", e.name, time.Since(left).Round(time.Millisecond))
		e.start()
		c.awaitShards(t, c.engines...)
	}
	for _, nodes := range [][]*node{c.executors, c.webs, c.nats, {c.s3}} {
		for _, n := range nodes {
			n.stop()
			n.start()
			l.journal.awaitStarts(t, *rate/2)
		}
	}
}
