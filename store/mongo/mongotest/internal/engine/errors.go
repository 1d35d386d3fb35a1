package engine

import (
	"fmt"

	"go.mongodb.org/mongo-driver/bson"
)

// Code is a MongoDB server error code.
type Code int32

// The codes this server answers with; numbers and names are MongoDB's.
const (
	InternalError              Code = 1
	BadValue                   Code = 2
	FailedToParse              Code = 9
	TypeMismatch               Code = 14
	IllegalOperation           Code = 20
	NamespaceNotFound          Code = 26
	IndexNotFound              Code = 27
	ConflictingUpdateOperators Code = 40
	CursorNotFound             Code = 43
	NamespaceExists            Code = 48
	CommandNotFound            Code = 59
	WriteConcernFailed         Code = 64
	ImmutableField             Code = 66
	CannotCreateIndex          Code = 67
	InvalidOptions             Code = 72
	InvalidNamespace           Code = 73
	IndexOptionsConflict       Code = 85
	IndexKeySpecsConflict      Code = 86
	UnsatisfiableWriteConcern  Code = 100
	WriteConflict              Code = 112
	CommandNotSupported        Code = 115
	CannotIndexParallelArrays  Code = 171
	TransactionTooOld          Code = 225
	SnapshotTooOld             Code = 239
	NotWritablePrimary         Code = 10107
	BSONObjectTooLarge         Code = 10334
	DuplicateKey               Code = 11000
)

var codeNames = map[Code]string{
	InternalError:              "InternalError",
	BadValue:                   "BadValue",
	FailedToParse:              "FailedToParse",
	TypeMismatch:               "TypeMismatch",
	IllegalOperation:           "IllegalOperation",
	NamespaceNotFound:          "NamespaceNotFound",
	IndexNotFound:              "IndexNotFound",
	ConflictingUpdateOperators: "ConflictingUpdateOperators",
	CursorNotFound:             "CursorNotFound",
	NamespaceExists:            "NamespaceExists",
	CommandNotFound:            "CommandNotFound",
	ImmutableField:             "ImmutableField",
	CannotCreateIndex:          "CannotCreateIndex",
	InvalidOptions:             "InvalidOptions",
	InvalidNamespace:           "InvalidNamespace",
	IndexOptionsConflict:       "IndexOptionsConflict",
	IndexKeySpecsConflict:      "IndexKeySpecsConflict",
	UnsatisfiableWriteConcern:  "UnsatisfiableWriteConcern",
	CommandNotSupported:        "CommandNotSupported",
	CannotIndexParallelArrays:  "CannotIndexParallelArrays",
	TransactionTooOld:          "TransactionTooOld",
	SnapshotTooOld:             "SnapshotTooOld",
	NotWritablePrimary:         "NotWritablePrimary",
	WriteConcernFailed:         "WriteConcernFailed",
	WriteConflict:              "WriteConflict",
	BSONObjectTooLarge:         "BSONObjectTooLarge",
	DuplicateKey:               "DuplicateKey",
}

// String returns MongoDB's name of the code.
func (c Code) String() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	return fmt.Sprintf("Location%d", int32(c))
}

// Error is what a MongoDB server would answer.
type Error struct {
	Code    Code
	Message string
	// KeyPattern and KeyValue name the index and the value of a DuplicateKey error.
	KeyPattern, KeyValue bson.D
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// Errorf makes an Error.
func Errorf(code Code, format string, arguments ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, arguments...)}
}
