package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// followPause is how long lines are gathered between two messages to a reader who follows an output. Nobody reads
// faster, and of a program that prints much only the last page of lines is sent: rows that nobody sees would keep the
// server, the line and the reader's browser busy.
const followPause = 100 * time.Millisecond

// followed is one message to a reader who follows an output.
type followed struct {
	HTML    string `json:"html,omitempty"`    // rows; one that is there already is replaced
	Skipped bool   `json:"skipped,omitempty"` // rows are left out before these: the reader drops what he has
	Total   int64  `json:"total"`             // lines
	Size    string `json:"size"`              // in words
	// Where to go on should the connection be lost.
	Offset int64 `json:"offset"`
	Line   int64 `json:"line"`
	Mid    bool  `json:"mid,omitempty"`
}

// outputFollow sends lines as they come, a message a line of JSON. An answer may end before the output does, as when
// the server stops: only one that began with X-Log-Complete is whole when it ends, and the script asks for the rest of
// any other.
func (u *UI) outputFollow(c echo.Context, log *service.Log) error {
	place := templates.Place{Line: 1, Mid: c.QueryParam("mid") != ""}
	for name, number := range map[string]*int64{"offset": &place.Offset, "line": &place.Line} {
		value, err := strconv.ParseInt(c.QueryParam(name), 10, 64)
		if err != nil || value < 0 {
			return echo.ErrBadRequest
		}
		*number = value
	}
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, "application/x-ndjson")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Accel-Buffering", "no")
	header.Set("X-Log-Complete", strconv.FormatBool(log.Complete))
	c.Response().WriteHeader(http.StatusOK)
	ctx := c.Request().Context()
	stream := &outputStream{
		ctx: ctx, out: u.patient(c), lines: assembler{place: place},
		page: templates.Output{Run: log.Run.ID, Attempt: max(log.Attempt, 1)},
	}
	if err := stream.out.flush(); err != nil {
		return nil //nolint:nilerr // the reader has gone
	}
	err := u.service.FollowLog(ctx, namespaceOf(ctx), log.Run.ID, log.Attempt, place.Offset, stream.add)
	if last := stream.end(); err == nil {
		err = last
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the reader has gone, or the server stops
	}
	return err
}

// outputStream sends what comes of an output to one reader, a message each followPause at most.
type outputStream struct {
	ctx  context.Context //nolint:containedctx // that of the request, which the stream ends with
	out  *patient
	page templates.Output

	mu    sync.Mutex
	lines assembler
	size  int64       // bytes of the output so far
	sent  time.Time   // when the last message was
	due   *time.Timer // that of the next one; nil where nothing waits
	ended bool
	err   error // of the last message
}

// add takes a piece; without data it asks whether the reader is there.
func (s *outputStream) add(piece service.LogPiece) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return s.err
	case len(piece.Data) == 0:
		return s.out.flush()
	}
	s.lines.add(piece.Data)
	s.lines.marks = piece.Marks
	s.size = piece.Offset + int64(len(piece.Data))
	if s.due != nil {
		return nil
	}
	if wait := followPause - time.Since(s.sent); wait > 0 {
		s.due = time.AfterFunc(wait, s.send)
		return nil
	}
	s.err = s.message()
	return s.err
}

// send is what the timer does.
func (s *outputStream) send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.due == nil || s.ended {
		return
	}
	s.due = nil
	s.err = s.message()
}

// end sends what still waits; nothing is sent after it.
func (s *outputStream) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.due != nil && s.err == nil {
		s.due.Stop()
		s.err = s.message()
	}
	return s.err
}

// message sends the lines that were gathered.
func (s *outputStream) message() error {
	rows, skipped := s.lines.take()
	next := s.lines.next()
	message := followed{Skipped: skipped, Total: next.Line, Size: templates.Size(s.size), Offset: next.Offset, Line: next.Line, Mid: next.Mid}
	if s.lines.size == 0 {
		message.Total--
	}
	part := s.page
	part.Lines = rows
	var html bytes.Buffer
	if err := templates.Rows(part).Render(s.ctx, &html); err != nil {
		return fmt.Errorf("render output: %w", err)
	}
	message.HTML = html.String()
	text, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	s.sent = time.Now()
	if _, err := s.out.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("send output: %w", err)
	}
	return s.out.flush()
}

