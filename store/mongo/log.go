package mongo

import (
	"context"
	"log/slog"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// driverLog writes what the driver reports of its commands to a logger, for an operator who looks for slow or failing ones.
type driverLog struct{ logger *slog.Logger }

// Info implements options.LogSink.
func (l driverLog) Info(_ int, message string, details ...any) {
	l.logger.Debug("mongodb: "+message, details...)
}

// Error implements options.LogSink.
func (l driverLog) Error(err error, message string, details ...any) {
	l.logger.Debug("mongodb: "+message, append(details, "error", err)...)
}

// logCommands makes the driver log its commands, if the logger wants to know that much. Documents are cut: a command
// may hold a thousand of them.
func logCommands(client *options.ClientOptions, logger *slog.Logger) {
	if !logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	client.SetLoggerOptions(options.Logger().SetSink(driverLog{logger}).
		SetComponentLevel(options.LogComponentCommand, options.LogLevelDebug).
		SetMaxDocumentLength(8192))
}
