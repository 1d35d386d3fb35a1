package blob

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

const (
	// DefaultBucket is the bucket of a Config that names none.
	DefaultBucket = "tidewheel"
	// DefaultRegion is the region of a Config that names none, nor the environment.
	DefaultRegion = "us-east-1"

	markerKey    = "tidewheel.json"
	markerFormat = 1
	cleanupTime  = 30 * time.Second
	maxBackoff   = 2 * time.Second
)

// Config defines which S3 to use.
type Config struct {
	// Endpoint is the URL of the server, such as http://127.0.0.1:9000. Empty
	// means Amazon's.
	Endpoint string
	// Region defaults to the environment's (AWS_REGION), then DefaultRegion.
	Region string
	// Bucket defaults to DefaultBucket. It is made if it is missing.
	Bucket string
	// AccessKey and SecretKey, if both are empty, come from the environment:
	// AWS_ACCESS_KEY_ID and its kin, the AWS profile, or the machine's role.
	AccessKey, SecretKey string
	// PathStyle puts the bucket into the path, not into the host name. Most
	// servers other than Amazon's need it.
	PathStyle bool
	// Prefix is put before every key, to share a bucket.
	Prefix string
	// Trusted returns the authorities whose certificates are trusted, another pool when they change; nil: the machine's.
	Trusted func() *x509.CertPool
	// Logger takes warnings about retries. By default nothing is logged.
	Logger *slog.Logger
}

func (c *Config) validate() error {
	if c.Endpoint != "" {
		endpoint, err := url.Parse(c.Endpoint)
		if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
			return fmt.Errorf("blob: S3 endpoint %q is not a URL such as http://127.0.0.1:9000", c.Endpoint)
		}
	}
	if (c.AccessKey == "") != (c.SecretKey == "") {
		return errors.New("blob: of the S3 access key and secret key only one is set; set both, or neither to take them from the environment")
	}
	if c.Bucket == "" {
		c.Bucket = DefaultBucket
	}
	if c.Prefix = strings.Trim(c.Prefix, "/"); c.Prefix != "" {
		c.Prefix += "/"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Store keeps binaries and logs in one bucket. It is safe for concurrent use.
type Store struct {
	client    *s3.Client
	transport *transport
	bucket    string
	prefix    string
	logger    *slog.Logger

	// Server-side copies: above copyLimit bytes S3 wants them in parts.
	copyLimit, copyPart int64
}

// Open connects to an S3 server and makes sure of the bucket: it is made if it
// is missing, and refused if it holds something else. The caller closes the
// store.
func Open(ctx context.Context, config Config) (*Store, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	transport := newTransport(config.Trusted)
	shared, err := sharedConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	client := s3.NewFromConfig(shared, func(o *s3.Options) {
		if config.Endpoint != "" {
			o.BaseEndpoint = aws.String(config.Endpoint)
		}
		o.UsePathStyle = config.PathStyle
		o.HTTPClient = &http.Client{Transport: transport}
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = maxBackoff })
		// Many servers other than Amazon's refuse the checksums that the SDK
		// would append by itself.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
	store := &Store{
		client: client, transport: transport, bucket: config.Bucket, prefix: config.Prefix, logger: config.Logger,
		copyLimit: 5 << 30, copyPart: 1 << 30,
	}
	if err := store.claimBucket(ctx, config, shared.Region); err != nil {
		store.Close()
		return nil, err
	}
	return store, nil
}

func sharedConfig(ctx context.Context, config Config) (aws.Config, error) {
	if config.Region != "" && config.AccessKey != "" {
		// The settings are complete: the AWS files of the user who runs this must not matter.
		return aws.Config{
			Region:      config.Region,
			Credentials: credentials.NewStaticCredentialsProvider(config.AccessKey, config.SecretKey, ""),
		}, nil
	}
	var options []func(*awsconfig.LoadOptions) error
	if config.Region != "" {
		options = append(options, awsconfig.WithRegion(config.Region))
	}
	if config.AccessKey != "" {
		options = append(options, awsconfig.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(config.AccessKey, config.SecretKey, "")))
	}
	shared, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return shared, fmt.Errorf("blob: read the AWS settings of the environment: %w", err)
	}
	if shared.Region == "" {
		shared.Region = DefaultRegion
	}
	return shared, nil
}

// Close frees idle connections. Readers and writers must be done before.
func (s *Store) Close() { s.transport.CloseIdleConnections() }

// Ping reports whether the bucket can be reached.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(s.prefix + markerKey), MaxKeys: aws.Int32(1)})
	return explain("reach bucket "+s.bucket, err)
}

