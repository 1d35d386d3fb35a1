package service

import (
	"context"
	"io"
)

// BackupParts defines what a backup is to hold besides documents and programs.
type BackupParts struct {
	Logs    bool // outputs of runs
	Secrets bool // the keys and credentials of users, of the server and of its parts
}

// BackupWriter writes all that a server keeps into one stream.
type BackupWriter func(ctx context.Context, to io.Writer, parts BackupParts) error

// Backup returns what writes a backup: the caller calls it once. Only one is made at a time.
func (s *Service) Backup(ctx context.Context, parts BackupParts) (func(ctx context.Context, to io.Writer) error, error) {
	if s.config.NoBackup != nil {
		why, err := s.config.NoBackup(ctx)
		if err != nil {
			return nil, err
		}
		if why != "" {
			return nil, &Error{Kind: KindConflict, Code: "no_backup", Detail: "this server makes no backups: " + why}
		}
	}
	if !s.backingUp.TryLock() {
		return nil, &Error{Kind: KindConflict, Code: "backup_under_way", Detail: "another backup is being made: wait until it is done"}
	}
	return func(ctx context.Context, to io.Writer) error {
		defer s.backingUp.Unlock()
		return s.config.Backup(ctx, to, parts)
	}, nil
}
