package output

// masker masks a stream. It holds back the end of what has come if a value may begin there, and nothing else. The zero
// value masks nothing.
type masker struct {
	mask   *Mask
	held   []byte // may be the beginning of a value
	masked int    // bytes of held that belong to a value that began before them
	joined bool   // what was passed on ends with MaskText

	data  []byte // held and what came after it
	out   []byte
	spans []span
}

// write takes a piece and returns what can be passed on, which is valid until the next call and may be p itself.
func (s *masker) write(p []byte) []byte {
	if s.mask == nil || len(p) == 0 {
		return p
	}
	s.mask.once.Do(s.mask.build)
	data := p
	if len(s.held) > 0 {
		s.data = append(append(s.data[:0], s.held...), p...)
		data = s.data
	}
	return s.pass(data, s.mask.open(data))
}

// flush returns what was held back: nothing follows.
func (s *masker) flush() []byte {
	if len(s.held) == 0 {
		return nil
	}
	s.data = append(s.data[:0], s.held...)
	return s.pass(s.data, len(s.data))
}

// pass returns the first keep bytes of data, masked, and holds the rest.
func (s *masker) pass(data []byte, keep int) []byte {
	s.spans = s.spans[:0]
	if s.masked > 0 {
		s.spans = append(s.spans, span{-1, s.masked})
	}
	s.spans = s.mask.find(data, s.spans)
	s.masked = 0
	for n := len(s.spans); n > 0 && s.spans[n-1].to > keep; n = len(s.spans) {
		last := &s.spans[n-1]
		if last.from < keep {
			s.masked, last.to = last.to-keep, keep
			break
		}
		s.spans = s.spans[:n-1] // all of it is held, and found again
	}
	passed := data[:keep]
	switch {
	case len(s.spans) > 0:
		s.out = replace(s.out[:0], passed, s.spans, s.joined)
		passed = s.out
		if keep > 0 {
			s.joined = s.spans[len(s.spans)-1].to == keep
		}
	case keep > 0:
		s.joined = false
	}
	s.held = append(s.held[:0], data[keep:]...)
	return passed
}
