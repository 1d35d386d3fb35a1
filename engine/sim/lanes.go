package sim

import (
	"slices"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Tasks wait by tier and class. An executor takes those of its own tier before those of others, or of all tiers by their weights
// where all are its own; within a tier premium goes before standard, by weight. It is a model of what queue/jetstream does (rounds.go
// there): that no tier and no class starves is held by queue/queuetest on the production code (*a heavier task is taken while lighter ones
// keep coming*, *premium goes four times for each standard with one slot*).

// lane is a queue of a tier and a class.
type lane struct {
	tier  spec.Tier
	class spec.Class
}

// tiers are all of them, and how many tasks of each are taken while all wait, by an executor whose own they all are.
var tiers = []struct {
	tier   spec.Tier
	weight int
}{{spec.TierLight, 4}, {spec.TierMedium, 2}, {spec.TierHeavy, 1}}

// premiumWeight is how many premium tasks are taken for each standard one while both wait.
const premiumWeight = 4

func laneOf(tier, class string) lane {
	if class == "" {
		class = string(spec.ClassStandard)
	}
	return lane{spec.Tier(tier), spec.Class(class)}
}

// place is where a task waits: there is one copy of a run in a lane.
type place struct {
	lane
	run string
}

func placeOf(task *engine.Task) place {
	return place{laneOf(string(task.Tier), string(task.Class)), task.Run}
}

// appetite is which tasks an executor takes, and what it has taken.
type appetite struct {
	own    []spec.Tier // first to last
	shares bool        // all of them are its own
	credit map[spec.Tier]int
	turn   int
}

// drawAppetite draws one. The first executor takes everything.
func (w *world) drawAppetite(first bool) appetite {
	a := appetite{shares: first || w.odds(0.5), credit: map[spec.Tier]int{}}
	for _, t := range tiers {
		a.own = append(a.own, t.tier)
	}
	if !a.shares {
		w.random.Shuffle(len(a.own), func(i, j int) { a.own[i], a.own[j] = a.own[j], a.own[i] })
		a.own = a.own[:1+w.random.IntN(len(a.own))]
	}
	return a
}

// serves reports whether tasks of a lane are taken.
func (a *appetite) serves(l lane) bool { return slices.Contains(a.own, l.tier) }

// open are the tiers from which there is something to take.
func (a *appetite) open(waits func(lane) bool) []spec.Tier {
	var open []spec.Tier
	for _, tier := range a.own {
		if waits(lane{tier, spec.ClassPremium}) || waits(lane{tier, spec.ClassStandard}) {
			open = append(open, tier)
		}
	}
	return open
}

// hungry reports whether there is something to take.
func (a *appetite) hungry(waits func(lane) bool) bool { return len(a.open(waits)) > 0 }

// choose says from which lane the next task is taken, where there is one.
func (a *appetite) choose(waits func(lane) bool) lane {
	open := a.open(waits)
	tier := open[0]
	if a.shares {
		tier = a.share(open)
	}
	premium, standard := waits(lane{tier, spec.ClassPremium}), waits(lane{tier, spec.ClassStandard})
	if premium && standard {
		a.turn = (a.turn + 1) % (premiumWeight + 1)
		premium = a.turn != 0
	}
	if premium {
		return lane{tier, spec.ClassPremium}
	}
	return lane{tier, spec.ClassStandard}
}

// share keeps the weights of tiers over many tasks.
func (a *appetite) share(open []spec.Tier) spec.Tier {
	total, most := 0, open[0]
	for _, t := range tiers {
		if slices.Contains(open, t.tier) {
			total += t.weight
			if a.credit[t.tier] += t.weight; a.credit[t.tier] > a.credit[most] {
				most = t.tier
			}
		}
	}
	a.credit[most] -= total
	return most
}
