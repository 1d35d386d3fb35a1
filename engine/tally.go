package engine

// Tally is a number of things that were counted up to a limit.
type Tally struct {
	N    int
	More bool // there are, or may be, more than were counted
}

// Tallies counts runs by their Status.
type Tallies [len(statusNames)]Tally

// Sum adds what was counted of these statuses, of all of them if none is named.
func (t *Tallies) Sum(statuses ...Status) (sum Tally) {
	if len(statuses) == 0 {
		statuses = Statuses()
	}
	for _, status := range statuses {
		sum.N += t[status].N
		sum.More = sum.More || t[status].More
	}
	return sum
}
