package service

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of one search, so that its cost does not grow with the output: what is left is searched by asking again.
const (
	searchBlock   = 1 << 20
	searchBytes   = 64 << 20
	searchTime    = time.Second
	searchMatches = 100
	// MaxLogMatches is the most matches of one search.
	MaxLogMatches = 1000
	// MaxSearchText is the longest text that is searched for, in bytes.
	MaxSearchText = 200
	// Of the line around a match, in bytes.
	excerptBefore, excerptAfter = 80, 240
)

// LogSearch asks for lines of an output. Zero fields take their defaults.
type LogSearch struct {
	Text string // in any case of its letters
	// Errors asks for lines that look like errors, instead of Text.
	Errors bool
	// From is where to begin: "" for the beginning, the number of a line (from 1), or Next of the search before.
	From  string
	Limit int   // of matches; default 100, at most MaxLogMatches
	Bytes int64 // to look through; default 64 MiB
}

// LogMatch is a line in which something was found.
type LogMatch struct {
	Line   int64 // from 1
	Offset int64 // of the match, in bytes
	Text   []byte
	// Start and End are the match's place in Text, which is a part of the line around it.
	Start, End int
}

// LogMatches is what one search has found.
type LogMatches struct {
	Matches []LogMatch
	// Searched is how far the output has been looked through, in bytes from its beginning.
	Searched int64
	// Next is where to go on; "" when the output has been searched to its present end.
	Next string
}

// Search looks for lines from a place on, in bounded time; it returns each line once.
func (l *Log) Search(ctx context.Context, search LogSearch) (LogMatches, error) {
	if !search.Errors && search.Text == "" {
		return LogMatches{}, field("search_text_missing", "query.q", "there is no text to search for: give it as q, or errors=true for lines that look like errors")
	}
	if len(search.Text) > MaxSearchText {
		return LogMatches{}, field("search_text_too_long", "query.q", "the text to search for has %d bytes: at most %d are taken", len(search.Text), MaxSearchText)
	}
	s := logScan{log: l, limit: searchMatches, budget: searchBytes, finder: textFinder(search.Text)}
	if search.Errors {
		s.finder = errorFinder()
	}
	if search.Limit > 0 {
		s.limit = min(search.Limit, MaxLogMatches)
	}
	if search.Bytes > 0 {
		s.budget = max(search.Bytes, searchBlock)
	}
	if err := s.begin(ctx, search.From); err != nil {
		return LogMatches{}, err
	}
	return s.run(ctx)
}

// logScan goes through an output block by block.
type logScan struct {
	log    *Log
	finder *finder
	limit  int
	budget int64

	offset int64
	line   int64 // from 1, the one that offset is in
	told   bool  // this line is in found already: its rest is skipped
	found  []LogMatch

	block, lowered []byte
}

// begin goes to where a search begins.
func (s *logScan) begin(ctx context.Context, from string) error {
	s.line = 1
	if from == "" {
		return nil
	}
	wrong := field("invalid_place", "query.from", "%q is no place in an output: give the number of a line, or the next of the search before", from)
	place, told := strings.CutSuffix(from, "~")
	number, at, exact := strings.Cut(place, "@")
	line, err := strconv.ParseInt(number, 10, 64)
	if err != nil || line < 1 || told && !exact {
		return wrong
	}
	s.line, s.told = line, told
	if exact {
		if s.offset, err = strconv.ParseInt(at, 10, 64); err != nil || s.offset < 0 {
			return wrong
		}
		return nil
	}
	first, err := s.log.ReadLines(ctx, line-1, 1)
	if err != nil {
		return fmt.Errorf("look for line %d of run %s: %w", line, s.log.Run.ID, err)
	}
	if s.offset = s.log.Size; len(first) > 0 {
		s.offset = first[0].Offset
	}
	return nil
}

func (s *logScan) next() string {
	next := strconv.FormatInt(s.line, 10) + "@" + strconv.FormatInt(s.offset, 10)
	if s.told {
		next += "~"
	}
	return next
}

func (s *logScan) run(ctx context.Context) (LogMatches, error) {
	began := time.Now()
	end := s.log.Size
	if s.budget < end-s.offset {
		end = s.offset + s.budget
	}
	for s.offset < end && len(s.found) < s.limit {
		length := min(searchBlock, s.log.Size-s.offset)
		s.block = slices.Grow(s.block[:0], int(length))[:length]
		n, err := s.log.ReadAt(ctx, s.block, s.offset)
		if err != nil {
			return LogMatches{}, fmt.Errorf("search the output of run %s: %w", s.log.Run.ID, err)
		}
		if n == 0 {
			break
		}
		s.offset += int64(s.scan(n, s.offset+int64(n) >= s.log.Size))
		if time.Since(began) > searchTime {
			break
		}
	}
	matches := LogMatches{Matches: s.found, Searched: min(s.offset, s.log.Size)}
	if s.offset < s.log.Size {
		matches.Next = s.next()
	}
	return matches, nil
}

