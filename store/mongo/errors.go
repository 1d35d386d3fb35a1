package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/auth"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
)

// What can be wrong with the connection; the wrapping error says what to check.
var (
	// ErrURI means that the connection string cannot be read.
	ErrURI = errors.New("the MongoDB connection string is not valid")
	// ErrUnreachable means that no server answered in time.
	ErrUnreachable = errors.New("MongoDB does not answer")
	// ErrCredentials means that the server refused the user or the password.
	ErrCredentials = errors.New("MongoDB refuses the credentials")
	// ErrPermission means that the user may not do what Tidewheel needs.
	ErrPermission = errors.New("MongoDB does not allow it")
)

// unreachableError is ErrUnreachable with all that the driver says, which is long.
type unreachableError struct {
	operation, hosts string
	err              error
}

func (e *unreachableError) Error() string {
	return fmt.Sprintf("mongo: %s: %s: check that a MongoDB runs at %s, that this machine reaches it, and replicaSet and "+
		"tls of the connection string: %s", e.operation, ErrUnreachable, e.hosts, e.err)
}

// Brief says the same to those who can do nothing about it.
func (e *unreachableError) Brief() string { return "no MongoDB is reached at " + e.hosts }

func (e *unreachableError) Unwrap() []error { return []error{ErrUnreachable, e.err} }

// SchemaError reports that the database was written by a version that this one does not know, or is in use by nodes of an earlier
// version that would misread what this one writes.
type SchemaError struct {
	Database     string
	Found, Known int
	// Here are the nodes of the earlier version.
	Here []string
}

func (e *SchemaError) Error() string {
	if len(e.Here) > 0 {
		return fmt.Sprintf("database %q has schema version %d and is in use by nodes of an earlier Tidewheel, on %s; they would misread "+
			"version %d, which this one writes. Stop all nodes with the role engine or web, then start one of this version, then the others; "+
			"executors are restarted last, one after the other", e.Database, e.Found, strings.Join(e.Here, ", "), e.Known)
	}
	if e.Found > e.Known {
		return fmt.Sprintf("database %q has schema version %d, and this Tidewheel knows up to %d: it was written by a newer "+
			"Tidewheel. Run that version, or give this one another database", e.Database, e.Found, e.Known)
	}
	return fmt.Sprintf("database %q has schema version %d, which is none: the document \"schema\" of its collection "+
		"\"meta\" was changed. Set its version to %d if the data is Tidewheel's", e.Database, e.Found, e.Known)
}

// IndexError reports that an index that Tidewheel needs cannot be made.
type IndexError struct {
	Database, Collection, Index string
	Conflict                    bool // another index stands in its place
	Err                         error
}

func (e *IndexError) Error() string {
	if e.Conflict {
		return fmt.Sprintf("index %s of collection %s.%s is there already with another definition: drop it "+
			"(db.%s.dropIndex(%q)) or the one with the same keys, and start again: %s",
			e.Index, e.Database, e.Collection, e.Collection, e.Index, e.Err)
	}
	return fmt.Sprintf("index %s of collection %s.%s cannot be made: %s", e.Index, e.Database, e.Collection, e.Err)
}

func (e *IndexError) Unwrap() error { return e.Err }

// DocumentError reports that a stored document cannot be read, as after a faulty manual edit.
type DocumentError struct {
	Collection string
	ID         string
	Err        error
}

func (e *DocumentError) Error() string {
	return fmt.Sprintf("document %q of collection %s cannot be read: %s: mend it in the database", e.ID, e.Collection, e.Err)
}

func (e *DocumentError) Unwrap() error { return e.Err }

// Server error codes that mean something to this package.
const (
	codeBadValue              = 2
	codeFailedToParse         = 9
	codeUnauthorized          = 13
	codeTypeMismatch          = 14
	codeAuthenticationFailed  = 18
	codeIllegalOperation      = 20
	codeCommandNotFound       = 59
	codeCannotCreateIndex     = 67
	codeInvalidOptions        = 72
	codeNamespaceNotFound     = 26
	codeIndexNotFound         = 27
	codeIndexOptionsConflict  = 85
	codeIndexKeySpecsConflict = 86
	codeCommandNotSupported   = 115
	codeDocumentValidation    = 121
	codeNotImplemented        = 238
	codeAtlasError            = 8000
	codeDocumentTooLarge      = 10334
	codeDocumentTooLargeToo   = 17280
)

// hopeless are the codes after which the same write fails again.
var hopeless = []int{
	codeBadValue, codeFailedToParse, codeUnauthorized, codeTypeMismatch, codeAuthenticationFailed, codeIllegalOperation,
	codeCommandNotFound, codeInvalidOptions, codeCommandNotSupported, codeDocumentValidation, codeNotImplemented,
	codeAtlasError, codeDocumentTooLarge, codeDocumentTooLargeToo,
}

// retryLabels are what drivers and servers mark errors with after which the same operation may succeed.
var retryLabels = []string{
	"RetryableWriteError", "TransientTransactionError", "NetworkError", "NoWritesPerformed", "SystemOverloadedError", "RetryableError",
}

// worthRetrying reports whether an operation that failed like this may succeed soon. What it does not know it takes for
// such: servers that imitate MongoDB have codes of their own for a deadlock or a failover, and retries are bounded.
func worthRetrying(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, mongo.ErrClientDisconnected) || errors.Is(err, mongo.ErrNoDocuments) {
		return false
	}
	var unmarshalable mongo.MarshalError
	var unreadable *DocumentError
	if errors.As(err, &unmarshalable) || errors.As(err, &unreadable) {
		return false
	}
	// The driver has waited for a server as long as it is configured to.
	var selection topology.ServerSelectionError
	if errors.As(err, &selection) {
		return false
	}
	var labelled mongo.LabeledError
	if errors.As(err, &labelled) && slices.ContainsFunc(retryLabels, labelled.HasErrorLabel) {
		return true
	}
	return !slices.ContainsFunc(mongo.ErrorCodes(err), func(code int) bool { return slices.Contains(hopeless, code) })
}

// failed wraps an error of the driver with the operation and what to do about it; nil stays nil.
func (s *Store) failed(operation string, err error) error {
	if err == nil {
		return nil
	}
	var refused *auth.Error
	var selection topology.ServerSelectionError
	codes := mongo.ErrorCodes(err)
	switch {
	case errors.As(err, &refused), slices.Contains(codes, codeAuthenticationFailed):
		return fmt.Errorf("mongo: %s: %w: check user, password and authSource of the connection string for %s: %w",
			operation, ErrCredentials, s.hosts, err)
	case slices.Contains(codes, codeUnauthorized):
		return fmt.Errorf("mongo: %s: %w: give the user the role readWrite on database %q: %w",
			operation, ErrPermission, s.database.Name(), err)
	case errors.As(err, &selection), mongo.IsTimeout(err) && !errors.Is(err, context.Canceled), mongo.IsNetworkError(err):
		return &unreachableError{operation, s.hosts, err}
	}
	return fmt.Errorf("mongo: %s: %w", operation, err)
}
