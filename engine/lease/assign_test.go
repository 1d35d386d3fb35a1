package lease_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/lease"
)

func count(owners [engine.Shards]string) map[string]int {
	counts := map[string]int{}
	for _, owner := range owners {
		counts[owner]++
	}
	return counts
}

// Engines come and go in any order: the plan stays even, moves no more than it must, and is the same for everybody.
func TestAssignIsEvenStableAndAgreed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var owners [engine.Shards]string
	var members []string
	for step := range 2000 {
		if len(members) == 0 || random.IntN(2) == 0 && len(members) < 80 {
			members = append(members, fmt.Sprintf("engine-%d", step))
		} else {
			i := random.IntN(len(members))
			members = slices.Delete(members, i, i+1)
		}
		plan := lease.Assign(members, owners)
		if len(members) == 0 {
			if plan != (lease.Plan{}) {
				t.Fatalf("step %d: no engine is there, and the plan assigns shards", step)
			}
			owners = plan
			continue
		}
		counts := count(plan)
		low, high := engine.Shards, 0
		for _, id := range members {
			low, high = min(low, counts[id]), max(high, counts[id])
			delete(counts, id)
		}
		if high-low > 1 || len(counts) > 0 {
			t.Fatalf("step %d: %d to %d shards with %d members, others have %v", step, low, high, len(members), counts)
		}
		shuffled := slices.Clone(members)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if lease.Assign(shuffled, owners) != plan {
			t.Fatalf("step %d: the plan depends on the order of the members", step)
		}
		moved, must := 0, 0
		before := count(owners)
		for shard := range plan {
			if owners[shard] != plan[shard] {
				moved++
			}
		}
		for id, n := range before {
			if !slices.Contains(members, id) {
				must += n
			}
		}
		for _, id := range members { // what a member has beyond its part
			must += max(0, before[id]-count(plan)[id])
		}
		if moved != must {
			t.Fatalf("step %d: %d shards move, %d have to", step, moved, must)
		}
		owners = plan
	}
}

func TestAssignMovesNothingWithoutNeed(t *testing.T) {
	var owners [engine.Shards]string
	for shard := range owners {
		owners[shard] = []string{"a", "b", "c"}[shard*3/engine.Shards]
	}
	plan := lease.Assign([]string{"c", "b", "a"}, owners)
	if plan != lease.Plan(owners) {
		t.Errorf("an even spread was changed: %v", plan)
	}
}

// An engine that computes the plan while the others have carried out part of it gets the same plan.
func TestAssignIsTheSameWhileItIsCarriedOut(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		var members []string
		for i := range 1 + random.IntN(9) {
			members = append(members, fmt.Sprintf("e%d", i))
		}
		var owners [engine.Shards]string
		for shard := range owners {
			if i := random.IntN(3 + len(members)); i < len(members) {
				owners[shard] = members[i]
			}
		}
		owners = lease.Assign(members, owners)
		for shard, owner := range owners { // one has gone
			if owner == members[0] {
				owners[shard] = ""
			}
		}
		if len(members) > 1 {
			members = members[1:]
		}
		plan := lease.Assign(members, owners)
		for _, shard := range random.Perm(engine.Shards) {
			if owners[shard] == "" {
				owners[shard] = plan[shard]
			}
			if now := lease.Assign(members, owners); now != plan {
				t.Fatalf("once shard %d is taken the plan is another one:\n%v\n%v", shard, plan, now)
			}
		}
	}
}
