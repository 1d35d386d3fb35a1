package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// BinaryCheck is what was found in the stored bytes of binaries.
type BinaryCheck struct {
	Checked int // contents that were read
	Rest    int // contents that were not, for lack of time
	Faults  []BinaryFault
}

// BinaryFault is a version whose bytes are missing or, if not Missing, are not what was uploaded.
type BinaryFault struct {
	Name    string
	Version engine.BinaryVersion
	Missing bool
}

// CheckBinaries reads the bytes of all versions of a namespace's binaries, for as long as it may, the newest of each
// binary first. It changes nothing.
func (s *Service) CheckBinaries(ctx context.Context, namespace string, limit time.Duration) (BinaryCheck, error) {
	var check BinaryCheck
	until := s.now().Add(limit)
	seen := map[string]bool{}
	for cursor := ""; ; {
		binaries, next, err := s.store.Binaries(ctx, namespace, cursor, checkPage)
		if err != nil {
			return check, err
		}
		for i := range binaries {
			for _, version := range slices.Backward(binaries[i].Versions) {
				if seen[version.SHA256] {
					continue
				}
				seen[version.SHA256] = true
				if s.now().After(until) {
					check.Rest++
					continue
				}
				check.Checked++
				missing, damaged, err := s.checkBytes(ctx, version.SHA256)
				if err != nil {
					return check, err
				}
				if missing || damaged {
					check.Faults = append(check.Faults, BinaryFault{Name: binaries[i].Name, Version: version, Missing: missing})
				}
			}
		}
		if cursor = next; cursor == "" {
			return check, nil
		}
	}
}

const checkPage = 200

func (s *Service) checkBytes(ctx context.Context, digest string) (missing, damaged bool, err error) {
	content, _, err := s.blobs.GetBinary(ctx, digest)
	if errors.Is(err, engine.ErrNotFound) {
		return true, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("check the bytes of %s: %w", digest, err)
	}
	defer content.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, content)
	var wrong *DigestError
	switch {
	case errors.As(err, &wrong):
		return false, true, nil
	case err != nil:
		return false, false, fmt.Errorf("check the bytes of %s: %w", digest, err)
	}
	return false, hex.EncodeToString(hash.Sum(nil)) != digest, nil
}
