package ui

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	// lineBytes is how much of a long line is shown.
	lineBytes = 4 << 10
	// linesBytes is how much text is shown at once.
	linesBytes = 256 << 10
)

// viewOutput is what a page shows of an output: its end, or the lines from a number on (from 1).
func viewOutput(ctx context.Context, log *service.Log, from int64) (templates.Output, error) {
	out := templates.Output{
		Run: log.Run.ID, Attempt: log.Attempt, Total: log.Lines, Size: log.Size, Complete: log.Complete, Missing: log.Missing,
		Past: from > 0,
	}
	if out.Missing == "" {
		out.Missing = notKept(log)
	}
	var lines []service.LogLine
	var err error
	if from > 0 {
		lines, err = log.ReadLines(ctx, from-1, templates.PageLines)
	} else {
		lines, err = lastLines(ctx, log)
	}
	if err != nil {
		return out, fmt.Errorf("read the output of run %s: %w", log.Run.ID, err)
	}
	out.Lines = viewLines(ctx, log, lines, from > 0)
	out.Never = neverRan(log)
	out.Follow = templates.Place{Offset: log.Size, Line: log.Lines + 1}
	if last := len(lines) - 1; last >= 0 && lines[last].Number == log.Lines-1 {
		out.Follow, err = followFrom(ctx, log, &lines[last])
	}
	return out, err
}

// notKept says why an output is not all that was printed, "" if it is.
func notKept(log *service.Log) string {
	var words []string
	if log.Lost > 0 {
		words = append(words, templates.Size(log.Lost)+" could not be stored: S3 did not take them in time.")
	}
	if log.Cut > 0 {
		words = append(words, templates.Size(log.Cut)+" more were printed and not kept: the job's limits.output says how much is.")
	}
	return strings.Join(words, " ")
}

// lastLines reads the last lines: fewer where they are so long that reading stops before the end.
func lastLines(ctx context.Context, log *service.Log) (lines []service.LogLine, err error) {
	for count := int64(templates.PageLines); count > 0; count /= 4 {
		lines, err = log.ReadLines(ctx, max(0, log.Lines-count), count)
		if err != nil || len(lines) == 0 || lines[len(lines)-1].Number == log.Lines-1 {
			break
		}
	}
	return lines, err
}

// followFrom is where what comes next belongs: in the last line while it has no end, behind it otherwise.
func followFrom(ctx context.Context, log *service.Log, last *service.LogLine) (templates.Place, error) {
	end := templates.Place{Offset: log.Size, Line: last.Number + 2}
	if log.Complete || log.Size == 0 {
		return end, nil
	}
	var final [1]byte
	if _, err := log.ReadAt(ctx, final[:], log.Size-1); err != nil {
		return end, fmt.Errorf("read the end of the output of run %s: %w", log.Run.ID, err)
	}
	switch {
	case final[0] == '\n':
		return end, nil
	case log.Size-last.Offset > lineBytes:
		return templates.Place{Offset: log.Size, Line: last.Number + 1, Mid: true}, nil
	}
	return templates.Place{Offset: last.Offset, Line: last.Number + 1}, nil
}

// viewLines makes lines readable, as many as fit: the first of them, or the last.
func viewLines(ctx context.Context, log *service.Log, lines []service.LogLine, first bool) []templates.Line {
	views := make([]templates.Line, len(lines))
	for i := range lines {
		end := log.Size
		if i+1 < len(lines) {
			end = lines[i+1].Offset - 1
		}
		text, truncated := lines[i].Text, lines[i].Truncated
		if truncated && bytes.IndexByte(bytes.TrimRight(text, "\r"), '\r') >= 0 {
			text, truncated = lastOf(ctx, log, end), false // what was drawn last is at its end
		}
		views[i] = viewLine(lines[i].Number+1, lines[i].Offset, text, end, truncated, log.Marks)
	}
	room := linesBytes
	fits := func(line *templates.Line) bool {
		for _, span := range line.Spans {
			room -= len(span.Text)
		}
		return room > 0
	}
	if first {
		for i := range views {
			if !fits(&views[i]) && i > 0 {
				return views[:i]
			}
		}
		return views
	}
	for i := len(views) - 1; i >= 0; i-- {
		if !fits(&views[i]) && i < len(views)-1 {
			return views[i+1:]
		}
	}
	return views
}