// scan looks through the first n bytes of the block and returns how many of them are done with: a match may begin in the
// rest and end in the next block.
func (s *logScan) scan(n int, last bool) (done int) {
	block := s.block[:n]
	s.lowered = lowerASCII(s.lowered, block)
	s.finder.reset()
	for at := 0; ; {
		if s.told {
			newline := bytes.IndexByte(block[at:], '\n')
			if newline < 0 {
				return n
			}
			at, s.line, s.told = at+newline+1, s.line+1, false
		}
		from, to := s.finder.find(s.lowered, at)
		if from < 0 {
			rest := n
			if !last {
				rest = max(n-s.finder.longest+1, at)
			}
			s.line += int64(bytes.Count(block[at:rest], newline))
			return rest
		}
		s.line += int64(bytes.Count(block[at:from], newline))
		s.found = append(s.found, excerpt(block, from, to, s.line, s.offset))
		at, s.told = to, true
		if len(s.found) == s.limit {
			return at
		}
	}
}

var newline = []byte{'\n'}

// excerpt copies what is around a match in its line.
func excerpt(block []byte, from, to int, line, offset int64) LogMatch {
	begin := max(from-excerptBefore, 0)
	if cut := bytes.LastIndexByte(block[begin:from], '\n'); cut >= 0 {
		begin += cut + 1
	}
	end := min(to+excerptAfter, len(block))
	if cut := bytes.IndexByte(block[to:end], '\n'); cut >= 0 {
		end = to + cut
	}
	return LogMatch{Line: line, Offset: offset + int64(from), Text: bytes.Clone(block[begin:end]), Start: from - begin, End: to - begin}
}

func lowerASCII(into, text []byte) []byte {
	into = slices.Grow(into[:0], len(text))[:len(text)]
	for i, c := range text {
		if c-'A' < 26 {
			c += 'a' - 'A'
		}
		into[i] = c
	}
	return into
}

// finder looks for the first of several texts.
type finder struct {
	texts   [][]byte
	longest int
	accept  func(text []byte, from, to int) bool // nil: everything
	// at[i] is where texts[i] was found last in this block, len(block) for nowhere, -1 where it was not looked for.
	at []int
}

func newFinder(texts ...string) *finder {
	f := &finder{at: make([]int, len(texts))}
	for _, text := range texts {
		f.texts = append(f.texts, []byte(text))
		f.longest = max(f.longest, len(text))
	}
	return f
}

// textFinder looks for a text in text whose ASCII letters are small. Of other letters it knows what their being all
// small or all capital makes of the text.
func textFinder(text string) *finder {
	forms := []string{}
	for _, form := range []string{text, strings.ToLower(text), strings.ToUpper(text)} {
		if form = string(lowerASCII(nil, []byte(form))); !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return newFinder(forms...)
}

// errorFinder looks for words by which programs speak of errors, but for those that say that there are none.
func errorFinder() *finder {
	f := newFinder("error", "fatal", "panic", "exception", "traceback", "failed", "failure", "critical", "segmentation fault")
	f.accept = func(text []byte, from, to int) bool {
		before, after := text[max(from-8, 0):from], text[to:min(to+6, len(text))]
		for _, none := range []string{"no ", "0 ", "without "} {
			// "10 errors" are some.
			if bytes.HasSuffix(before, []byte(none)) && (len(before) == len(none) || !alphanumeric(before[len(before)-len(none)-1])) {
				return false
			}
		}
		after = bytes.TrimPrefix(after, []byte("s"))
		after, counted := bytes.CutPrefix(after, []byte("="))
		if !counted {
			after, counted = bytes.CutPrefix(after, []byte(": "))
		}
		return !counted || len(after) == 0 || after[0] != '0'
	}
	return f
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// reset says that another block follows.
func (f *finder) reset() {
	for i := range f.at {
		f.at[i] = -1
	}
}

// find returns the first match from a place on; -1 if there is none.
func (f *finder) find(text []byte, from int) (start, end int) {
	for {
		start, end = len(text), 0
		for i, want := range f.texts {
			if f.at[i] < from {
				if f.at[i] = len(text); len(want) <= len(text)-from {
					if found := bytes.Index(text[from:], want); found >= 0 {
						f.at[i] = from + found
					}
				}
			}
			if f.at[i] < start {
				start, end = f.at[i], f.at[i]+len(want)
			}
		}
		if start == len(text) {
			return -1, -1
		}
		if f.accept == nil || f.accept(text, start, end) {
			return start, end
		}
		from = start + 1
	}
}
