package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

// storage is versitygw's posix backend with two things changed.
//
// It leaves the working directory alone. posix changes the directory of the
// whole process to its root and then treats a bucket name as a relative path,
// so any relative path elsewhere in the process would break, and anything else
// that changed directory would move the buckets. Here posix is opened on the
// directory the process is already in, and every bucket name is made an
// absolute path on its way in and a name again on its way out.
//
// It syncs. posix answers before data has reached the disk; here an object is
// synced before it gets its name, and the name before the answer.
//
// Only the operations listed here exist; any other is answered with
// NotImplemented by the embedded type.
type storage struct {
	backend.BackendUnsupported

	root   string
	posix  *posix.Posix
	logger *slog.Logger
}

func newStorage(root string, metadata meta.MetadataStorer, logger *slog.Logger) (*storage, error) {
	options := posix.PosixOpts{
		// Lock files would be made under posix's root, which is not ours.
		// Locks inside the process remain, and it is the only writer.
		ForceNoObjLockFile: true,
	}
	options.SetNewDirPerm(0o700)
	options.SetNewFilePerm(0o600)
	opened, err := posix.New(".", metadata, options)
	if err != nil {
		return nil, fmt.Errorf("gateway: open storage: %w", err)
	}
	return &storage{root: root, posix: opened, logger: logger}, nil
}

func (s *storage) String() string { return "tidewheel" }
func (s *storage) Shutdown()      { s.posix.Shutdown() }

// path makes a bucket name an absolute path.
func (s *storage) path(bucket string) string { return filepath.Join(s.root, bucket) }

// failed passes on what S3 has words for, and logs what it has not, so that the
// library does not print it.
func (s *storage) failed(operation string, err error) error {
	if err == nil {
		return nil
	}
	var known s3err.S3Error
	if errors.As(err, &known) {
		return err
	}
	s.logger.Warn("s3 gateway: operation failed", "operation", operation, "error", err)
	return s3err.GetAPIError(s3err.ErrInternalError)
}

// settle makes an object's name durable; its data was synced before.
func (s *storage) settle(bucket, key string) error {
	if err := syncDir(filepath.Dir(filepath.Join(s.path(bucket), key))); err != nil {
		return s.failed("sync folder", err)
	}
	return nil
}

func syncFile(file *os.File) error { return file.Sync() }

// Buckets.

func (s *storage) HeadBucket(ctx context.Context, in *s3.HeadBucketInput) (*s3.HeadBucketOutput, error) {
	in.Bucket = aws.String(s.path(*in.Bucket))
	out, err := s.posix.HeadBucket(ctx, in)
	return out, s.failed("head bucket", err)
}

func (s *storage) CreateBucket(ctx context.Context, in *s3.CreateBucketInput, acl []byte) error {
	in.Bucket = aws.String(s.path(*in.Bucket))
	if err := s.posix.CreateBucket(ctx, in, acl); err != nil {
		return s.failed("create bucket", err)
	}
	return s.failed("sync folder", syncDir(s.root))
}

func (s *storage) DeleteBucket(ctx context.Context, bucket string) error {
	return s.failed("delete bucket", s.posix.DeleteBucket(ctx, s.path(bucket)))
}

func (s *storage) GetBucketAcl(ctx context.Context, in *s3.GetBucketAclInput) ([]byte, error) {
	in.Bucket = aws.String(s.path(*in.Bucket))
	out, err := s.posix.GetBucketAcl(ctx, in)
	return out, s.failed("get bucket acl", err)
}

func (s *storage) GetBucketPolicy(ctx context.Context, bucket string) ([]byte, error) {
	out, err := s.posix.GetBucketPolicy(ctx, s.path(bucket))
	return out, s.failed("get bucket policy", err)
}

func (s *storage) GetBucketCors(ctx context.Context, bucket string) ([]byte, error) {
	out, err := s.posix.GetBucketCors(ctx, s.path(bucket))
	return out, s.failed("get bucket cors", err)
}

