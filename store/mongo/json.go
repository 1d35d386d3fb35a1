package mongo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// maxNesting is how deep a payload may nest as BSON; servers refuse documents of more than 100 levels.
const maxNesting = 60

// toBSON returns a JSON text as BSON values, objects in the order of their keys in the text. key gives the name of a
// field, or an error if the text cannot be BSON.
func toBSON(data []byte, key func(string) (string, error)) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	value, err := readJSON(decoder, key, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return value, nil
}

func readJSON(decoder *json.Decoder, key func(string) (string, error), depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Number:
		return number(token)
	case json.Delim:
		if depth > maxNesting {
			return nil, errors.New("nested too deep")
		}
		if token == '[' {
			list := bson.A{}
			for decoder.More() {
				item, err := readJSON(decoder, key, depth+1)
				if err != nil {
					return nil, err
				}
				list = append(list, item)
			}
			_, err := decoder.Token()
			return list, err
		}
		document, seen := bson.D{}, map[string]bool{}
		for decoder.More() {
			token, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			name, err := key(token.(string)) // a decoder gives nothing else there
			if err != nil {
				return nil, err
			}
			if seen[name] {
				return nil, fmt.Errorf("the key %q is there twice", name)
			}
			seen[name] = true
			value, err := readJSON(decoder, key, depth+1)
			if err != nil {
				return nil, err
			}
			document = append(document, bson.E{Key: name, Value: value})
		}
		_, err := decoder.Token()
		return document, err
	}
	return token, nil // string, bool or nil
}

func number(text json.Number) (any, error) {
	if integer, err := strconv.ParseInt(text.String(), 10, 64); err == nil {
		if integer >= math.MinInt32 && integer <= math.MaxInt32 {
			return int32(integer), nil
		}
		return integer, nil
	}
	return strconv.ParseFloat(text.String(), 64)
}

// toJSON is the way back. It takes what people write in a shell too: doubles that are whole numbers, and dates.
func toJSON(value bson.RawValue, key func(string) string) ([]byte, error) {
	var out bytes.Buffer
	if err := writeJSON(&out, value, key); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func writeJSON(out *bytes.Buffer, value bson.RawValue, key func(string) string) error {
	switch value.Type {
	case bson.TypeNull:
		out.WriteString("null")
	case bson.TypeBoolean:
		out.WriteString(strconv.FormatBool(value.Boolean()))
	case bson.TypeInt32:
		out.WriteString(strconv.FormatInt(int64(value.Int32()), 10))
	case bson.TypeInt64:
		out.WriteString(strconv.FormatInt(value.Int64(), 10))
	case bson.TypeDouble:
		return writeDouble(out, value.Double())
	case bson.TypeDecimal128:
		text := value.Decimal128().String()
		if !json.Valid([]byte(text)) {
			return fmt.Errorf("%s is not a number of JSON", text)
		}
		out.WriteString(text)
	case bson.TypeString:
		writeString(out, value.StringValue())
	case bson.TypeDateTime:
		writeString(out, value.Time().UTC().Format(time.RFC3339Nano))
	case bson.TypeArray:
		items, err := value.Array().Values()
		if err != nil {
			return err
		}
		for i, item := range items {
			out.WriteByte("[,"[min(i, 1)])
			if err := writeJSON(out, item, key); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		if len(items) == 0 {
			out.WriteByte('[')
		}
		out.WriteByte(']')
	case bson.TypeEmbeddedDocument:
		return writeObject(out, value.Document(), key)
	default:
		return fmt.Errorf("a value of the type %s has no place in JSON", value.Type)
	}
	return nil
}

func writeObject(out *bytes.Buffer, document bson.Raw, key func(string) string) error {
	elements, err := document.Elements()
	if err != nil {
		return err
	}
	out.WriteByte('{')
	for i, element := range elements {
		if i > 0 {
			out.WriteByte(',')
		}
		writeString(out, key(element.Key()))
		out.WriteByte(':')
		if err := writeJSON(out, element.Value(), key); err != nil {
			return fmt.Errorf("%s: %w", element.Key(), err)
		}
	}
	out.WriteByte('}')
	return nil
}

func writeDouble(out *bytes.Buffer, number float64) error {
	switch {
	case math.IsNaN(number) || math.IsInf(number, 0):
		return fmt.Errorf("%v is not a number of JSON", number)
	case number == math.Trunc(number) && math.Abs(number) < 1<<53:
		out.WriteString(strconv.FormatFloat(number, 'f', -1, 64))
	default:
		out.WriteString(strconv.FormatFloat(number, 'g', -1, 64))
	}
	return nil
}

func writeString(out *bytes.Buffer, text string) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)    // writing a string to memory cannot fail
	out.Truncate(out.Len() - 1) // the line break of Encode
}

// payload is a JSON value that must come back as the same bytes. Where BSON can give them back, Value holds it for
// people to read and edit; else Text holds the JSON as it is (1.0 and 1e3 are numbers that BSON would not distinguish from
// 1 and 1000).
type payload struct {
	value bson.RawValue
	text  bson.RawValue
}

func newPayload(data json.RawMessage) (payload, error) {
	if len(data) == 0 {
		return payload{}, nil
	}
	if value, ok := exactBSON(data); ok {
		return payload{value: value}, nil
	}
	kind, text, err := bson.MarshalValue(string(data))
	if !utf8.Valid(data) {
		kind, text, err = bson.MarshalValue([]byte(data)) // not every server takes any bytes as a text
	}
	return payload{text: bson.RawValue{Type: kind, Value: text}}, err
}

func (p payload) json() (json.RawMessage, error) {
	switch {
	case !p.text.IsZero():
		if text, ok := p.text.StringValueOK(); ok {
			return json.RawMessage(text), nil
		}
		if _, data, ok := p.text.BinaryOK(); ok {
			return json.RawMessage(bytes.Clone(data)), nil
		}
		return nil, fmt.Errorf("payload_json is a %s, not a text", p.text.Type)
	case !p.value.IsZero():
		data, err := toJSON(p.value, func(key string) string { return key })
		if err != nil {
			return nil, fmt.Errorf("payload: %w", err)
		}
		return data, nil
	}
	return nil, nil
}

func exactBSON(data []byte) (value bson.RawValue, exact bool) {
	converted, err := toBSON(data, plainKey)
	if err != nil {
		return value, false
	}
	value = bson.RawValue{Type: bson.TypeNull}
	if converted != nil {
		if value.Type, value.Value, err = bson.MarshalValue(converted); err != nil {
			return value, false
		}
	}
	back, err := toJSON(value, func(key string) string { return key })
	return value, err == nil && bytes.Equal(back, data)
}

// plainKey refuses names that not every server takes as a field's.
func plainKey(key string) (string, error) {
	if key == "" || key[0] == '$' || strings.ContainsAny(key, ".\x00") {
		return "", fmt.Errorf("%q cannot be the name of a field", key)
	}
	return key, nil
}