// assembler makes lines of output that comes in pieces, and keeps the last page of them until they are taken.
type assembler struct {
	place templates.Place // of the line under way
	held  []byte          // its beginning, as far as it is shown
	size  int64           // what there is of it
	// returned reports whether its last byte was a carriage return: what comes next is drawn over it.
	returned bool
	ended    []endedLine // lines that were not taken yet, some more than a page of them at most
	skipped  bool        // lines before these were dropped
	marks    []engine.OutputMark
}

// endedLine is a line as the program printed it. It is made fit for the page only if it is shown.
type endedLine struct {
	number, offset, end int64
	text                []byte
	cut                 bool
}

// add takes a piece.
func (a *assembler) add(data []byte) {
	for len(data) > 0 {
		text, rest, ended := bytes.Cut(data, []byte{'\n'})
		a.hold(text)
		data = rest
		if !ended {
			return
		}
		if !a.place.Mid {
			a.keep()
		}
		a.place = templates.Place{Offset: a.place.Offset + a.size + 1, Line: a.place.Line + 1}
		a.held, a.size, a.returned = a.held[:0], 0, false
	}
}

// hold takes a piece of the line under way. A carriage return with something behind it begins the line anew.
func (a *assembler) hold(text []byte) {
	if drawn := bytes.TrimRight(text, "\r"); len(text) > 0 {
		if at := bytes.LastIndexByte(drawn, '\r'); at >= 0 {
			a.redraw(int64(at) + 1)
			text = text[at+1:]
		} else if a.returned && len(drawn) > 0 {
			a.redraw(0)
		}
		a.returned = text[len(text)-1] == '\r'
	}
	if room := lineBytes - len(a.held); room > 0 && !a.place.Mid {
		a.held = append(a.held, text[:min(room, len(text))]...)
	}
	a.size += int64(len(text))
}

// redraw lets the line under way begin behind so many bytes of the piece that comes.
func (a *assembler) redraw(skipped int64) {
	a.place.Offset, a.place.Mid = a.place.Offset+a.size+skipped, false
	a.held, a.size = a.held[:0], 0
}

// keep puts the line that has ended with the others. It takes over the space of one that is dropped.
func (a *assembler) keep() {
	if len(a.ended) == 2*templates.PageLines {
		for i, line := range a.ended[templates.PageLines:] {
			a.ended[i], a.ended[templates.PageLines+i] = line, a.ended[i]
		}
		a.ended, a.skipped = a.ended[:templates.PageLines], true
	}
	if len(a.ended) < cap(a.ended) {
		a.ended = a.ended[:len(a.ended)+1]
	} else {
		a.ended = append(a.ended, endedLine{})
	}
	line := &a.ended[len(a.ended)-1]
	line.number, line.offset, line.end = a.place.Line, a.place.Offset, a.place.Offset+a.size
	line.cut = a.size > int64(len(a.held))
	line.text = append(line.text[:0], a.held...)
}

// take returns the lines that have ended since it was last asked and, last, the one under way; only the last of them
// where they are more than a page, and tells so.
func (a *assembler) take() (lines []templates.Line, dropped bool) {
	ended, skipped := a.ended, a.skipped
	if len(ended) > templates.PageLines {
		ended, skipped = ended[len(ended)-templates.PageLines:], true
	}
	for _, line := range ended {
		lines = append(lines, viewLine(line.number, line.offset, line.text, line.end, line.cut, a.marks))
	}
	a.ended, a.skipped = a.ended[:0], false
	if a.size > 0 && !a.place.Mid {
		// The rest of its last character is on its way.
		lines = append(lines, viewLine(a.place.Line, a.place.Offset, whole(a.held), a.place.Offset+a.size, a.size > int64(len(a.held)), a.marks))
	}
	if len(lines) > templates.PageLines {
		return lines[len(lines)-templates.PageLines:], true
	}
	return lines, skipped
}

// next is where a reader goes on that has lost the connection.
func (a *assembler) next() templates.Place {
	place := a.place
	if a.place.Mid || a.size > lineBytes {
		place.Offset, place.Mid = place.Offset+a.size, true
	}
	return place
}
