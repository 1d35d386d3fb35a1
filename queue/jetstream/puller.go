package jetstream

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

// How tasks are pulled.
const (
	pullExpires = time.Minute            // of a request that stands
	pullLook    = 500 * time.Millisecond // from one look for requests that there is no answer to the next
	// standBatch is what a standing request asks for, and so the most that can come too much from one consumer.
	standBatch = 8
	// doubtRounds is for how many rounds a class is thought to have something after its consumer said it has nothing.
	doubtRounds = 5
	// roundBatch bounds one round of a busy executor.
	roundBatch = 256
)

// puller decides what one executor asks for. It asks each consumer in one of two ways.
//
// A consumer that may have something is asked in rounds for what is there already: exactly as many tasks as there are
// free slots, the executor's own tier first, or each tier by its weight where all are its own, and premium by weight. So it
// is with all of them at first.
//
// At one that answered that nothing waits, a request stands, so that a task is delivered the moment it is published,
// until it has brought all that it asked for. Standing requests may together ask for more than there are free slots;
// what comes too much is given back at once and goes to another request that stands.
//
// That nothing waits is what the server counts, and its count runs behind what it stores by up to some milliseconds
// while much is published (its signalConsumersLoop waits for a turn). A request that stands is answered from the store.
// So a class that is said to have nothing keeps its share for some rounds more, in which it is not asked but may still
// bring what it was asked for: or the other one would have all slots for as long as the count is wrong, which is
// hundreds of tasks if they are short.
//
// One mutex guards it; nothing under it waits.
type puller struct {
	q       *Queue
	config  executor.PullConfig
	handle  func(executor.Delivery)
	inbox   string
	running sync.WaitGroup // tasks
	workers sync.WaitGroup
	work    chan *delivery // for workers that are idle; has room for all of them
	broken  chan struct{}  // holds one: the consumers do not answer as they should
	making  atomic.Bool    // a goroutine is checking the consumers

	mu      sync.Mutex
	stopped bool
	held    bool // nothing is asked for a while
	free    int
	idle    int // workers without a task
	turn    int // of the weighted share
	sources []*source
	levels  []*level               // the same, by tier
	pools   []pool                 // that it serves beside the tiers themselves
	next    int                    // the index of the next source
	bad     int                    // failures in a row
	mending bool                   // nothing is asked until the consumers were looked at
	hand    map[*delivery]struct{} // tasks that are being handled
}

// source is one consumer that the puller asks.
type source struct {
	index    int    // never used twice
	pool     string // the tier, or the token of a pool of it
	class    spec.Class
	subject  string // of requests
	priority int    // of this executor among those that stand there: 0 for its own tier

	request  int // number of the last one
	asked    int // tasks that it may still bring; 0 if none is under way
	noWait   bool
	deadline time.Time // by which something must be heard of it
	batch    int       // that the last request asked for
	empty    bool      // as its last answer said
	doubt    int       // rounds for which it is not believed
}

// stands reports whether a request waits there for tasks to come.
func (s *source) stands() bool { return s.asked > 0 && !s.noWait }

func newPuller(q *Queue, config executor.PullConfig, handle func(executor.Delivery)) *puller {
	p := &puller{
		q: q, config: config, handle: handle, free: config.Slots,
		inbox: q.conn.NewInbox(), broken: make(chan struct{}, 1), work: make(chan *delivery, config.Slots),
		hand: make(map[*delivery]struct{}),
	}
	for priority, tier := range config.Tiers {
		l := &level{tier: tier}
		p.levels = append(p.levels, l)
		p.add(l, string(tier), priority)
	}
	return p
}

// add begins to serve a tier's own queues or a pool of it. It is called with the lock, or before anybody else knows p.
func (p *puller) add(l *level, pool string, priority int) {
	for _, class := range classes {
		s := &source{
			index: p.next, pool: pool, class: class, priority: min(priority, 9),
			subject: p.q.names.nextTask(taskConsumer(pool, string(class))),
		}
		p.next++
		p.sources = append(p.sources, s)
		of := l.of(class)
		of.sources = append(of.sources, s)
	}
}

// receive takes a task or the end of a request.
func (p *puller) receive(message *nats.Msg) {
	if message.Reply == "" {
		p.ended(message)
		return
	}
	p.mu.Lock()
	if from := p.source(message.Subject); from != nil && from.asked > 0 {
		from.asked--
		from.deadline = time.Now().Add(pullSilence)
		from.empty = false
	}
	p.bad = 0
	task := &delivery{q: p.q, message: message, since: time.Now()}
	taken, idle := p.free > 0 && !p.stopped && !p.held, p.idle > 0
	if taken {
		if idle {
			p.idle--
		}
		p.free--
		p.hand[task] = struct{}{}
		p.running.Add(1)
		p.pump(time.Now())
	}
	p.mu.Unlock()
	if !taken {
		if err := task.Nak(0); err != nil { // the server delivers it again after the ack wait
			p.q.log.Debug("a task could not be given back", "error", err)
		}
		return
	}
	if idle {
		p.work <- task
	} else {
		p.workers.Go(func() { p.worker(task) })
	}
}

// worker handles a task and then others: a goroutine for each would grow a new stack each time. There are as many
// as there were ever tasks at once; they end with the pull.
func (p *puller) worker(task *delivery) {
	for ok := true; ok; task, ok = <-p.work {
		if task.Outlived() {
			p.drop(task)
		} else {
			p.handle(task)
		}
		p.release(task)
		p.running.Done()
	}
}