// viewLine makes a line readable: its beginning, if it is long. end is where it ends.
func viewLine(number, offset int64, text []byte, end int64, truncated bool, marks []engine.OutputMark) templates.Line {
	line := templates.Line{N: number}
	if drawn := drawnLast(text); len(drawn) < len(text) && !truncated {
		offset, text = end-int64(len(drawn)), drawn
	}
	if mark, known := engine.OutputMarkAt(marks, offset); known {
		line.At, line.Stderr = mark.At, mark.Stream == engine.StreamStderr
	}
	if len(text) > lineBytes {
		text = whole(text[:lineBytes])
		line.More, line.Offset = end-offset-int64(len(text)), offset+int64(len(text))
	} else if truncated {
		line.More, line.Offset = end-offset-int64(len(text)), offset+int64(len(text))
	}
	line.Spans, line.Progress = styled(text), bytes.HasPrefix(text, []byte("::progress "))
	return line
}

// drawnLast is what a terminal shows of a line in the end: a carriage return begins it anew, as progress bars do.
func drawnLast(text []byte) []byte {
	text = bytes.TrimRight(text, "\r")
	return text[bytes.LastIndexByte(text, '\r')+1:]
}

// lastOf reads the last part of a line that is too long to be read whole. Where it cannot be read the line is shown empty.
func lastOf(ctx context.Context, log *service.Log, end int64) []byte {
	from := max(end-lineBytes, 0)
	text := make([]byte, end-from)
	n, err := log.ReadAt(ctx, text, from)
	if err != nil {
		return nil
	}
	text = bytes.TrimSuffix(text[:n], []byte{'\n'})
	if at := bytes.LastIndexByte(text, '\n'); at >= 0 {
		text = text[at+1:]
	}
	return text
}

// neverRan says why there is no output of an attempt that never began; "" of any other.
func neverRan(log *service.Log) string {
	run := &log.Run
	if !log.Complete || log.Size > 0 || log.Missing != "" {
		return ""
	}
	if log.Attempt > 0 {
		if attempt := &run.Attempts[log.Attempt-1]; !attempt.StartedAt.IsZero() || attempt.ExitCode != nil || attempt.Signal != "" {
			return ""
		}
	}
	what := "This run"
	if run.Task != "" {
		what = "This task"
	}
	words := what + " never ran, so there is no output."
	if log.Attempt > 0 && len(run.Attempts) > 1 {
		words = "The program never started in this attempt, so there is no output."
	}
	if why := reason(run); why != "" {
		words += " " + capital(readable([]byte(why))) + "."
	}
	return words
}

// viewFound is what a search has found, and how it goes on.
func viewFound(out *templates.Output, search service.LogSearch, found service.LogMatches) *templates.Found {
	view := &templates.Found{One: "holds “" + search.Text + "”", Many: "hold “" + search.Text + "”"}
	if search.Errors {
		view.One, view.Many = "looks like an error", "look like errors"
	}
	for _, match := range found.Matches {
		view.Matches = append(view.Matches, templates.Match{
			N: match.Line, Before: plain(match.Text[:match.Start]), Hit: plain(match.Text[match.Start:match.End]), Behind: plain(match.Text[match.End:]),
		})
	}
	if found.Next != "" {
		view.Share = templates.Size(found.Searched) + " of " + templates.Size(out.Size)
		view.Next = searchURL(out, search, found.Next)
	}
	return view
}

// plain is text without its looks.
func plain(text []byte) string {
	var out bytes.Buffer
	for _, span := range styled(text) {
		out.WriteString(span.Text)
	}
	return out.String()
}
