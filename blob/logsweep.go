package blob

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// KnownRuns returns which of some runs exist.
type KnownRuns = func(ctx context.Context, runs []string) (map[string]bool, error)

// SweepLogs removes the outputs of runs that are gone, of which a crash has left the output when the runs were
// removed. An output that has changed since before stays, whatever known says: a run that old is the only one that
// anybody removes. It returns how many runs' outputs it removed.
func (s *Store) SweepLogs(ctx context.Context, before time.Time, known KnownRuns) (int, error) {
	return s.sweepRuns(ctx, logsFolder, before, known, s.DeleteLogs)
}

// SweepArtifacts does the same with artifacts. Those of attempts that did not come to report them go with their run.
func (s *Store) SweepArtifacts(ctx context.Context, before time.Time, known KnownRuns) (int, error) {
	return s.sweepRuns(ctx, artifactsFolder, before, known, s.DeleteArtifacts)
}

// sweepRuns removes what lies in a folder below the ids of runs that are gone.
func (s *Store) sweepRuns(
	ctx context.Context, folder string, before time.Time, known KnownRuns, remove func(context.Context, string) (int64, error),
) (int, error) {
	swept := 0
	folder = s.prefix + folder
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &folder, Delimiter: aws.String("/")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return swept, explain("list "+folder, err)
		}
		var runs []string
		for _, found := range page.CommonPrefixes {
			run := strings.TrimSuffix(strings.TrimPrefix(aws.ToString(found.Prefix), folder), "/")
			if checkRun(run) == nil { // anything else is not ours
				runs = append(runs, run)
			}
		}
		if len(runs) == 0 {
			continue
		}
		exist, err := known(ctx, runs)
		if err != nil {
			return swept, err
		}
		for _, run := range runs {
			if exist[run] {
				continue
			}
			recent, err := s.changedSince(ctx, folder+run+"/", before)
			if err != nil {
				return swept, err
			}
			if recent {
				continue
			}
			if _, err := remove(ctx, run); err != nil {
				return swept, err
			}
			swept++
		}
	}
	return swept, nil
}

// changedSince reports whether something in a folder has been written since an instant.
func (s *Store) changedSince(ctx context.Context, folder string, since time.Time) (bool, error) {
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &folder})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return false, explain("list "+folder, err)
		}
		for _, found := range page.Contents {
			if !aws.ToTime(found.LastModified).Before(since) {
				return true, nil
			}
		}
	}
	return false, nil
}
