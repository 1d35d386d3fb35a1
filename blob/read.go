package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// reopenLimit is how often in a row a broken download is taken up again without
// a byte having come.
const reopenLimit = 3

// meter counts and hashes what is read through it, and stops past a limit.
type meter struct {
	reader io.Reader
	digest hash.Hash
	size   int64
	limit  int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.reader.Read(p)
	m.size += int64(n)
	m.digest.Write(p[:n])
	if m.size > m.limit {
		return n, &TooLargeError{Limit: m.limit}
	}
	return n, err
}

// finish records digest and size, and holds them against what was asked for.
func (m *meter) finish(options PutOptions, info *BinaryInfo) error {
	info.SHA256, info.Size = hex.EncodeToString(m.digest.Sum(nil)), m.size
	if options.SHA256 != "" && options.SHA256 != info.SHA256 {
		return fmt.Errorf("blob: store binary: %w", &DigestError{Want: options.SHA256, Got: info.SHA256})
	}
	return nil
}

// VerifyReader passes bytes on and returns a *DigestError instead of io.EOF when
// they do not have the SHA-256 given in hex. What was read before is then not
// to be used.
func VerifyReader(r io.Reader, digest string) io.Reader {
	return &verifier{reader: r, digest: sha256.New(), want: digest}
}

type verifier struct {
	reader io.Reader
	digest hash.Hash
	want   string
}

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.reader.Read(p)
	v.digest.Write(p[:n])
	if errors.Is(err, io.EOF) {
		if got := hex.EncodeToString(v.digest.Sum(nil)); got != v.want {
			return n, &DigestError{Want: v.want, Got: got}
		}
	}
	return n, err
}

// rangeReader reads a range of an object and opens it again where it broke.
type rangeReader struct {
	ctx    context.Context // of the whole download, which the reader is
	store  *Store
	key    string
	etag   *string // so that a changed object is not mixed with the old one
	next   int64   // offset of the next byte
	end    int64   // offset after the last byte
	body   io.ReadCloser
	broken int
}

// openRange opens length bytes of an object; a negative length means to its end.
func (s *Store) openRange(ctx context.Context, key string, offset, length int64) (*rangeReader, error) {
	input := &s3.GetObjectInput{Bucket: &s.bucket, Key: &key}
	if offset > 0 || length >= 0 {
		if length == 0 {
			return &rangeReader{ctx: ctx, store: s, key: key, body: io.NopCloser(strings.NewReader(""))}, nil
		}
		input.Range = aws.String(byteRange(offset, length))
	}
	got, err := s.client.GetObject(ctx, input)
	if code(err) == "InvalidRange" { // at or past the end: nothing to read
		return &rangeReader{ctx: ctx, store: s, key: key, body: io.NopCloser(strings.NewReader(""))}, nil
	}
	if err != nil {
		return nil, explain("fetch "+key, err)
	}
	return &rangeReader{
		ctx: ctx, store: s, key: key, etag: got.ETag,
		next: offset, end: offset + aws.ToInt64(got.ContentLength), body: got.Body,
	}, nil
}

func byteRange(offset, length int64) string {
	if length < 0 {
		return "bytes=" + strconv.FormatInt(offset, 10) + "-"
	}
	return fmt.Sprintf("bytes=%d-%d", offset, offset+length-1)
}

func (r *rangeReader) Read(p []byte) (int, error) {
	for {
		n, err := r.body.Read(p)
		r.next += int64(n)
		if n > 0 {
			r.broken = 0
		}
		if err == nil {
			return n, nil
		}
		if r.next >= r.end {
			return n, io.EOF
		}
		// The body ended early, with an error or without.
		if n > 0 {
			return n, nil
		}
		if r.broken++; r.broken > reopenLimit || r.ctx.Err() != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, explain("fetch "+r.key, err)
		}
		if err := r.reopen(); err != nil {
			return 0, err
		}
	}
}

func (r *rangeReader) reopen() error {
	r.store.logger.Warn("blob: download interrupted, resuming", "key", r.key, "offset", r.next)
	got, err := r.store.client.GetObject(r.ctx, &s3.GetObjectInput{
		Bucket: &r.store.bucket, Key: &r.key, IfMatch: r.etag, Range: aws.String(byteRange(r.next, r.end-r.next)),
	})
	if err != nil {
		return explain("resume fetching "+r.key, err)
	}
	_ = r.body.Close() // broken already
	r.body = got.Body
	return nil
}

func (r *rangeReader) Close() error { return r.body.Close() }
