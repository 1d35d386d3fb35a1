package jetstream

import (
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// level is what an executor may take of one tier: the tier's own queues and those of the pools whose labels it has.
type level struct {
	tier              spec.Tier
	premium, standard lanes
}

// lanes are the sources of one class of a level. Each is as good as the others, so they take turns.
type lanes struct {
	sources []*source
	turn    int
}

func (l *level) of(class spec.Class) *lanes {
	if class == spec.ClassPremium {
		return &l.premium
	}
	return &l.standard
}

// stand tells whether a request stands at each of them.
func (l *lanes) stand() bool {
	for _, s := range l.sources {
		if !s.stands() {
			return false
		}
	}
	return true
}

// doubted tells whether one that is said to have nothing is not believed.
func (l *lanes) doubted() bool {
	for _, s := range l.sources {
		if s.stands() && s.doubt > 0 {
			return true
		}
	}
	return false
}

// round asks the two classes of a tier for as many tasks as there are slots, and tells whether any are to be hoped for.
// It is called with the lock.
func (p *puller) round(l *level, now time.Time) bool {
	for _, of := range []*lanes{&l.premium, &l.standard} {
		for _, s := range of.sources {
			if s.empty && s.asked == 0 {
				p.ask(s, min(s.batch, p.free, standBatch), false, now)
				s.doubt = doubtRounds
			}
		}
	}
	premium, standard := l.premium.stand(), l.standard.stand()
	room := min(p.free, roundBatch)
	share := room
	switch {
	case premium && standard:
		return false
	case premium && l.premium.doubted():
		share = room - 1 // standard had its own share when premium was asked
	case premium:
		share = 0
	case !standard:
		share = p.share(room)
	case l.standard.doubted():
		share = max(p.share(room), 1)
	}
	if !premium {
		p.spread(&l.premium, share, now)
	}
	if !standard {
		p.spread(&l.standard, room-share, now)
	}
	for _, of := range []*lanes{&l.premium, &l.standard} {
		for _, s := range of.sources {
			s.doubt = max(s.doubt-1, 0)
		}
	}
	return true
}

// share tells how many of the next tasks should be premium, keeping the weight over many small rounds.
func (p *puller) share(room int) (premium int) {
	for range room {
		if p.turn = (p.turn + 1) % (p.config.PremiumWeight + 1); p.turn != 0 {
			premium++
		}
	}
	return premium
}

// spread asks the sources of a class for n tasks together, in turns. One that is said to have nothing and is not believed
// keeps its part, in which it may bring what it was asked for. At least one source does not stand.
func (p *puller) spread(l *lanes, n int, now time.Time) {
	if len(l.sources) == 1 {
		p.ask(l.sources[0], n, true, now)
		return
	}
	var parts []*source
	for i := range l.sources {
		if s := l.sources[(l.turn+i)%len(l.sources)]; !s.stands() || s.doubt > 0 {
			parts = append(parts, s)
		}
	}
	l.turn = (l.turn + 1) % len(l.sources)
	if n == 0 {
		return
	}
	asked := false
	var idle *source
	for i, s := range parts {
		part := n / len(parts)
		if i < n%len(parts) {
			part++
		}
		switch {
		case s.stands():
		case part == 0:
			idle = s
		default:
			p.ask(s, part, true, now)
			asked = true
		}
	}
	if !asked && idle != nil { // the parts went to those that are not asked: then nobody would ever be
		p.ask(idle, n, true, now)
	}
}
