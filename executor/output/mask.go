package output

import (
	"encoding/binary"
	"slices"
	"sort"
	"sync"
)

// MaskText is what masked text is replaced by.
const MaskText = "***"

const (
	// MaskLeast is the length in bytes from which on a value is masked: a shorter one stands in ordinary text.
	MaskLeast = 4
	// maskPiece is the length of the pieces that longer values are looked for in. It bounds what a stream holds back, and
	// a part of a long value that is as long is found, too.
	maskPiece = 512
	// maskBlock is how many bytes are looked at to tell how far the search may jump.
	maskBlock = 3
	// maskBlocks is how many blocks of the values are distinguished, by their hash.
	maskBlocks = 1 << 16
)

// Mask replaces values, and what encodings make of them, in texts and streams. It is safe for concurrent use, and nil
// masks nothing. It is built when it is first used: most programs print little, and some nothing.
//
// The search is that of Wu and Manber ("A fast algorithm for multi-pattern searching", 1994): most blocks of a text are in no
// value, and let it jump by almost the length of the shortest one.
type Mask struct {
	token  []byte
	values [][]byte
	once   sync.Once

	pieces   []string // sorted, each once
	shortest int
	longest  int
	first    [256]bool // of the bytes that pieces begin with
	blocks   []uint64  // bits, by the hash of the blocks that stand anywhere in them
	shift    []uint16  // by the hash of a block: how far the search may jump; 0: pieces may end here
	// ends lists, by the same hash, the pieces whose last block within shortest is this.
	ends map[uint32][]int32
}

// NewMask makes a mask of values, which it keeps; nil if none of them is long enough. token is a value, too: a long one that
// every program has, whose base64 is not looked for in lines, so that it costs next to nothing.
func NewMask(token []byte, values ...[]byte) *Mask {
	long := slices.DeleteFunc(slices.Clone(values), func(value []byte) bool { return len(value) < MaskLeast })
	if len(token) < MaskLeast && len(long) == 0 {
		return nil
	}
	return &Mask{token: token, values: long}
}

// appendPieces cuts a text; the last piece overlaps the previous one, so that none is short.
func appendPieces(pieces []string, text string) []string {
	if len(text) < MaskLeast {
		return pieces
	}
	for len(text) > 2*maskPiece {
		pieces = append(pieces, text[:maskPiece])
		text = text[maskPiece:]
	}
	if len(text) <= maskPiece {
		return append(pieces, text)
	}
	return append(pieces, text[:maskPiece], text[len(text)-maskPiece:])
}

func (m *Mask) build() {
	for _, form := range encodings(m.token) {
		m.pieces = appendPieces(m.pieces, form)
	}
	for _, value := range m.values {
		for _, form := range append(encodings(value), lines(value)...) {
			m.pieces = appendPieces(m.pieces, form)
		}
	}
	slices.Sort(m.pieces)
	m.pieces = slices.Compact(m.pieces)
	m.shortest, m.longest, m.blocks = len(m.pieces[0]), 0, make([]uint64, maskBlocks/64)
	for _, piece := range m.pieces {
		m.shortest, m.longest = min(m.shortest, len(piece)), max(m.longest, len(piece))
		m.first[piece[0]] = true
		for at := maskBlock; at <= len(piece); at++ {
			block := hashBlock(piece[at-3], piece[at-2], piece[at-1]) % maskBlocks
			m.blocks[block/64] |= 1 << (block % 64)
		}
	}
	size := 1 << 12
	for size < 2*len(m.pieces)*m.shortest && size < 1<<16 {
		size *= 2
	}
	m.shift, m.ends = make([]uint16, size), make(map[uint32][]int32, len(m.pieces))
	farthest := uint16(m.shortest - maskBlock + 1)
	for i := range m.shift {
		m.shift[i] = farthest
	}
	for i, piece := range m.pieces {
		for at := maskBlock; at <= m.shortest; at++ {
			block := m.block(piece, at)
			m.shift[block] = min(m.shift[block], uint16(m.shortest-at))
		}
		end := m.block(piece, m.shortest)
		m.ends[end] = append(m.ends[end], int32(i))
	}
}

