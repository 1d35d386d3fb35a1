package blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// BinaryInfo describes a stored program.
type BinaryInfo struct {
	SHA256 string // hex
	Size   int64  // bytes
	Program
	Head []byte // the first bytes, at most HeadSize
	// Existed means that the same bytes were stored before.
	Existed bool
}

// PutOptions bound an upload.
type PutOptions struct {
	// MaxSize is the largest size allowed, in bytes; 0 means what S3 allows in
	// parts of 8 MiB, about 78 GiB.
	MaxSize int64
	// SHA256, in hex, is the digest that the content must have, if the caller
	// knows it. It saves the copy that a large upload otherwise needs.
	SHA256 string
}

const (
	binariesFolder = "binaries/"
	stagingFolder  = "staging/"
)

func (s *Store) binaryKey(digest string) string { return s.prefix + binariesFolder + digest }

// checkDigest keeps anything but a digest out of a key.
func checkDigest(digest string) error {
	if decoded, err := hex.DecodeString(digest); err != nil || len(decoded) != sha256.Size || hex.EncodeToString(decoded) != digest {
		return fmt.Errorf("blob: %q is not a sha256 in lower-case hex", digest)
	}
	return nil
}

// PutBinary reads a program to its end and stores it once per content. Memory
// is bounded whatever the size. When it fails (the reader, the context, S3, a
// *TooLargeError, ErrEmpty, a *DigestError) nothing is left behind.
func (s *Store) PutBinary(ctx context.Context, r io.Reader, options PutOptions) (BinaryInfo, error) {
	if options.SHA256 != "" {
		if err := checkDigest(options.SHA256); err != nil {
			return BinaryInfo{}, err
		}
	}
	limit := int64(maxParts) * partSize
	if options.MaxSize > 0 {
		limit = min(limit, options.MaxSize)
	}
	source := &meter{reader: r, digest: sha256.New(), limit: limit}
	first := partBuffer()
	length, err := io.ReadFull(source, *first)
	info := BinaryInfo{Head: bytes.Clone((*first)[:min(length, HeadSize)])}
	info.Program = Sniff(info.Head)
	switch {
	case errors.Is(err, io.EOF):
		return BinaryInfo{}, fmt.Errorf("blob: store binary: %w", ErrEmpty)
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = s.putInOne(ctx, source, (*first)[:length], options, &info)
	case err == nil:
		err = s.putInParts(ctx, source, first, options, &info)
	default:
		err = fmt.Errorf("blob: read upload: %w", err)
	}
	if err != nil {
		return BinaryInfo{}, err // the buffer may still be read by a broken connection
	}
	if info.Existed { // or a sweep might remove what this upload relies on
		if err := s.remove(ctx, s.unusedKey(info.SHA256)); err != nil {
			return BinaryInfo{}, err
		}
	}
	if info.Kind == KindELF && info.Problem == "" {
		info.Problem = cutOff(info.Head, info.Size)
	}
	releasePart(first)
	return info, nil
}

// putInOne stores a program that is in memory whole, so its digest is known.
func (s *Store) putInOne(ctx context.Context, source *meter, data []byte, options PutOptions, info *BinaryInfo) error {
	if err := source.finish(options, info); err != nil {
		return err
	}
	var err error
	if info.Existed, err = s.isStored(ctx, info); err != nil || info.Existed {
		return err
	}
	// If the answer gets lost the binary may be there all the same: whole, and
	// right by its name.
	return s.putSmall(ctx, s.binaryKey(info.SHA256), data)
}

// putInParts streams a program whose first part is in memory. Without a digest
// given it goes to a staging key first, for only its end shows where it belongs.
func (s *Store) putInParts(ctx context.Context, source *meter, first *[]byte, options PutOptions, info *BinaryInfo) error {
	key := s.prefix + stagingFolder + rand.Text()
	if options.SHA256 != "" {
		key = s.binaryKey(options.SHA256)
	}
	upload, err := s.startUpload(ctx, key)
	if err != nil {
		return err
	}
	err = upload.stream(ctx, source, first)
	if err == nil {
		err = source.finish(options, info)
	}
	if err == nil {
		info.Existed, err = s.isStored(ctx, info)
	}
	if err != nil || info.Existed {
		return errors.Join(err, upload.abort(ctx))
	}
	if err := upload.complete(ctx); err != nil {
		return errors.Join(err, upload.abort(ctx), s.removeStaged(ctx, key, info.SHA256))
	}
	if key == s.binaryKey(info.SHA256) {
		return nil
	}
	err = s.copyObject(ctx, key, s.binaryKey(info.SHA256), info.Size)
	return errors.Join(err, s.removeStaged(ctx, key, info.SHA256))
}

// removeStaged removes what an upload has put under a staging key. An object
// under its digest is right however the upload ended, and may be another's.
func (s *Store) removeStaged(ctx context.Context, key, digest string) error {
	if key == s.binaryKey(digest) {
		return nil
	}
	ctx, cancel := cleanup(ctx)
	defer cancel()
	return s.remove(ctx, key)
}

// HasBinary reports whether a program is stored.
func (s *Store) HasBinary(ctx context.Context, digest string) (bool, error) {
	if err := checkDigest(digest); err != nil {
		return false, err
	}
	_, found, err := s.binarySize(ctx, digest)
	return found, err
}

func (s *Store) binarySize(ctx context.Context, digest string) (size int64, found bool, err error) {
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String(s.binaryKey(digest))})
	if errors.Is(classify(err), ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, explain("look for binary "+digest, err)
	}
	return aws.ToInt64(head.ContentLength), true, nil
}

// isStored reports whether an upload may be left out. A stored object of other
// bytes was damaged on the server, and the upload mends it: that is what users
// are told to do. So those of the right size are read.
func (s *Store) isStored(ctx context.Context, info *BinaryInfo) (bool, error) {
	size, found, err := s.binarySize(ctx, info.SHA256)
	if err != nil || !found || size != info.Size {
		return false, err
	}
	content, _, err := s.GetBinary(ctx, info.SHA256)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer content.Close()
	var wrong *DigestError
	if _, err := io.Copy(io.Discard, content); errors.As(err, &wrong) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("blob: verify stored binary: %w", err)
	}
	return true, nil
}

// GetBinary opens a program and returns its size in bytes. The reader gives a
// *DigestError instead of io.EOF when the bytes do not have their digest, and
// resumes by itself after a broken connection. ErrNotFound means that S3 itself
// says so: a missing bucket, or a proxy without a server behind it, is another
// error. The caller closes the reader.
func (s *Store) GetBinary(ctx context.Context, digest string) (io.ReadCloser, int64, error) {
	if err := checkDigest(digest); err != nil {
		return nil, 0, err
	}
	reader, err := s.openRange(ctx, s.binaryKey(digest), 0, -1)
	if errors.Is(err, ErrNotFound) && code(err) != "NoSuchKey" {
		return nil, 0, fmt.Errorf("blob: whether binary %s is stored is not known: %s", digest, err.Error()) // must not pass for ErrNotFound
	}
	if err != nil {
		return nil, 0, err
	}
	return struct {
		io.Reader
		io.Closer
	}{VerifyReader(reader, digest), reader}, reader.end, nil
}

// DeleteBinary removes a program; one that is not there is no error. The caller
// makes sure that nothing refers to it: see [Store.SweepBinaries].
func (s *Store) DeleteBinary(ctx context.Context, digest string) error {
	if err := checkDigest(digest); err != nil {
		return err
	}
	return s.remove(ctx, s.binaryKey(digest))
}
