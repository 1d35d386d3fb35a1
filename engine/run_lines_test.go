package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
)

func TestLastLinesSkipProgressAndBlankLines(t *testing.T) {
	run := engine.Run{Attempts: []engine.Attempt{
		{Output: &engine.Output{Tail: []byte("first\n")}},
		{Output: &engine.Output{Tail: []byte("a\n\n::progress 0.4 at buoy 7\n10%\r50%\rb\x1b[31m!\r\n" + strings.Repeat("é", 200) + "\nc\xff")}},
		{},
	}}
	want := []string{"b[31m!", strings.Repeat("é", 150) + "…", "c\uFFFD"}
	if got := run.LastLines(3); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := run.LastLines(10); len(got) != 4 || got[0] != "a" {
		t.Errorf("got %q", got)
	}
	if got := (&engine.Run{}).LastLines(3); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}
