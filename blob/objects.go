package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Folder is one of the sets of objects that a bucket holds, as they are moved from one bucket to another.
type Folder string

// The folders.
const (
	Binaries  Folder = binariesFolder
	Logs      Folder = logsFolder
	Artifacts Folder = artifactsFolder
)

// Object is something that a bucket holds, under its key below the configured prefix.
type Object struct {
	Key  string
	Size int64 // bytes
}

// Objects calls each with every object of a folder. The index of a log comes before its chunks: of a log that grows,
// what is read later then holds at least what the index, read before, lists.
func (s *Store) Objects(ctx context.Context, folder Folder, each func(Object) error) error {
	prefix := s.prefix + string(folder)
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix})
	var chunks []Object // of one log, until its index comes or another log begins
	flush := func() error {
		for _, chunk := range chunks {
			if err := each(chunk); err != nil {
				return err
			}
		}
		chunks = chunks[:0]
		return nil
	}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return explain("list "+prefix, err)
		}
		for _, found := range page.Contents {
			object := Object{Key: strings.TrimPrefix(aws.ToString(found.Key), s.prefix), Size: aws.ToInt64(found.Size)}
			if checkKey(object.Key) != nil { // not ours, such as the folders that some servers show
				continue
			}
			if len(chunks) > 0 && path.Dir(chunks[0].Key) != path.Dir(object.Key) {
				if err := flush(); err != nil {
					return err
				}
			}
			if folder == Logs && path.Base(object.Key) != logIndexName {
				chunks = append(chunks, object)
				continue
			}
			if err := each(object); err != nil {
				return err
			}
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// errFound ends a listing.
var errFound = errors.New("found")

// Empty reports whether the bucket holds nothing yet.
func (s *Store) Empty(ctx context.Context) (bool, error) {
	for _, folder := range []Folder{Binaries, Logs, Artifacts} {
		err := s.Objects(ctx, folder, func(Object) error { return errFound })
		if errors.Is(err, errFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// OpenObject opens an object and returns its size in bytes. The reader resumes by itself after a broken connection. The
// caller closes it.
func (s *Store) OpenObject(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	if err := checkKey(key); err != nil {
		return nil, 0, err
	}
	reader, err := s.openRange(ctx, s.prefix+key, 0, -1)
	if err != nil {
		return nil, 0, err
	}
	return reader, reader.end, nil
}

// PutObject stores what a reader gives to its end, size bytes, under a key, over what stands there. Memory is bounded
// whatever the size. When it fails nothing is left behind.
func (s *Store) PutObject(ctx context.Context, key string, content io.Reader, size int64) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if most := int64(maxParts) * partSize; size > most {
		return fmt.Errorf("blob: store %s: %w", key, &TooLargeError{Limit: most})
	}
	first := partBuffer()
	length, err := io.ReadFull(content, (*first)[:min(size, partSize)])
	if err != nil {
		return fmt.Errorf("blob: store %s: %w", key, err)
	}
	if size <= partSize {
		if err := s.putSmall(ctx, s.prefix+key, (*first)[:length]); err != nil {
			return err // the buffer may still be read by a broken connection
		}
		releasePart(first)
		return nil
	}
	upload, err := s.startUpload(ctx, s.prefix+key)
	if err != nil {
		return err
	}
	counted := &counter{reader: content, size: int64(length)}
	err = upload.stream(ctx, counted, first)
	if err == nil && counted.size != size {
		err = fmt.Errorf("blob: store %s: it has %d bytes, not %d: %w", key, counted.size, size, io.ErrUnexpectedEOF)
	}
	if err == nil {
		err = upload.complete(ctx)
	}
	if err != nil {
		return errors.Join(err, upload.abort(ctx))
	}
	releasePart(first)
	return nil
}

type counter struct {
	reader io.Reader
	size   int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.reader.Read(p)
	c.size += int64(n)
	return n, err
}

// checkKey lets pass only what this package itself stores for good.
func checkKey(key string) error {
	folder, rest, _ := strings.Cut(key, "/")
	wrong := fmt.Errorf("blob: %q is no key of Tidewheel's", key)
	if folder+"/" == binariesFolder {
		if checkDigest(rest) != nil {
			return wrong
		}
		return nil
	}
	run, rest, _ := strings.Cut(rest, "/")
	attempt, name, _ := strings.Cut(rest, "/")
	n, err := strconv.Atoi(attempt)
	if err != nil || strconv.Itoa(n) != attempt {
		return wrong
	}
	switch folder + "/" {
	case logsFolder:
		chunk, err := strconv.ParseInt(name, 10, 64)
		if n < 1 || checkRun(run) != nil || name != logIndexName && (err != nil || chunkKey("", chunk) != name) {
			return wrong
		}
	case artifactsFolder:
		if _, err := (&Store{}).artifactKey(run, n, name); err != nil {
			return wrong
		}
	default:
		return wrong
	}
	return nil
}
