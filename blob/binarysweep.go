package blob

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// unusedFolder holds an empty object for each program that a sweep has found unused, under its digest. When it was
// written says since when, for whichever node sweeps next.
const unusedFolder = "unused/"

func (s *Store) unusedKey(digest string) string { return s.prefix + unusedFolder + digest }

// UsedBinaries returns which of some programs, by their digests, a definition or a run refers to.
type UsedBinaries = func(ctx context.Context, digests []string) (map[string]bool, error)

// SweepBinaries removes the programs that nothing has referred to since a sweep before the given instant, and returns
// their digests. The first sweep that finds a program unused marks it; a later one removes it, if it still is; a
// program that is used again, or uploaded again, loses its mark. What was stored after the instant is not looked at:
// its upload may not have written its version yet.
func (s *Store) SweepBinaries(ctx context.Context, before time.Time, used UsedBinaries) (removed []string, err error) {
	marked, err := s.digests(ctx, unusedFolder, time.Time{})
	if err != nil {
		return nil, err
	}
	stored, err := s.digests(ctx, binariesFolder, before)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	all := make([]string, 0, len(stored))
	for digest := range stored {
		all = append(all, digest)
	}
	inUse, err := used(ctx, all)
	if err != nil {
		return nil, err
	}
	var due []string
	for _, digest := range all {
		since, isMarked := marked[digest]
		switch {
		case inUse[digest] && isMarked:
			err = s.remove(ctx, s.unusedKey(digest))
		case inUse[digest]:
		case !isMarked:
			err = s.putSmall(ctx, s.unusedKey(digest), nil)
		case since.Before(before):
			due = append(due, digest)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(due) == 0 {
		return nil, nil
	}
	// What was asked first may have changed while the rest was read.
	if inUse, err = used(ctx, due); err != nil {
		return nil, err
	}
	for _, digest := range due {
		if inUse[digest] {
			continue
		}
		isMarked, err := s.isUnused(ctx, digest)
		if err != nil {
			return removed, err
		}
		if !isMarked { // it was uploaded again
			continue
		}
		if err := s.DeleteBinary(ctx, digest); err != nil {
			return removed, err
		}
		removed = append(removed, digest)
		if err := s.remove(ctx, s.unusedKey(digest)); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// isUnused reports whether a program is marked as unused.
func (s *Store) isUnused(ctx context.Context, digest string) (bool, error) {
	marked := false
	err := s.list(ctx, s.unusedKey(digest), func(string, time.Time) { marked = true })
	return marked, err
}

// digests lists what lies in a folder under digests, with when it was written; before an instant, unless that is zero.
func (s *Store) digests(ctx context.Context, folder string, before time.Time) (map[string]time.Time, error) {
	found := map[string]time.Time{}
	err := s.list(ctx, s.prefix+folder, func(key string, at time.Time) {
		digest := strings.TrimPrefix(key, s.prefix+folder)
		if checkDigest(digest) == nil && (before.IsZero() || at.Before(before)) { // anything else is not ours
			found[digest] = at
		}
	})
	return found, err
}

// list calls each with the keys that begin with a prefix, and when they were written.
func (s *Store) list(ctx context.Context, prefix string, each func(key string, at time.Time)) error {
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return explain("list "+prefix, err)
		}
		for _, found := range page.Contents {
			each(aws.ToString(found.Key), aws.ToTime(found.LastModified))
		}
	}
	return nil
}
