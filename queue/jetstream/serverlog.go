package jetstream

import (
	"context"
	"fmt"
	"log/slog"
)

// serverLog hands what the embedded server says to slog. A fatal message, after which the server's own logger would
// end the process, is kept for StartServer instead.
type serverLog struct {
	log   *slog.Logger
	fatal chan string // holds the first
}

func newServerLog(log *slog.Logger) *serverLog {
	return &serverLog{log: log.With("part", "nats"), fatal: make(chan string, 1)}
}

func (l *serverLog) write(level slog.Level, format string, values []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, fmt.Sprintf(format, values...))
	}
}

// Noticef takes the server's banner and its start messages, which no request was sent for: they are for debugging here.
func (l *serverLog) Noticef(format string, values ...any) { l.write(slog.LevelDebug, format, values) }

// Warnf takes a warning.
func (l *serverLog) Warnf(format string, values ...any) { l.write(slog.LevelWarn, format, values) }

// Errorf takes an error.
func (l *serverLog) Errorf(format string, values ...any) { l.write(slog.LevelError, format, values) }

// Debugf takes what is of use when the server itself is looked into.
func (l *serverLog) Debugf(format string, values ...any) { l.write(slog.LevelDebug, format, values) }

// Tracef takes the protocol's lines.
func (l *serverLog) Tracef(format string, values ...any) { l.write(slog.LevelDebug, format, values) }

// Fatalf takes what the server cannot continue after.
func (l *serverLog) Fatalf(format string, values ...any) {
	select {
	case l.fatal <- fmt.Sprintf(format, values...):
	default:
	}
	l.write(slog.LevelError, format, values)
}
