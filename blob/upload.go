package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"
)

const (
	partSize     = 8 << 20
	maxParts     = 10_000 // as S3 has it
	partsAtOnce  = 2      // in flight, while one more is read
	copiesAtOnce = 4
)

// parts are lent out to uploads, so that many uploads in a row do not leave
// their buffers to the garbage collector.
var parts = sync.Pool{New: func() any { buffer := make([]byte, partSize); return &buffer }}

func partBuffer() *[]byte         { return parts.Get().(*[]byte) }
func releasePart(buffer *[]byte)  { parts.Put(buffer) }
func partNumber(index int) *int32 { return aws.Int32(int32(index + 1)) }

// upload is one multipart upload.
type upload struct {
	store *Store
	key   string
	id    *string
	parts []types.CompletedPart
}

func (s *Store) startUpload(ctx context.Context, key string) (*upload, error) {
	made, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &key})
	if err != nil {
		return nil, explain("start upload", err)
	}
	return &upload{store: s, key: key, id: made.UploadId}, nil
}

// stream sends a full first part and what the source has after it.
func (u *upload) stream(ctx context.Context, source io.Reader, first *[]byte) error {
	// Room for the parts in flight: reading waits when there is none.
	room := make(chan *[]byte, partsAtOnce)
	for range partsAtOnce {
		room <- partBuffer()
	}
	group, groupCtx := errgroup.WithContext(ctx)
	var guard sync.Mutex // over u.parts
	send := func(index int, data []byte, after func()) {
		group.Go(func() error {
			defer after()
			part, err := u.send(groupCtx, index, data)
			if err != nil {
				return err
			}
			guard.Lock()
			defer guard.Unlock()
			for len(u.parts) <= index {
				u.parts = append(u.parts, types.CompletedPart{})
			}
			u.parts[index] = part
			return nil
		})
	}
	send(0, *first, func() {})
	// Reading belongs to the group, so that its failure ends the parts in flight
	// and theirs ends the reading.
	group.Go(func() error {
		for index := 1; ; index++ {
			var buffer *[]byte
			select {
			case buffer = <-room:
			case <-groupCtx.Done():
				return explain("upload", context.Cause(groupCtx))
			}
			length, err := io.ReadFull(source, *buffer)
			last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
			if err != nil && !last {
				room <- buffer
				return fmt.Errorf("blob: read upload: %w", err)
			}
			if length == 0 {
				room <- buffer
				return nil
			}
			send(index, (*buffer)[:length], func() { room <- buffer })
			if last {
				return nil
			}
		}
	})
	if err := group.Wait(); err != nil {
		return err // a broken connection may still read the buffers: not to be lent again
	}
	for range partsAtOnce {
		releasePart(<-room)
	}
	return nil
}

func (u *upload) send(ctx context.Context, index int, data []byte) (types.CompletedPart, error) {
	sent, err := u.store.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &u.store.bucket, Key: &u.key, UploadId: u.id, PartNumber: partNumber(index), Body: bytes.NewReader(data),
	})
	if err != nil {
		return types.CompletedPart{}, explain(fmt.Sprintf("upload part %d", index+1), err)
	}
	return types.CompletedPart{ETag: sent.ETag, PartNumber: partNumber(index)}, nil
}

func (u *upload) complete(ctx context.Context) error {
	_, err := u.store.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &u.store.bucket, Key: &u.key, UploadId: u.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
	})
	return explain("complete upload", err)
}

// abort gives up an upload, even when the context has ended.
func (u *upload) abort(ctx context.Context) error {
	ctx, cancel := cleanup(ctx)
	defer cancel()
	_, err := u.store.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &u.store.bucket, Key: &u.key, UploadId: u.id})
	if code(err) == "NoSuchUpload" {
		return nil
	}
	return explain("give up upload", err)
}

// copyObject copies inside the server, in parts where S3 wants that.
func (s *Store) copyObject(ctx context.Context, from, to string, size int64) error {
	source := aws.String(s.bucket + "/" + escapeKey(from))
	if size <= s.copyLimit {
		_, err := s.client.CopyObject(ctx, &s3.CopyObjectInput{Bucket: &s.bucket, Key: &to, CopySource: source})
		return explain("copy to "+to, err)
	}
	upload, err := s.startUpload(ctx, to)
	if err != nil {
		return err
	}
	upload.parts = make([]types.CompletedPart, (size+s.copyPart-1)/s.copyPart)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(copiesAtOnce)
	for index := range upload.parts {
		group.Go(func() error {
			offset := int64(index) * s.copyPart
			copied, err := s.client.UploadPartCopy(groupCtx, &s3.UploadPartCopyInput{
				Bucket: &s.bucket, Key: &to, UploadId: upload.id, PartNumber: partNumber(index),
				CopySource: source, CopySourceRange: aws.String(byteRange(offset, min(s.copyPart, size-offset))),
			})
			if err != nil {
				return explain(fmt.Sprintf("copy part %d", index+1), err)
			}
			upload.parts[index] = types.CompletedPart{ETag: copied.CopyPartResult.ETag, PartNumber: partNumber(index)}
			return nil
		})
	}
	if err = group.Wait(); err == nil {
		err = upload.complete(ctx)
	}
	if err != nil {
		return errors.Join(err, upload.abort(ctx))
	}
	return nil
}

func escapeKey(key string) string {
	segments := strings.Split(key, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return strings.Join(segments, "/")
}

// SweepUploads removes what uploads of killed processes have left: multipart
// uploads and staged objects begun longer ago than the age. It returns how many.
// The age must exceed the longest upload; a day is a good one.
func (s *Store) SweepUploads(ctx context.Context, age time.Duration) (int, error) {
	before := time.Now().Add(-age)
	swept := 0
	for _, folder := range []string{stagingFolder, binariesFolder} {
		pages := s3.NewListMultipartUploadsPaginator(s.client, &s3.ListMultipartUploadsInput{Bucket: &s.bucket, Prefix: aws.String(s.prefix + folder)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return swept, explain("list uploads", err)
			}
			for _, found := range page.Uploads {
				if !aws.ToTime(found.Initiated).Before(before) {
					continue
				}
				left := upload{store: s, key: aws.ToString(found.Key), id: found.UploadId}
				if err := left.abort(ctx); err != nil {
					return swept, err
				}
				swept++
			}
		}
	}
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(s.prefix + stagingFolder)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return swept, explain("list staged uploads", err)
		}
		for _, found := range page.Contents {
			if !aws.ToTime(found.LastModified).Before(before) {
				continue
			}
			if err := s.remove(ctx, aws.ToString(found.Key)); err != nil {
				return swept, err
			}
			swept++
		}
	}
	return swept, nil
}