func (s *storage) GetBucketVersioning(ctx context.Context, bucket string) (s3response.GetBucketVersioningOutput, error) {
	out, err := s.posix.GetBucketVersioning(ctx, s.path(bucket))
	return out, s.failed("get bucket versioning", err)
}

func (s *storage) GetBucketOwnershipControls(ctx context.Context, bucket string) (types.ObjectOwnership, error) {
	out, err := s.posix.GetBucketOwnershipControls(ctx, s.path(bucket))
	return out, s.failed("get bucket ownership", err)
}

func (s *storage) GetObjectLockConfiguration(ctx context.Context, bucket string) ([]byte, error) {
	out, err := s.posix.GetObjectLockConfiguration(ctx, s.path(bucket))
	return out, s.failed("get object lock", err)
}

// Objects.

func (s *storage) PutObject(ctx context.Context, in s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	bucket := *in.Bucket
	in.Bucket = aws.String(s.path(bucket))
	out, err := s.posix.PutObjectWithPostFunc(ctx, in, syncFile)
	if err != nil {
		return out, s.failed("put object", err)
	}
	return out, s.settle(bucket, *in.Key)
}

func (s *storage) HeadObject(ctx context.Context, in *s3.HeadObjectInput) (*s3.HeadObjectOutput, error) {
	in.Bucket = aws.String(s.path(*in.Bucket))
	out, err := s.posix.HeadObject(ctx, in)
	return out, s.failed("head object", err)
}

func (s *storage) GetObject(ctx context.Context, in *s3.GetObjectInput) (*s3.GetObjectOutput, error) {
	in.Bucket = aws.String(s.path(*in.Bucket))
	out, err := s.posix.GetObject(ctx, in)
	return out, s.failed("get object", err)
}

func (s *storage) DeleteObject(ctx context.Context, in *s3.DeleteObjectInput) (*s3.DeleteObjectOutput, error) {
	in.Bucket = aws.String(s.path(*in.Bucket))
	out, err := s.posix.DeleteObject(ctx, in)
	return out, s.failed("delete object", err)
}

func (s *storage) DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput) (s3response.DeleteResult, error) {
	in.Bucket = aws.String(s.path(*in.Bucket))
	out, err := s.posix.DeleteObjects(ctx, in)
	return out, s.failed("delete objects", err)
}

func (s *storage) ListObjects(ctx context.Context, in *s3.ListObjectsInput) (s3response.ListObjectsResult, error) {
	bucket := *in.Bucket
	in.Bucket = aws.String(s.path(bucket))
	out, err := s.posix.ListObjects(ctx, in)
	out.Name = &bucket
	return out, s.failed("list objects", err)
}

func (s *storage) ListObjectsV2(ctx context.Context, in *s3.ListObjectsV2Input) (s3response.ListObjectsV2Result, error) {
	bucket := *in.Bucket
	in.Bucket = aws.String(s.path(bucket))
	out, err := s.posix.ListObjectsV2(ctx, in)
	out.Name = &bucket
	return out, s.failed("list objects", err)
}

// CopyObject is a get and a put: posix would look for the source below the
// working directory.
func (s *storage) CopyObject(ctx context.Context, in s3response.CopyObjectInput) (s3response.CopyObjectOutput, error) {
	source, err := s.openSource(ctx, *in.CopySource, "")
	if err != nil {
		return s3response.CopyObjectOutput{}, err
	}
	defer source.Body.Close()
	out, err := s.PutObject(ctx, s3response.PutObjectInput{
		Bucket: in.Bucket, Key: in.Key, Body: source.Body, ContentLength: source.ContentLength,
		ContentType: source.ContentType, Metadata: source.Metadata,
	})
	if err != nil {
		return s3response.CopyObjectOutput{}, err
	}
	return s3response.CopyObjectOutput{CopyObjectResult: &s3response.CopyObjectResult{
		ETag: &out.ETag, LastModified: source.LastModified,
	}}, nil
}

