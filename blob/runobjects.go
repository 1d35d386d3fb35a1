package blob

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"
)

// deletesAtOnce is how many objects are removed side by side.
const deletesAtOnce = 8

// runObjects are the objects that a run has in a folder.
type runObjects struct {
	keys   []string
	bytes  int64
	newest time.Time // when the last of them was written
}

// objectsOf returns what a run has in a folder.
func (s *Store) objectsOf(ctx context.Context, folder, run string) (found runObjects, err error) {
	if err := checkRun(run); err != nil {
		return found, err
	}
	prefix := s.prefix + folder + run + "/"
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return found, explain("list "+prefix, err)
		}
		for _, object := range page.Contents {
			found.keys = append(found.keys, aws.ToString(object.Key))
			found.bytes += aws.ToInt64(object.Size)
			if at := aws.ToTime(object.LastModified); at.After(found.newest) {
				found.newest = at
			}
		}
	}
	return found, nil
}

// DeleteLogs removes the logs of all attempts of a run, and returns how many bytes they had; none is no error.
func (s *Store) DeleteLogs(ctx context.Context, run string) (bytes int64, err error) {
	return s.deleteObjectsOf(ctx, logsFolder, run)
}

// DeleteArtifacts removes the artifacts of all attempts of a run, and returns how many bytes they had; none is no error.
func (s *Store) DeleteArtifacts(ctx context.Context, run string) (bytes int64, err error) {
	return s.deleteObjectsOf(ctx, artifactsFolder, run)
}

func (s *Store) deleteObjectsOf(ctx context.Context, folder, run string) (int64, error) {
	found, err := s.objectsOf(ctx, folder, run)
	if err == nil {
		err = s.removeObjects(ctx, folder, found.keys)
	}
	if err != nil {
		return 0, err
	}
	return found.bytes, nil
}

// removeObjects removes objects of a folder. The indexes of logs go first: half deleted, a log must look missing rather than broken.
func (s *Store) removeObjects(ctx context.Context, folder string, keys []string) error {
	var first, rest []string
	for _, key := range keys {
		if folder == logsFolder && path.Base(key) == logIndexName {
			first = append(first, key)
		} else {
			rest = append(rest, key)
		}
	}
	return errors.Join(s.removeAll(ctx, first), s.removeAll(ctx, rest))
}

// removeAll deletes one by one: many servers want the batch call in a way of their own.
func (s *Store) removeAll(ctx context.Context, keys []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(deletesAtOnce)
	for _, key := range keys {
		group.Go(func() error { return s.remove(ctx, key) })
	}
	return group.Wait()
}
