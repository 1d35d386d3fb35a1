package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/templates"
)

// A progress bar that is followed shows its last state, however often it has drawn itself anew.
func TestFollowedLineShowsWhatWasDrawnLast(t *testing.T) {
	lines := assembler{place: templates.Place{Line: 1}}
	shown := func() string {
		var texts []string
		rows, _ := lines.take()
		for _, row := range rows {
			text := ""
			for _, span := range row.Spans {
				text += span.Text
			}
			if row.More != 0 {
				t.Errorf("%q has %d bytes more", text, row.More)
			}
			texts = append(texts, text)
		}
		return strings.Join(texts, "|")
	}
	for _, step := range []struct{ piece, want string }{
		{"begin\r\n10%", "begin|10%"}, {"\r20%", "20%"}, {"\r30%\r", "30%"}, {"40%\r", "40%"}, {strings.Repeat("\r....................50%", 1000), "....................50%"},
		{"\rdone\nnext", "done|next"}, {" line\r", "next line"}, {"\r\n", "next line"},
	} {
		lines.add([]byte(step.piece))
		if got := shown(); got != step.want {
			t.Fatalf("after %.20q: %q, want %q", step.piece, got, step.want)
		}
	}
	if next := lines.next(); next.Line != 4 || next.Mid {
		t.Errorf("it goes on at %+v", next)
	}
	// Many small pieces are as one.
	lines = assembler{place: templates.Place{Line: 1}}
	for i := range 1000 {
		lines.add(fmt.Appendf(nil, "copied file %4d\r", i))
	}
	if got := shown(); got != "copied file  999" {
		t.Errorf("of a thousand pieces: %q", got)
	}
	// A reader who comes while a long line is drawn anew sees its next state.
	lines = assembler{place: templates.Place{Line: 7, Offset: 9000, Mid: true}}
	lines.add([]byte("0%\r61%"))
	if got := shown(); got != "61%" {
		t.Errorf("who comes in between sees %q", got)
	}
	if next := lines.next(); next.Line != 7 || next.Offset != 9003 {
		t.Errorf("and goes on at %+v", next)
	}
}
