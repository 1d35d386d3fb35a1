package sqlite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"database/sql/driver"

	"github.com/tidewheel/tidewheel/engine"
	sqlite "modernc.org/sqlite"
)

// instant is how a time is stored: milliseconds since 1970, NULL for the zero time.
func instant(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.UnixMilli()
}

// always is instant for columns that cannot be NULL.
func always(at time.Time) int64 { return at.UnixMilli() }

// shardMask turns shards into a set of bits, for `(? >> shard) & 1`.
func shardMask(shards []int) int64 {
	var mask uint64
	for _, shard := range shards {
		if shard >= 0 && shard < engine.Shards {
			mask |= 1 << shard
		}
	}
	return int64(mask)
}

// jsonList returns a list for json_each.
func jsonList(list []string) (string, error) {
	if len(list) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal(list)
	return string(text), err
}

// encode writes a document as JSON.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func decode[T any](document []byte) (v T, err error) {
	if err := json.Unmarshal(document, &v); err != nil {
		return v, fmt.Errorf("%w: %w", errDocument, err)
	}
	return v, nil
}

// likePattern makes a pattern of LIKE, with '\' as escape, that finds text anywhere.
func likePattern(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text) + "%"
}

// registerFunctions adds tidewheel_contains(text, lowered) to SQLite, whose own LIKE ignores case for ASCII only, and
// tidewheel_record(document), which makes a record of the log of a run, for a migration.
var registerFunctions = sync.OnceValue(func() error {
	return errors.Join(
		sqlite.RegisterDeterministicScalarFunction("tidewheel_contains", 2, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			text, _ := args[0].(string)
			lowered, _ := args[1].(string)
			return strings.Contains(strings.ToLower(text), lowered), nil
		}),
		sqlite.RegisterDeterministicScalarFunction("tidewheel_record", 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			document, _ := args[0].([]byte)
			return append(appendLength(nil, recordRun, len(document)), document...), nil
		}),
	)
})

func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}
