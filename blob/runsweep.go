package blob

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Unwanted returns of some runs those whose objects are to go, with an instant: where one was written at it or later, all stay.
type Unwanted = func(ctx context.Context, runs []string) (map[string]time.Time, error)

// SweepRuns removes what nobody wants any more of a folder, Logs or Artifacts, and returns how many runs had it.
func (s *Store) SweepRuns(ctx context.Context, folder Folder, unwanted Unwanted) (swept int, err error) {
	err = s.eachUnwanted(ctx, folder, unwanted, func(_ string, found runObjects) error {
		err := s.removeObjects(ctx, string(folder), found.keys)
		if err == nil {
			swept++
		}
		return err
	})
	return swept, err
}

// UnwantedRuns returns the runs of which SweepRuns would remove something.
func (s *Store) UnwantedRuns(ctx context.Context, folder Folder, unwanted Unwanted) (runs []string, err error) {
	err = s.eachUnwanted(ctx, folder, unwanted, func(run string, _ runObjects) error {
		runs = append(runs, run)
		return nil
	})
	return runs, err
}

// eachUnwanted calls each with the runs whose objects are unwanted, and these: what an attempt writes from then on is not among them.
func (s *Store) eachUnwanted(ctx context.Context, folder Folder, unwanted Unwanted, each func(run string, found runObjects) error) error {
	prefix := s.prefix + string(folder)
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix, Delimiter: aws.String("/")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return explain("list "+prefix, err)
		}
		var runs []string
		for _, found := range page.CommonPrefixes {
			run := strings.TrimSuffix(strings.TrimPrefix(aws.ToString(found.Prefix), prefix), "/")
			if checkRun(run) == nil { // anything else is not ours
				runs = append(runs, run)
			}
		}
		if len(runs) == 0 {
			continue
		}
		going, err := unwanted(ctx, runs)
		if err != nil {
			return err
		}
		for _, run := range runs {
			before, goes := going[run]
			if !goes {
				continue
			}
			found, err := s.objectsOf(ctx, string(folder), run)
			if err != nil {
				return err
			}
			if !found.newest.Before(before) {
				continue
			}
			if err := each(run, found); err != nil {
				return err
			}
		}
	}
	return nil
}
