package blob

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Found is an object of a bucket that need not be this store's.
type Found struct {
	Key      string
	Size     int64 // in bytes
	ETag     string
	Modified time.Time
}

// List returns at most limit objects of a bucket whose keys begin with a prefix, in the order of their keys.
func (s *Store) List(ctx context.Context, bucket, prefix string, limit int) (found []Found, err error) {
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix})
	for pages.HasMorePages() && len(found) < limit {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, explain("list bucket "+bucket, err)
		}
		for _, object := range page.Contents {
			found = append(found, Found{
				Key: aws.ToString(object.Key), Size: aws.ToInt64(object.Size), ETag: aws.ToString(object.ETag), Modified: aws.ToTime(object.LastModified),
			})
		}
	}
	return found[:min(len(found), limit)], nil
}

// Bucket returns the name of the store's own bucket.
func (s *Store) Bucket() string { return s.bucket }
