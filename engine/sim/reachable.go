package sim

// Reachable lists what many worlds together must reach, lest something goes untested.
func Reachable() []Count {
	var all []Count
	add := func(kind string, what ...string) {
		for _, one := range what {
			all = append(all, Count{Kind: kind, What: one})
		}
	}
	add("fault", Faults()...)
	return all
}
