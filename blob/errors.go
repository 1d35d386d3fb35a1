package blob

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

var (
	// ErrNotFound means that no such object is stored.
	ErrNotFound = errors.New("not found")
	// ErrEmpty means that an upload held no byte.
	ErrEmpty = errors.New("the upload is empty")
	// ErrUnreachable means that the S3 server did not answer.
	ErrUnreachable = errors.New("the S3 server cannot be reached")
	// ErrCredentials means that the S3 server refused the keys.
	ErrCredentials = errors.New("the S3 server refused the credentials")
	// ErrForbidden means that the keys are right but lack a permission.
	ErrForbidden = errors.New("the S3 server forbids it")
	// ErrForeignBucket means that the bucket is in use by something else.
	ErrForeignBucket = errors.New("the bucket is not Tidewheel's")
)

// TooLargeError reports that an upload is larger than allowed.
type TooLargeError struct {
	Limit int64 // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the upload is larger than the limit of %d bytes", e.Limit)
}

// DigestError reports that bytes do not have the SHA-256 they should have.
type DigestError struct {
	Want, Got string // hex
}

func (e *DigestError) Error() string {
	return fmt.Sprintf("the content has sha256 %s, expected %s: it was damaged or exchanged", e.Got, e.Want)
}

// explain wraps an error of the SDK with the operation, and with the sentinel
// that says what is wrong. The error of a context stays recognisable.
func explain(operation string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("blob: %s: %w", operation, err)
	}
	if sentinel := classify(err); sentinel != nil {
		return fmt.Errorf("blob: %s: %w: %w", operation, sentinel, err)
	}
	return fmt.Errorf("blob: %s: %w", operation, err)
}

func classify(err error) error {
	switch code(err) {
	case "NoSuchKey", "NotFound", "NoSuchBucket":
		return ErrNotFound
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "AuthFailure":
		return ErrCredentials
	case "AccessDenied", "Forbidden", "AllAccessDisabled":
		return ErrForbidden
	}
	if status(err) == http.StatusNotFound {
		return ErrNotFound
	}
	var network net.Error
	if errors.As(err, &network) && status(err) == 0 {
		return ErrUnreachable
	}
	return nil
}

// code is the error code of S3, or empty.
func code(err error) string {
	var answered smithy.APIError
	if errors.As(err, &answered) {
		return answered.ErrorCode()
	}
	return ""
}

// status is the HTTP status of the answer, or 0 when there was none.
func status(err error) int {
	var answered *awshttp.ResponseError
	if errors.As(err, &answered) && answered.Response != nil && answered.Response.Response != nil {
		return answered.HTTPStatusCode()
	}
	return 0
}

// lasting reports whether trying again later cannot help: the server answered,
// and refused the request itself.
func lasting(err error) bool {
	switch s := status(err); s {
	case 0, http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusConflict:
		return false
	case http.StatusForbidden:
		return code(err) != "RequestTimeTooSkewed" // a clock is set right in the end
	default:
		return s >= 400 && s < 500
	}
}
