package lease

import (
	"cmp"
	"maps"
	"slices"
)

// Plan defines which engine should own each shard; "" if there is none to own it.
type Plan [shards]string

// Assign spreads the shards evenly over the members and moves as few as it can. owners says who has each shard now; who
// is not a member loses it. Equal arguments give equal plans, whatever the order of the members, so engines that see
// the same table agree without a word.
//
// No two members differ by more than one shard. A member that has more than its part keeps the lowest of its shards.
func Assign(members []string, owners [shards]string) Plan {
	var plan Plan
	if len(members) == 0 {
		return plan
	}
	has := make(map[string]int, len(members))
	for _, id := range members {
		has[id] = 0
	}
	for _, owner := range owners {
		if _, member := has[owner]; member {
			has[owner]++
		}
	}
	// Who has more than what divides evenly keeps one of those that do not: that moves the fewest.
	base := shards / len(has)
	order := slices.SortedFunc(maps.Keys(has), func(a, b string) int {
		more := func(id string) int { return min(has[id], base+1) - base }
		return cmp.Or(cmp.Compare(max(more(b), 0), max(more(a), 0)), cmp.Compare(a, b))
	})
	room := make(map[string]int, len(order))
	for i, id := range order {
		room[id] = base
		if i < shards%len(order) {
			room[id]++
		}
	}
	for shard, owner := range owners {
		if room[owner] > 0 {
			plan[shard] = owner
			room[owner]--
		}
	}
	// The lowest of the others go to the first with room, the next to the next: so a plan that is carried out in part is
	// still the plan, and engines that have seen different parts of that agree.
	slices.Sort(order)
	for shard := range plan {
		if plan[shard] != "" {
			continue
		}
		for room[order[0]] == 0 {
			order = order[1:]
		}
		plan[shard] = order[0]
		room[order[0]]--
	}
	return plan
}