// block hashes the bytes that end before at.
func (m *Mask) block(text string, at int) uint32 {
	return hashBlock(text[at-3], text[at-2], text[at-1]) & uint32(len(m.shift)-1)
}

func hashBlock(a, b, c byte) uint32 {
	return hash(uint32(a) | uint32(b)<<8 | uint32(c)<<16)
}

func hash(block uint32) uint32 { return block * 0x9E3779B1 >> 12 }

// span is where masked text stands: [from, to). One that began before the text has from -1.
type span struct{ from, to int }

// find returns where values stand in data, in order and apart from each other.
func (m *Mask) find(data []byte, spans []span) []span {
	shift := m.shift
	for end := m.shortest; end <= len(data); {
		// One load of four bytes, of which the first is dropped: no piece is shorter.
		block := hash(binary.LittleEndian.Uint32(data[end-MaskLeast:end])>>8) & uint32(len(shift)-1)
		if jump := shift[block]; jump > 0 {
			end += int(jump)
			continue
		}
		from, length := end-m.shortest, 0
		for _, i := range m.ends[block] {
			if piece := m.pieces[i]; len(piece) > length && len(data)-from >= len(piece) && string(data[from:from+len(piece)]) == piece {
				length = len(piece)
			}
		}
		if length > 0 {
			spans = addSpan(spans, from, from+length)
		}
		end++
	}
	return spans
}

// addSpan adds a span that begins no earlier than the last one does.
func addSpan(spans []span, from, to int) []span {
	if n := len(spans); n > 0 && from <= spans[n-1].to {
		spans[n-1].to = max(spans[n-1].to, to)
		return spans
	}
	return append(spans, span{from, to})
}

// open returns where the longest end of data begins that a piece may begin with; len(data) if there is none.
func (m *Mask) open(data []byte) int {
	from := max(0, len(data)-m.longest+1)
	if n := len(data); n >= maskBlock {
		block := hashBlock(data[n-3], data[n-2], data[n-1]) % maskBlocks
		if m.blocks[block/64]>>(block%64)&1 == 0 { // no piece holds what data ends with
			from = max(from, n-maskBlock+1)
		}
	}
	for ; from < len(data); from++ {
		if m.first[data[from]] && m.begins(data[from:]) {
			return from
		}
	}
	return from
}

// begins reports whether a longer piece begins with text.
func (m *Mask) begins(text []byte) bool {
	i := sort.Search(len(m.pieces), func(i int) bool { return m.pieces[i] >= string(text) })
	if i < len(m.pieces) && m.pieces[i] == string(text) {
		i++ // itself is no longer one
	}
	return i < len(m.pieces) && len(m.pieces[i]) > len(text) && m.pieces[i][:len(text)] == string(text)
}

// Bytes returns a text without values: the same slice if there is none in it.
func (m *Mask) Bytes(text []byte) []byte {
	if m == nil || len(text) < MaskLeast {
		return text
	}
	m.once.Do(m.build)
	spans := m.find(text, nil)
	if len(spans) == 0 {
		return text
	}
	return replace(nil, text, spans, false)
}

// String returns a text without values.
func (m *Mask) String(text string) string {
	if m == nil || len(text) < MaskLeast {
		return text
	}
	return string(m.Bytes([]byte(text)))
}

// replace appends text to out with MaskText in the place of spans. joined: what is before text ends with MaskText, so that
// a span at the very beginning belongs to it.
func replace(out, text []byte, spans []span, joined bool) []byte {
	at := 0
	for _, s := range spans {
		out = append(out, text[at:max(s.from, 0)]...)
		if s.from > 0 || s.from == 0 && !joined {
			out = append(out, MaskText...)
		}
		at = s.to
	}
	return append(out, text[at:]...)
}
