package sim

import (
	"slices"
	"time"
)

// Choices lists what can be left out of a world, by number: every kind of misfortune, then every deed of users.
func Choices() []string {
	all := Faults()
	for i := range deeds {
		all = append(all, deeds[i].name)
	}
	return all
}

// leaves reports whether a choice is left out. It is asked after the dice were cast, so that up to where the choice would
// have mattered the world is the same with it and without.
func (w *world) leaves(choice string) bool { return w.without[choice] }

// Shrink leaves out of a world that failed as much as it can while the same invariant breaks, and returns what is left:
// fewer misfortunes, fewer deeds, and an earlier end to both. It runs at most so many worlds.
func Shrink(failed Report, options Options, most int) (Options, Report) {
	options.Trace = nil
	best, left := failed, options
	try := func(changed Options) bool {
		if most--; most < 0 {
			return false
		}
		report := Run(failed.Seed, changed)
		if report.Failure == nil || report.Failure.Invariant != failed.Failure.Invariant {
			return false
		}
		best, left = report, changed
		return true
	}
	for choice := range Choices() {
		changed := left
		changed.Without = append(slices.Clone(left.Without), choice)
		try(changed)
	}
	for trouble := time.Duration(0); ; {
		trouble = (trouble + best.Elapsed) / 2
		changed := left
		changed.Trouble = trouble
		if best.Elapsed-trouble < time.Second || !try(changed) {
			break
		}
		trouble = 0
	}
	return left, best
}
