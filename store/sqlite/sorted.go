package sqlite

import "slices"

// sortedRuns is a list in order, in pieces that are short enough to insert into.
type sortedRuns struct {
	order  func(a, b *runWrite) int
	pieces [][]*activeRun // none is empty
}

const pieceSize = 256

// find returns where run stands, or where it would be inserted.
func (s *sortedRuns) find(run *runWrite) (piece, at int, found bool) {
	piece, found = slices.BinarySearchFunc(s.pieces, run, func(piece []*activeRun, run *runWrite) int { return s.order(piece[0].run, run) })
	switch {
	case found:
		return piece, 0, true
	case piece == 0:
		return 0, 0, false
	}
	piece--
	at, found = slices.BinarySearchFunc(s.pieces[piece], run, func(other *activeRun, run *runWrite) int { return s.order(other.run, run) })
	return piece, at, found
}

func (s *sortedRuns) insert(entry *activeRun) {
	piece, at, _ := s.find(entry.run)
	if len(s.pieces) == 0 {
		s.pieces = append(s.pieces, make([]*activeRun, 0, pieceSize))
	}
	if len(s.pieces[piece]) == pieceSize {
		cut := pieceSize / 2
		if at == pieceSize && piece == len(s.pieces)-1 { // runs come in about this order: leave full pieces behind
			cut = pieceSize
		}
		rest := append(make([]*activeRun, 0, pieceSize), s.pieces[piece][cut:]...)
		clear(s.pieces[piece][cut:])
		s.pieces[piece] = s.pieces[piece][:cut]
		s.pieces = slices.Insert(s.pieces, piece+1, rest)
		if at >= cut {
			piece, at = piece+1, at-cut
		}
	}
	s.pieces[piece] = slices.Insert(s.pieces[piece], at, entry)
}

// fill takes many entries at once into an empty list.
func (s *sortedRuns) fill(entries []*activeRun) {
	slices.SortFunc(entries, func(a, b *activeRun) int { return s.order(a.run, b.run) })
	for piece := range slices.Chunk(entries, pieceSize) {
		s.pieces = append(s.pieces, append(make([]*activeRun, 0, pieceSize), piece...))
	}
}

func (s *sortedRuns) remove(run *runWrite) {
	piece, at, found := s.find(run)
	if !found {
		return
	}
	s.pieces[piece] = slices.Delete(s.pieces[piece], at, at+1)
	if len(s.pieces[piece]) == 0 {
		s.pieces = slices.Delete(s.pieces, piece, piece+1)
	}
}

// ascend calls visit for the runs from this one on, until it returns false.
func (s *sortedRuns) ascend(from *runWrite, visit func(*runWrite) bool) {
	piece, at, _ := s.find(from)
	for ; piece < len(s.pieces); piece, at = piece+1, 0 {
		for _, entry := range s.pieces[piece][at:] {
			if !visit(entry.run) {
				return
			}
		}
	}
}

// descend calls visit for the runs below this one, the last first, until it returns false.
func (s *sortedRuns) descend(below *runWrite, visit func(*runWrite) bool) {
	piece, at, _ := s.find(below)
	for ; piece >= 0 && piece < len(s.pieces); piece-- {
		for i := at - 1; i >= 0; i-- {
			if !visit(s.pieces[piece][i].run) {
				return
			}
		}
		if piece > 0 {
			at = len(s.pieces[piece-1])
		}
	}
}
