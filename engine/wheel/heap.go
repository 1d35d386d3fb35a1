package wheel

// before is the order of firing.
func (t *Timer[T]) before(other *Timer[T]) bool {
	if order := t.at.Compare(other.at); order != 0 {
		return order < 0
	}
	return t.sequence < other.sequence
}

// meld joins two heaps, either of which may be nil, and returns the root.
func meld[T any](a, b *Timer[T]) *Timer[T] {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	if b.before(a) {
		a, b = b, a
	}
	b.next = a.child
	if b.next != nil {
		b.next.previous = b
	}
	b.previous = a
	a.child = b
	return a
}

// without takes t out of the heap under root and returns the new root. It leaves t without links: who keeps a timer
// that is over must not keep others alive.
func without[T any](root, t *Timer[T]) *Timer[T] {
	rest := meldSiblings(t.child)
	t.child = nil
	if t == root {
		return rest
	}
	if t.previous.child == t {
		t.previous.child = t.next
	} else {
		t.previous.next = t.next
	}
	if t.next != nil {
		t.next.previous = t.previous
	}
	t.next, t.previous = nil, nil
	return meld(root, rest)
}

// meldSiblings joins a list of siblings in the two passes that give the pairing heap its cost: in pairs from the
// left, then the pairs from the right.
func meldSiblings[T any](first *Timer[T]) *Timer[T] {
	var pairs *Timer[T] // linked by next, the last pair first
	for first != nil {
		a, b := first, first.next
		first = nil
		if b != nil {
			first = b.next
			b.next, b.previous = nil, nil
		}
		a.next, a.previous = nil, nil
		pair := meld(a, b)
		pair.next = pairs
		pairs = pair
	}
	var root *Timer[T]
	for pairs != nil {
		pair := pairs
		pairs = pair.next
		pair.next = nil
		root = meld(root, pair)
	}
	return root
}

// takeFirst cuts the first timer off a list of heaps, adds its children to the list, and returns both. Called until
// the list is nil it yields every timer once, in a time that grows with their number.
func takeFirst[T any](list *Timer[T]) (first, rest *Timer[T]) {
	first, rest = list, list.next
	if last := first.child; last != nil {
		for last.next != nil {
			last = last.next
		}
		last.next = rest
		rest = first.child
	}
	first.child, first.next, first.previous = nil, nil, nil
	return first, rest
}
