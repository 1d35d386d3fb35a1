package ui

import (
	"context"
	"fmt"
	"strconv"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// pieceSize is how much of an output is shown at once, in bytes.
const pieceSize = 64 << 10

// firstOutput is what a page shows of an output at first: its end, or what stands before an offset.
func firstOutput(ctx context.Context, log *service.Log, before int64) (templates.Output, error) {
	out := templates.Output{
		Run: log.Run.ID, Attempt: log.Attempt, Size: log.Size, Complete: log.Complete, Missing: log.Missing,
		Past: before > 0 && before < log.Size,
	}
	if log.Cut > 0 && out.Missing == "" {
		out.Missing = templates.Size(log.Cut) + " more were printed and not kept: the job's limits.output says how much is."
	}
	if !out.Past {
		before = log.Size
	}
	data, offset, err := pieceBefore(ctx, log, before)
	if err != nil {
		return out, err
	}
	if !out.Complete && !out.Past {
		data = whole(data) // the rest of the last character comes with what follows
	}
	out.End = offset + int64(len(data))
	out.Piece = viewPiece(log, data, offset)
	return out, nil
}

// pieceBefore reads what stands before an offset, from the beginning of a line on if there is one.
func pieceBefore(ctx context.Context, log *service.Log, before int64) (data []byte, offset int64, err error) {
	before = min(max(before, 0), log.Size)
	offset = max(before-pieceSize, 0)
	data = make([]byte, before-offset)
	n, err := log.ReadAt(ctx, data, offset)
	if err != nil {
		return nil, 0, fmt.Errorf("read the output of run %s: %w", log.Run.ID, err)
	}
	data = data[:n]
	if offset > 0 {
		skip := fromLine(data)
		data, offset = data[skip:], offset+int64(skip)
	}
	return data, offset, nil
}

func viewPiece(log *service.Log, data []byte, offset int64) templates.Piece {
	return templates.Piece{
		Text: readable(data), Before: offset,
		Earlier: "/runs/" + log.Run.ID + "?attempt=" + strconv.Itoa(log.Attempt) + "&before=" + strconv.FormatInt(offset, 10),
	}
}