// openSource opens the object that a copy names, or a range of it.
func (s *storage) openSource(ctx context.Context, copySource, byteRange string) (*s3.GetObjectOutput, error) {
	bucket, key, _, err := backend.ParseCopySource(copySource)
	if err != nil {
		return nil, s.failed("parse copy source", err)
	}
	// The front of the gateway has checked the target's name, but not this one.
	if !backend.IsValidDirectoryName(bucket) {
		return nil, s3err.GetBucketErr(s3err.ErrInvalidBucketName, bucket)
	}
	return s.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key, Range: &byteRange, VersionId: aws.String("")})
}

// Multipart uploads.

func (s *storage) CreateMultipartUpload(ctx context.Context, in s3response.CreateMultipartUploadInput) (s3response.InitiateMultipartUploadResult, error) {
	bucket := *in.Bucket
	in.Bucket = aws.String(s.path(bucket))
	out, err := s.posix.CreateMultipartUpload(ctx, in)
	out.Bucket = bucket
	return out, s.failed("create multipart upload", err)
}

func (s *storage) UploadPart(ctx context.Context, in *s3.UploadPartInput) (*s3.UploadPartOutput, error) {
	in.Bucket = aws.String(s.path(*in.Bucket))
	out, err := s.posix.UploadPart(ctx, in)
	return out, s.failed("upload part", err)
}

func (s *storage) UploadPartCopy(ctx context.Context, in *s3.UploadPartCopyInput) (s3response.CopyPartResult, error) {
	source, err := s.openSource(ctx, *in.CopySource, aws.ToString(in.CopySourceRange))
	if err != nil {
		return s3response.CopyPartResult{}, err
	}
	defer source.Body.Close()
	out, err := s.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: in.Bucket, Key: in.Key, UploadId: in.UploadId, PartNumber: in.PartNumber,
		Body: source.Body, ContentLength: source.ContentLength,
	})
	if err != nil {
		return s3response.CopyPartResult{}, err
	}
	return s3response.CopyPartResult{ETag: out.ETag, LastModified: aws.ToTime(source.LastModified)}, nil
}

func (s *storage) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, string, error) {
	bucket := *in.Bucket
	in.Bucket = aws.String(s.path(bucket))
	// The copy of each part into the object is the only place where the object
	// can be synced before it gets its name. posix would swallow an error of
	// the sync, so it is kept here.
	var unsynced error
	out, version, err := s.posix.CompleteMultipartUploadWithCopy(ctx, in, func(from, to *os.File) (bool, error) {
		if _, err := io.Copy(to, from); err != nil {
			return true, err
		}
		unsynced = errors.Join(unsynced, to.Sync())
		return true, nil
	})
	out.Bucket = &bucket
	if err != nil {
		return out, version, s.failed("complete multipart upload", err)
	}
	if unsynced != nil {
		_, removed := s.posix.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: in.Bucket, Key: in.Key})
		return out, version, s.failed("sync object", errors.Join(unsynced, removed))
	}
	return out, version, s.settle(bucket, *in.Key)
}

func (s *storage) AbortMultipartUpload(ctx context.Context, in *s3.AbortMultipartUploadInput) error {
	in.Bucket = aws.String(s.path(*in.Bucket))
	return s.failed("abort multipart upload", s.posix.AbortMultipartUpload(ctx, in))
}

func (s *storage) ListMultipartUploads(ctx context.Context, in *s3.ListMultipartUploadsInput) (s3response.ListMultipartUploadsResult, error) {
	bucket := *in.Bucket
	in.Bucket = aws.String(s.path(bucket))
	out, err := s.posix.ListMultipartUploads(ctx, in)
	out.Bucket = bucket
	return out, s.failed("list multipart uploads", err)
}

func (s *storage) ListParts(ctx context.Context, in *s3.ListPartsInput) (s3response.ListPartsResult, error) {
	bucket := *in.Bucket
	in.Bucket = aws.String(s.path(bucket))
	out, err := s.posix.ListParts(ctx, in)
	out.Bucket = bucket
	return out, s.failed("list parts", err)
}
