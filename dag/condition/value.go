package condition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Value decodes JSON into what expressions see: as encoding/json does, but whole
// numbers that fit are int, so that they index lists and compare exactly. An
// empty text is nil.
func Value(data json.RawMessage) (any, error) {
	if len(data) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotJSON, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: something follows the value", errNotJSON)
	}
	return plain(value), nil
}

func plain(value any) any {
	switch value := value.(type) {
	case json.Number:
		if whole, err := value.Int64(); err == nil {
			return int(whole)
		}
		// Past the largest number it is the infinity that Float64 gives beside its error.
		number, _ := value.Float64()
		return number
	case []any:
		for i := range value {
			value[i] = plain(value[i])
		}
		return value
	case map[string]any:
		for key, inner := range value {
			value[key] = plain(inner)
		}
		return value
	default:
		return value
	}
}

var errNotJSON = errors.New("is not JSON")
