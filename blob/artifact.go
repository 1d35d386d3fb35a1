package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Artifacts are the files that attempts leave for those after them: artifacts/<run>/<attempt>/<name>.
const artifactsFolder = "artifacts/"

// MaxArtifact is the largest artifact in bytes: what S3 takes as one object in one request.
const MaxArtifact = 5 << 30

// artifactKey keeps anything but a path out of a key.
func (s *Store) artifactKey(run string, attempt int, name string) (string, error) {
	if err := checkRun(run); err != nil {
		return "", err
	}
	if attempt < 1 {
		return "", fmt.Errorf("blob: attempt %d of run %s: attempts are numbered from 1", attempt, run)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || !utf8.ValidString(part) {
			return "", fmt.Errorf("blob: %q is not the name of an artifact: it must be a path of UTF-8, with slashes", name)
		}
	}
	return fmt.Sprintf("%s%s%s/%d/%s", s.prefix, artifactsFolder, run, attempt, name), nil
}

// PutArtifact stores a file of at most MaxArtifact bytes, in the place of one of the same name, and returns its sha256 in
// hex. It reads the content once for that and once or more to send it, and holds next to nothing in memory.
func (s *Store) PutArtifact(ctx context.Context, run string, attempt int, name string, content *io.SectionReader) (digest string, err error) {
	key, err := s.artifactKey(run, attempt, name)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	if n, err := io.Copy(hash, content); err != nil || n < content.Size() {
		return "", fmt.Errorf("blob: read artifact %s: %w", name, errors.Join(err, io.ErrUnexpectedEOF))
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("blob: read artifact %s again: %w", name, err)
	}
	_, err = s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: content, ContentLength: aws.Int64(content.Size())})
	if err != nil {
		return "", explain("store artifact "+name, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// GetArtifact opens an artifact. The reader gives a *DigestError instead of io.EOF when the bytes do not have the
// digest, and resumes by itself after a broken connection. The caller closes it.
func (s *Store) GetArtifact(ctx context.Context, run string, attempt int, name, digest string) (io.ReadCloser, error) {
	if err := checkDigest(digest); err != nil {
		return nil, err
	}
	reader, err := s.GetArtifactRange(ctx, run, attempt, name, 0, -1)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{VerifyReader(reader, digest), reader}, nil
}

// GetArtifactRange opens length bytes of an artifact from an offset, fewer at its end; a negative length means to the
// end. The bytes are not verified, as a part has no digest. The caller closes the reader.
func (s *Store) GetArtifactRange(ctx context.Context, run string, attempt int, name string, offset, length int64) (io.ReadCloser, error) {
	key, err := s.artifactKey(run, attempt, name)
	if err != nil {
		return nil, err
	}
	if offset < 0 {
		return nil, fmt.Errorf("blob: read artifact %s: negative offset %d", name, offset)
	}
	reader, err := s.openRange(ctx, key, offset, length)
	if err != nil {
		return nil, err
	}
	return reader, nil
}
