package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/moving"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/sqlite"
	"github.com/tidewheel/tidewheel/web/service"
)

// otherBackup is the advice to an operator whose database offers no snapshot reads.
const otherBackup = "Use the database's own backups (snapshots, or mongodump --oplog) together with those of the bucket, or stop " +
	"all servers and call `tidewheel backup FILE --mongodb-uri … --s3-endpoint …`"

// noBackup returns why no backup of this server can be made while it runs; "" if one can.
func (s *Server) noBackup(ctx context.Context) (string, error) {
	store, outside := s.store.(*mongo.Store)
	if !outside {
		return "", nil
	}
	switch err := store.CheckMoment(ctx); {
	case errors.Is(err, mongo.ErrNoMoment):
		return fmt.Sprintf("%v. %s", err, otherBackup), nil
	default:
		return "", err
	}
}

// momentOf views a database as it was at one moment.
type momentOf struct{ store *mongo.Store }

// View implements moving.Source.
func (m momentOf) View(ctx context.Context, read func(engine.DocumentPages) error) error {
	return m.store.Moment(ctx, read)
}

// backup writes a backup of one moment while the server runs, with all others that share its database.
func (s *Server) backup(ctx context.Context, to io.Writer, parts service.BackupParts) error {
	contents := moving.Contents{
		Header:  moving.Header{Tidewheel: version, CreatedAt: time.Now().UTC(), Running: true, Logs: parts.Logs},
		Objects: movable{s.blobs}, NoSecrets: !parts.Secrets,
	}
	switch store := s.store.(type) {
	case *mongo.Store:
		contents.Documents = momentOf{store}
	case *sqlite.Store:
		contents.Documents = store
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
