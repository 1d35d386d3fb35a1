package output_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/tidewheel/tidewheel/executor/output"
)

// random makes output of any bytes with some newlines and progress lines.
func random(r *rand.Rand, size int) []byte {
	var b bytes.Buffer
	for b.Len() < size {
		switch r.IntN(6) {
		case 0:
			b.WriteByte('\n')
		case 1:
			fmt.Fprintf(&b, "::progress 0.%d step %d\n", r.IntN(100), r.IntN(9))
		case 2:
			b.WriteString("::progres")
		default:
			for range r.IntN(size/8 + 2) {
				b.WriteByte(byte(r.Uint32()))
			}
		}
	}
	return b.Bytes()[:size]
}

// progressOf is the slow obvious way.
func progressOf(data []byte) (found []string) {
	lines := bytes.Split(data, []byte("\n"))
	for _, line := range lines[:len(lines)-1] {
		var fraction float64
		var message string
		if rest, ok := bytes.CutPrefix(line, []byte("::progress ")); ok && len(line) < 1000 {
			if n, _ := fmt.Sscanf(string(rest), "%g", &fraction); n == 1 {
				_, m, _ := bytes.Cut(rest, []byte(" "))
				message = string(bytes.TrimSpace(m))
				found = append(found, fmt.Sprint(fraction, message))
			}
		}
	}
	return found
}

func TestOutputIsKeptHoweverItIsCut(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		size := []int{0, 1, 100, 5000, output.Keep - 1, output.Keep, output.Keep + 1, 3 * output.Keep, 1 << 20}[r.IntN(9)]
		data := random(r, size)
		var spilled bytes.Buffer
		var progress []string
		limit := int64(size)
		if r.IntN(3) == 0 {
			limit = int64(r.IntN(size + 1))
		}
		c := output.New(output.Config{
			Limit:    limit,
			Spill:    func() (io.Writer, error) { return &spilled, nil },
			Progress: func(f float64, m string) { progress = append(progress, fmt.Sprint(f, m)) },
		})
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN([]int{3, 100, 5000, 200000}[r.IntN(4)]))
			if _, err := c.Both().Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
			taken := data[:min(int64(len(data)-len(rest)), limit)]
			offset := int64(r.IntN(len(taken) + 1))
			got, at, _ := c.From(offset)
			if !bytes.Equal(got, taken[at:]) || at < offset || (at > offset && len(got) != output.Keep) {
				t.Fatalf("seed %d: from %d of %d came %d bytes at %d", seed, offset, len(taken), len(got), at)
			}
		}
		c.End()
		kept := data[:limit]
		s := c.Summary()
		if s.Size != limit || s.Truncated != int64(size)-limit || s.Spilled != (limit > output.Keep) {
			t.Fatalf("seed %d: %+v of %d bytes with limit %d", seed, s, size, limit)
		}
		switch {
		case s.Spilled && (!bytes.Equal(spilled.Bytes(), kept) || !bytes.Equal(s.Tail, kept[len(kept)-output.Tail:])):
			t.Fatalf("seed %d: what was spilled is not what was written", seed)
		case !s.Spilled && (!bytes.Equal(s.Tail, kept) || spilled.Len() > 0):
			t.Fatalf("seed %d: what was kept is not what was written", seed)
		}
		lines := int64(bytes.Count(kept, []byte("\n")))
		if len(kept) > 0 && kept[len(kept)-1] != '\n' {
			lines++
		}
		if !s.Spilled && s.Lines != lines {
			t.Fatalf("seed %d: %d lines, want %d", seed, s.Lines, lines)
		}
		if want := progressOf(data); fmt.Sprint(progress) != fmt.Sprint(want) {
			t.Fatalf("seed %d: progress %q, want %q", seed, progress, want)
		}
	}
}

func TestProgressLines(t *testing.T) {
	for text, want := range map[string]string{
		"::progress 0.42 half way\n":              "[0.42 half way]",
		"::progress 1\r\n":                        "[1 ]",
		"::progress 7 too much\n":                 "[1 too much]",
		"::progress -1 too little\n":              "[0 too little]",
		" ::progress 0.5 indented\n":              "[]",
		"x::progress 0.5\n":                       "[]",
		"::progress 0.5 unfinished":               "[]",
		"::progress NaN\n::progress abc\n":        "[]",
		"::progressive 0.5\n":                     "[]",
		"::progress 0.1 \xff\n":                   "[0.1 \uFFFD]",
		"\x00\n\n::progress 0.5\n":                "[0.5 ]",
		"::progress 0.5 a\n::progress 0.6 b\nx\n": "[0.5 a 0.6 b]",
	} {
		found := []any{}
		c := output.New(output.Config{Limit: 1 << 20, Progress: func(f float64, m string) { found = append(found, f, m) }})
		for i := range len(text) { // byte by byte: where a line is cut makes no difference
			_, _ = c.Both().Write([]byte{text[i]})
		}
		if got := fmt.Sprint(found); got != want {
			t.Errorf("%q gives %s, want %s", text, got, want)
		}
	}
}

type broken struct{ after int }

var errBroken = errors.New("broken")

func (b *broken) Write(p []byte) (int, error) {
	if b.after -= len(p); b.after < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestProgramContinuesWhenTheOutputWriterFails(t *testing.T) {
	for name, spill := range map[string]func() (io.Writer, error){
		"at once": func() (io.Writer, error) { return nil, errBroken },
		"later":   func() (io.Writer, error) { return &broken{after: 3 * output.Keep}, nil },
	} {
		c := output.New(output.Config{Limit: 1 << 30, Spill: spill})
		piece := bytes.Repeat([]byte("0123456789abcdef"), 1000)
		for range 40 {
			if n, err := c.Both().Write(piece); n != len(piece) || err != nil {
				t.Fatalf("%s: wrote %d, %v", name, n, err)
			}
		}
		s := c.Summary()
		if !errors.Is(s.Failed, errBroken) || s.Size != 40*16000 || !s.Spilled || !bytes.HasSuffix(piece, s.Tail[len(s.Tail)-16:]) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestChangedWakesFollowersOfTheOutput(t *testing.T) {
	c := output.New(output.Config{Limit: 1 << 20})
	changed := c.Changed(0)
	go func() { _, _ = c.Both().Write([]byte("hello")) }()
	<-changed
	<-c.Changed(0) // it holds more already
	changed = c.Changed(5)
	go c.End()
	<-changed
	if data, at, end := c.From(1); string(data) != "ello" || at != 1 || !end {
		t.Errorf("got %q at %d, %v", data, at, end)
	}
}

func BenchmarkWrite(b *testing.B) {
	for name, line := range map[string]string{"short lines": "0123456789 abcdef\n", "one line": "0123456789abcdef"} {
		b.Run(name, func(b *testing.B) {
			piece := bytes.Repeat([]byte(line), 128<<10/len(line))
			c := output.New(output.Config{Limit: 1 << 62, Spill: func() (io.Writer, error) { return io.Discard, nil }, Progress: func(float64, string) {}})
			b.SetBytes(int64(len(piece)))
			for b.Loop() {
				_, _ = c.Both().Write(piece)
			}
		})
	}
}
