package access

import (
	"maps"
	"slices"
)

// Everywhere stands for all namespaces in Grants, those that are made later included, and for what belongs to none:
// executors, queues, users, backups.
const Everywhere = "*"

// Grants are the roles that somebody holds, by namespace. The zero value holds none.
type Grants map[string]Role

// Role returns the role in a namespace, "" for none: the greater of what is held there and everywhere.
func (g Grants) Role(namespace string) Role {
	here, everywhere := g[namespace], g[Everywhere]
	if here.rank() > everywhere.rank() {
		return here
	}
	return everywhere
}

// Allow reports whether they suffice for what asks for a role in a namespace, or Everywhere.
func (g Grants) Allow(namespace string, needed Role) bool { return g.Role(namespace).Includes(needed) }

// Namespaces lists those in which a role is held, sorted; all is true where it is held everywhere.
func (g Grants) Namespaces(needed Role) (names []string, all bool) {
	for _, name := range slices.Sorted(maps.Keys(g)) {
		if name != Everywhere && g[name].Includes(needed) {
			names = append(names, name)
		}
	}
	return names, g[Everywhere].Includes(needed)
}

// Within returns the grants that both hold, in each namespace the lesser role: those of a token are never more than its
// owner's.
func (g Grants) Within(other Grants) Grants {
	both := Grants{}
	for _, one := range []Grants{g, other} {
		for namespace := range one {
			lesser := g.Role(namespace)
			if theirs := other.Role(namespace); theirs.rank() < lesser.rank() {
				lesser = theirs
			}
			if lesser.rank() >= 0 {
				both[namespace] = lesser
			}
		}
	}
	return both
}
