package main

import (
	"context"
	"io"
	"time"

	"github.com/tidewheel/tidewheel/moving"
	"github.com/tidewheel/tidewheel/store/sqlite"
	"github.com/tidewheel/tidewheel/web/service"
)

// noBackup is what a server says that keeps its documents in MongoDB.
const noBackup = "its documents are in MongoDB, which gives no view of one moment of them. Use the database's own backups " +
	"(snapshots, or mongodump --oplog) together with those of the bucket, or stop all servers and call " +
	"`tidewheel backup FILE --mongodb-uri … --s3-endpoint …`"

// backups gives what writes backups of this server while it goes on, nil where it cannot.
func (s *Server) backups() service.BackupWriter {
	store, embedded := s.store.(*sqlite.Store)
	if !embedded {
		return nil
	}
	return func(ctx context.Context, to io.Writer, parts service.BackupParts) error {
		contents := moving.Contents{
			Header:    moving.Header{Tidewheel: version, CreatedAt: time.Now().UTC(), Running: true, Logs: parts.Logs},
			Documents: store, Objects: movable{s.blobs}, NoSecrets: !parts.Secrets,
		}
		if parts.Secrets {
			var err error
			if contents.Keys, err = s.data.readKeys(); err != nil {
				return err
			}
		}
		began := time.Now()
		manifest, err := moving.Write(ctx, to, contents, nil)
		if err != nil {
			return err
		}
		s.log.Info("made a backup", "documents", manifest.Documents(), "objects", manifest.Objects(), "took", time.Since(began))
		for _, warning := range manifest.Warnings {
			s.log.Warn("in the backup: " + warning)
		}
		return nil
	}
}