// marker is the object that marks a bucket, or a prefix in it, as ours.
type marker struct {
	Product string `json:"product"`
	// Store is the identity of the store whose bytes these are; "" until one says so.
	Store   string    `json:"store,omitempty"`
	Format  int       `json:"format"`
	Created time.Time `json:"created"`
}

// claimBucket makes sure that the bucket exists and is ours.
func (s *Store) claimBucket(ctx context.Context, config Config, region string) error {
	where := config.Endpoint
	if where == "" {
		where = "Amazon S3"
	}
	// A listing, because unlike HeadBucket its refusal comes with a reason.
	listed, err := s.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &s.prefix, MaxKeys: aws.Int32(2)})
	if code(err) == "NoSuchBucket" {
		if err = s.createBucket(ctx, region); err == nil {
			listed = &s3.ListObjectsV2Output{}
		}
	}
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return explain("open bucket "+s.bucket, err)
		}
		sentinel := classify(err)
		if sentinel == nil {
			return fmt.Errorf("blob: open bucket %s: %s (%w)", s.bucket, advice(err, where, s.bucket, region), err)
		}
		return fmt.Errorf("blob: open bucket %s: %w; %s (%w)", s.bucket, sentinel, advice(err, where, s.bucket, region), err)
	}
	data, err := s.getSmall(ctx, s.prefix+markerKey)
	if errors.Is(err, ErrNotFound) {
		if len(listed.Contents) > 0 {
			return fmt.Errorf("blob: open bucket %s: %w: it holds objects (%s) but no %s; choose an empty bucket, or a prefix of its own",
				s.bucket, ErrForeignBucket, aws.ToString(listed.Contents[0].Key), s.prefix+markerKey)
		}
		data, err = json.Marshal(marker{Product: "tidewheel", Format: markerFormat, Created: time.Now().UTC()})
		if err != nil {
			return fmt.Errorf("blob: encode marker: %w", err)
		}
		return s.putSmall(ctx, s.prefix+markerKey, data)
	}
	if err != nil {
		return err
	}
	var found marker
	if err := json.Unmarshal(data, &found); err != nil || found.Product != "tidewheel" {
		return fmt.Errorf("blob: open bucket %s: %w: its %s is not ours; choose another bucket or prefix", s.bucket, ErrForeignBucket, s.prefix+markerKey)
	}
	if found.Format > markerFormat {
		return fmt.Errorf("blob: open bucket %s: it was written by a newer Tidewheel (format %d, this one knows %d); upgrade this one", s.bucket, found.Format, markerFormat)
	}
	return nil
}

func (s *Store) createBucket(ctx context.Context, region string) error {
	input := &s3.CreateBucketInput{Bucket: &s.bucket}
	if region != DefaultRegion { // S3 refuses its own default as a constraint
		input.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(region)}
	}
	_, err := s.client.CreateBucket(ctx, input)
	if code(err) == "BucketAlreadyOwnedByYou" { // another process was faster
		return nil
	}
	return err
}

// advice returns what to do about a bucket that cannot be opened.
func advice(err error, where, bucket, region string) string {
	switch {
	case code(err) == "BucketAlreadyExists":
		return fmt.Sprintf("the name %s belongs to another account at %s; choose another bucket name", bucket, where)
	case code(err) == "PermanentRedirect" || code(err) == "AuthorizationHeaderMalformed" || code(err) == "IllegalLocationConstraintException":
		return fmt.Sprintf("the bucket is not in region %s; set its region", region)
	case code(err) == "RequestTimeTooSkewed":
		return "the clocks of this machine and of the S3 server differ; set them right"
	case errors.Is(classify(err), ErrCredentials):
		return fmt.Sprintf("check the S3 access key and secret key for %s", where)
	case errors.Is(classify(err), ErrForbidden):
		return fmt.Sprintf("the keys must be allowed to list, read, write and delete in bucket %s, and to create it if it is missing", bucket)
	case status(err) == 0:
		return fmt.Sprintf("check that the S3 endpoint %s is right and running, and that credentials are set", where)
	}
	return fmt.Sprintf("check the settings of S3 for %s", where)
}

// putSmall stores an object that is in memory.
func (s *Store) putSmall(ctx context.Context, key string, data []byte) error {
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(data)})
	return explain("store "+key, err)
}

// getSmall fetches a whole object into memory.
func (s *Store) getSmall(ctx context.Context, key string) ([]byte, error) {
	got, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &key})
	if err != nil {
		return nil, explain("fetch "+key, err)
	}
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	return data, explain("fetch "+key, err)
}

// remove deletes an object; one that is not there is no error.
func (s *Store) remove(ctx context.Context, key string) error {
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
	if errors.Is(classify(err), ErrNotFound) {
		return nil
	}
	return explain("delete "+key, err)
}

// cleanup is a context for tidying up after another has ended.
func cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
}
