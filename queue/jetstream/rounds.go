package jetstream

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// level is what an executor may take of one tier: the tier's own queues and those of the pools whose labels it has.
type level struct {
	tier              spec.Tier
	premium, standard lanes
	credit            int // of the share of tiers
}

// stands reports whether a request stands at each of its queues, so that there is none to ask.
func (l *level) stands() bool { return l.premium.stand() && l.standard.stand() }

// doubted reports whether one of its queues that is said to have nothing is not believed.
func (l *level) doubted() bool { return l.premium.doubted() || l.standard.doubted() }

// forgive counts a round for which its queues were not believed.
func (l *level) forgive() {
	for _, of := range []*lanes{&l.premium, &l.standard} {
		for _, s := range of.sources {
			s.doubt = max(s.doubt-1, 0)
		}
	}
}

// tierWeights are how many tasks of each tier are taken while all of them wait, by an executor whose own they all are. The lighter
// ones go more often because they are over sooner.
var tierWeights = map[spec.Tier]int{spec.TierLight: 4, spec.TierMedium: 2, spec.TierHeavy: 1}

// shareRound divides a round among the tiers that may have something. It is called with the lock.
func (p *puller) shareRound(now time.Time) {
	var sharing []*level
	asked := 0
	for _, l := range p.levels {
		p.standAt(l, now)
		if !l.stands() {
			asked++
		}
		if !l.stands() || l.doubted() {
			sharing = append(sharing, l)
		}
	}
	if asked == 0 {
		return
	}
	parts := shareOut(sharing, min(p.free, roundBatch))
	if !slices.ContainsFunc(sharing, func(l *level) bool { return parts[l] > 0 && !l.stands() }) {
		// All of it went to tiers that are not asked: then no tier would ever be.
		parts = shareOut(slices.DeleteFunc(slices.Clone(sharing), (*level).stands), 1)
	}
	for _, l := range sharing {
		switch {
		case l.stands():
			l.forgive()
		case parts[l] > 0:
			p.round(l, parts[l], now)
		}
	}
}

// shareOut divides room among levels by their weights, keeping the shares over many small rounds: of each seven tasks four are light,
// two medium and one heavy. It is nginx's smooth weighted round-robin.
func shareOut(levels []*level, room int) map[*level]int {
	parts := make(map[*level]int, len(levels))
	for range room {
		total := 0
		var most *level
		for _, l := range levels {
			weight := tierWeights[l.tier]
			total += weight
			if l.credit += weight; most == nil || l.credit > most.credit {
				most = l
			}
		}
		most.credit -= total
		parts[most]++
	}
	return parts
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

// stand reports whether a request stands at each of them.
func (l *lanes) stand() bool {
	for _, s := range l.sources {
		if !s.stands() {
			return false
		}
	}
	return true
}

// doubted reports whether one that is said to have nothing is not believed.
func (l *lanes) doubted() bool {
	for _, s := range l.sources {
		if s.stands() && s.doubt > 0 {
			return true
		}
	}
	return false
}

// standAt lets requests stand at the queues of a tier that have nothing. It is called with the lock.
func (p *puller) standAt(l *level, now time.Time) {
	for _, of := range []*lanes{&l.premium, &l.standard} {
		for _, s := range of.sources {
			if s.empty && s.asked == 0 {
				p.ask(s, min(s.batch, p.free, standBatch), false, now)
				s.doubt = doubtRounds
			}
		}
	}
}

// round asks the two classes of a tier, at one of which no request stands, for as many tasks as there is room for. It is called
// with the lock.
func (p *puller) round(l *level, room int, now time.Time) {
	premium, standard := l.premium.stand(), l.standard.stand()
	share := room
	switch {
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
	l.forgive()
}

// share returns how many of the next tasks should be premium, keeping the weight over many small rounds.
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
	if !asked && idle != nil { // the parts went to those that are not asked: then none would ever be
		p.ask(idle, n, true, now)
	}
}
