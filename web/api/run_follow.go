package api

import (
	"context"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

// followText sends output as it comes, byte for byte, or with a stamp before each line.
func (a *API) followText(ctx context.Context, out huma.Context, log *service.Log, offset int64, stamped bool) {
	describeLog(out, log, offset)
	out.SetHeader("X-Accel-Buffering", "no")
	out.SetStatus(http.StatusOK)
	w := a.patient(out)
	write := func(piece service.LogPiece) error {
		_, err := w.Write(piece.Data)
		return err
	}
	var err error
	if stamped {
		var stamper *service.Stamper
		stamper, err = service.NewStamper(ctx, w, log, offset)
		write = func(piece service.LogPiece) error { return stamper.Write(piece.Data, piece.Marks) }
	}
	if err == nil {
		err = w.flush()
	}
	if err == nil {
		err = a.service.FollowLog(ctx, log.Run.Namespace, log.Run.ID, log.Attempt, offset, func(piece service.LogPiece) error {
			if len(piece.Data) == 0 {
				return nil
			}
			if err := write(piece); err != nil {
				return err
			}
			return w.flush()
		})
	}
	if err != nil {
		a.streamBroke(ctx, err)
	}
}

// followEvents sends output as it comes, as text in events.
func (a *API) followEvents(ctx context.Context, log *service.Log, offset int64, stream *eventStream) {
	text := &textPieces{stream: stream, said: time.Now()}
	err := stream.beat()
	if err == nil {
		err = a.service.FollowLog(ctx, log.Run.Namespace, log.Run.ID, log.Attempt, offset, text.add)
	}
	if err == nil {
		err = text.flush()
	}
	if err == nil {
		log, err = a.service.OpenLog(ctx, log.Run.Namespace, log.Run.ID, log.Attempt)
	}
	if err == nil {
		end := wire.LogEnd{Status: log.Run.Status, Size: log.Size}
		if log.Attempt > 0 {
			end.Status = log.Run.Attempts[log.Attempt-1].Status
		}
		err = stream.send("end", strconv.FormatInt(log.Size, 10), end)
	}
	if err != nil {
		a.streamBroke(ctx, err)
	}
}

// textPieces makes events of output. A character that is cut by the end of a piece waits for its rest.
type textPieces struct {
	stream *eventStream
	held   []byte
	at     int64 // offset of held
	said   time.Time
}

func (t *textPieces) add(piece service.LogPiece) error {
	offset, data := piece.Offset, piece.Data
	if len(data) == 0 {
		if time.Since(t.said) < heartbeat {
			return nil
		}
		t.said = time.Now()
		return t.stream.beat()
	}
	if len(t.held) > 0 {
		data = append(t.held, data...)
		offset, t.held = t.at, nil
	}
	whole := len(data) - cutCharacter(data)
	if whole < len(data) {
		t.held, t.at = append([]byte(nil), data[whole:]...), offset+int64(whole)
	}
	return t.send(offset, data[:whole])
}

// flush sends what waits for a rest that never came.
func (t *textPieces) flush() error {
	held := t.held
	t.held = nil
	return t.send(t.at, held)
}

func (t *textPieces) send(offset int64, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	t.said = time.Now()
	return t.stream.send("output", strconv.FormatInt(offset+int64(len(data)), 10), wire.LogPiece{Offset: offset, Text: string(data)})
}

// cutCharacter reports how many bytes at the end begin a character that is not whole.
func cutCharacter(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		last := data[len(data)-n:]
		if utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}
