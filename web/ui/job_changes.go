package ui

import (
	"fmt"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
	"github.com/aymanbagabas/go-udiff/lcs"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// changesAround is how many unchanged lines are shown on each side of a change.
const changesAround = 3

// changes are the lines in which two definitions differ, as service.Definitions.Texts returns them.
func changes[S engine.Spec](of *service.Definitions[S], saved *S, savedSource string, typed *S, typedSource string) (templates.Changes, error) {
	texts, err := of.Texts(saved, savedSource, typed, typedSource)
	if err != nil {
		return nil, err
	}
	return changedLines(texts[0], texts[1])
}

// changedLines are the lines in which two texts differ, with some around them; none where they are the same.
func changedLines(before, after string) (templates.Changes, error) {
	difference, err := udiff.ToUnifiedDiff("", "", before, lineEdits(before, after), changesAround)
	if err != nil {
		return nil, fmt.Errorf("compare two texts: %w", err)
	}
	var lines templates.Changes
	for i, hunk := range difference.Hunks {
		if i > 0 {
			lines = append(lines, templates.ChangedLine{Kind: templates.LineGap})
		}
		for _, line := range hunk.Lines {
			kind := templates.LineBoth
			switch line.Kind {
			case udiff.Insert:
				kind = templates.LineAdded
			case udiff.Delete:
				kind = templates.LineRemoved
			case udiff.Equal:
			}
			lines = append(lines, templates.ChangedLine{Kind: kind, Text: strings.TrimRight(line.Content, "\n")})
		}
	}
	return lines, nil
}

// lineEdits are the changes from one text to another, line by line: a line is kept or not, never cut.
func lineEdits(before, after string) []udiff.Edit {
	from, to := slices.Collect(strings.Lines(before)), slices.Collect(strings.Lines(after))
	var edits []udiff.Edit
	line, offset := 0, 0
	codes := map[string]rune{}
	for _, d := range lcs.DiffRunes(coded(from, codes), coded(to, codes)) {
		for ; line < d.Start; line++ {
			offset += len(from[line])
		}
		edit := udiff.Edit{Start: offset, New: strings.Join(to[d.ReplStart:d.ReplEnd], "")}
		for ; line < d.End; line++ {
			offset += len(from[line])
		}
		edit.End = offset
		edits = append(edits, edit)
	}
	return edits
}

// coded gives each line a number, the same to the same line.
func coded(lines []string, codes map[string]rune) []rune {
	runes := make([]rune, len(lines))
	for i, line := range lines {
		code, known := codes[line]
		if !known {
			code = rune(len(codes))
			codes[line] = code
		}
		runes[i] = code
	}
	return runes
}