// drop ends a copy that no executor may run any more. If its run still waits, because the executor that received it had
// no free slot, the engine finds no message, no lock and no claim for it, and publishes it again. The engine also checks
// by itself, but ever more rarely the longer the run waits: so drop wakes it.
func (p *puller) drop(task *delivery) {
	p.q.log.Info("a task that was handed out long ago came again, and is left to the engine", "subject", task.message.Subject)
	if err := task.Ack(); err != nil {
		p.q.log.Debug("a task could not be dropped", "error", err)
		return
	}
	if err := task.wake(); err != nil {
		p.q.log.Debug("could not notify the engine of a dropped task; it finds it by itself", "error", err)
	}
}

func (p *puller) release(task *delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.hand, task)
	p.free++
	p.idle++
	p.pump(time.Now())
}

// source finds where a task came from by its subject.
func (p *puller) source(subject string) *source {
	pool, class := p.q.names.poolAndClass(subject)
	for _, s := range p.sources {
		if s.pool == pool && string(s.class) == class {
			return s
		}
	}
	return nil
}

// ended reads the message that ends a request before it brought all that it asked for.
func (p *puller) ended(message *nats.Msg) {
	index, request, ok := strings.Cut(strings.TrimPrefix(message.Subject, p.inbox+"."), ".")
	i, err := strconv.Atoi(index)
	if !ok || err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.sources, func(s *source) bool { return s.index == i })
	if at < 0 || strconv.Itoa(p.sources[at].request) != request {
		return
	}
	s := p.sources[at]
	status, description := message.Header.Get("Status"), message.Header.Get("Description")
	now := time.Now()
	switch {
	case status == "100": // it stands
		s.deadline = now.Add(pullSilence)
	case status == "404" || status == "408":
		s.asked, s.empty, p.bad = 0, true, 0
		p.pump(now)
	case status == "409" && description == "Batch Completed":
		s.asked = 0
		p.pump(now)
	default: // the consumer has gone or moves, or the server stops
		p.q.log.Debug("a pull ended", "pool", s.pool, "class", s.class, "status", status, "description", description)
		p.breakLater()
	}
}

// pump asks for what there is room for. It is called with the lock.
func (p *puller) pump(now time.Time) {
	if p.stopped || p.held || p.free == 0 || p.mending {
		return
	}
	for _, s := range p.sources {
		// A round ends before the next begins: what one consumer leaves over is for its answer to decide, or an
		// early question would give standard the slots that are premium's, and the other way round.
		if s.asked > 0 && s.noWait {
			return
		}
	}
	if p.config.ShareTiers {
		p.shareRound(now)
		return
	}
	for _, l := range p.levels {
		p.standAt(l, now)
		if l.stands() {
			continue
		}
		p.round(l, min(p.free, roundBatch), now)
		return
	}
}

// ask sends a request. It is called with the lock.
func (p *puller) ask(s *source, batch int, noWait bool, now time.Time) {
	if batch == 0 {
		return
	}
	request := pullRequest{Batch: batch, NoWait: noWait, Group: priorityGroup, Priority: s.priority}
	if !noWait {
		request.Expires, request.Beat = pullExpires, pullHeartbeat
	}
	s.deadline = now.Add(pullSilence)
	s.request++
	s.asked, s.batch, s.noWait = batch, batch, noWait
	payload, err := json.Marshal(request)
	if err == nil {
		err = p.q.conn.PublishRequest(s.subject, fmt.Sprintf("%s.%d.%d", p.inbox, s.index, s.request), payload)
	}
	if err != nil {
		p.q.log.Debug("a pull was not sent", "error", err)
		p.breakLater()
	}
}

// fill asks for the first tasks.
func (p *puller) fill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pump(time.Now())
}

// forget repeats all requests: the previous ones are lost.
func (p *puller) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mending = false
	for _, s := range p.sources {
		s.asked, s.empty = 0, false
	}
	p.pump(time.Now())
}

// expire gives up requests that were not heard of for too long.
func (p *puller) expire(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.sources {
		if s.asked > 0 && now.After(s.deadline) {
			s.asked = 0
		}
	}
	p.pump(now)
}

// keep says of tasks that have been in hand for a while that they still are, so that no other executor is given them.
func (p *puller) keep(now time.Time) {
	p.mu.Lock()
	var slow []*delivery
	for task := range p.hand {
		if !task.settled.Load() && now.Sub(task.since) >= p.q.config.AckWait/4 {
			slow = append(slow, task)
		}
	}
	p.mu.Unlock()
	for _, task := range slow {
		if err := p.q.conn.Publish(task.message.Reply, []byte("+WPI")); err != nil {
			return // the server delivers them to another executor
		}
	}
}

// stop takes no more.
func (p *puller) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}

// hold takes no more until resume.
func (p *puller) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = true
}

// resume continues after hold, under an inbox of its own, so that answers to requests from before the hold are not mistaken for others.
func (p *puller) resume(inbox string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.inbox = false, inbox
	for _, s := range p.sources {
		s.asked, s.empty = 0, false
	}
}

func (p *puller) failures() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bad
}

// breakLater counts a failure, one for all sources together, and asks for repair; nothing is asked until then.
func (p *puller) breakLater() {
	if p.mending {
		return
	}
	p.bad++
	p.mending = true
	select {
	case p.broken <- struct{}{}:
	default: // asked for already
	}
}
