package sqlite

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Documents of runs and waves that programs of schema 10 and before wrote, in the form of wire.go, stay as they are until
// they are written again. The numbers of their fields are the names in codec_types.go.

// isSchema10 reports whether a document is of schema 10 or before: it begins with the tag of its first field, the id. A map
// of MessagePack begins with a byte of 0x80 or more.
func isSchema10(document []byte) bool { return len(document) > 0 && document[0] == 1<<1|kindBytes }

// fieldLabels was what a run asks of its executor, as a text.
const fieldLabels = 43

func decodeRunSchema10(document []byte) (engine.Run, error) {
	var r engine.Run
	err := readSchema10(document, reflect.ValueOf((*run)(&r)).Elem())
	if err != nil {
		return engine.Run{}, fmt.Errorf("run %q: %w", r.ID, err)
	}
	err = fields(document, func(field uint64, v value) error {
		if field == fieldLabels {
			r.RunsOn = spec.ParseRunsOn(v.text())
		}
		return nil
	})
	return r, err
}

func decodeWaveSchema10(document []byte) (engine.Wave, error) {
	var w engine.Wave
	if err := readSchema10(document, reflect.ValueOf((*wave)(&w)).Elem()); err != nil {
		return engine.Wave{}, fmt.Errorf("wave %q: %w", w.ID, err)
	}
	return w, nil
}

func documentIDSchema10(document []byte) (string, error) {
	length, n := binary.Uvarint(document[1:])
	if n <= 0 || length > uint64(len(document)-1-n) {
		return "", errDocument
	}
	return string(document[1+n : 1+n+int(length)]), nil
}

// storedTypes are the engine's types within documents, and their twins.
var storedTypes = map[reflect.Type]reflect.Type{
	reflect.TypeFor[engine.Attempt]():   reflect.TypeFor[attempt](),
	reflect.TypeFor[engine.Usage]():     reflect.TypeFor[usage](),
	reflect.TypeFor[engine.Output]():    reflect.TypeFor[output](),
	reflect.TypeFor[engine.Progress]():  reflect.TypeFor[progress](),
	reflect.TypeFor[engine.Artifact]():  reflect.TypeFor[artifact](),
	reflect.TypeFor[engine.WaveRest]():  reflect.TypeFor[waveRest](),
	reflect.TypeFor[engine.WaveTally](): reflect.TypeFor[waveTally](),
}

// stored returns a struct as its twin.
func stored(v reflect.Value) reflect.Value {
	if twin, found := storedTypes[v.Type()]; found {
		return v.Addr().Convert(reflect.PointerTo(twin)).Elem()
	}
	return v
}

// numbers keeps where the fields of a twin are, by their numbers.
var numbers sync.Map // of map[uint64]int by reflect.Type

func fieldNumbers(t reflect.Type) map[uint64]int {
	if known, found := numbers.Load(t); found {
		return known.(map[uint64]int)
	}
	places := make(map[uint64]int, t.NumField())
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("msg"), ",")
		if number, err := strconv.ParseUint(name, 10, 64); err == nil {
			places[number] = i
		}
	}
	numbers.Store(t, places)
	return places
}

// readSchema10 reads a document into a struct.
func readSchema10(document []byte, into reflect.Value) error {
	into = stored(into)
	places := fieldNumbers(into.Type())
	return fields(document, func(field uint64, v value) error {
		if i, found := places[field]; found {
			return v.set(into.Field(i))
		}
		return nil
	})
}

// set puts a value into a field. Of a list or map it is one element.
func (v value) set(field reflect.Value) error {
	if at, is := field.Addr().Interface().(*time.Time); is {
		*at = v.time()
		return nil
	}
	switch field.Kind() {
	case reflect.Bool:
		field.SetBool(v.number != 0)
	case reflect.Int, reflect.Int64:
		field.SetInt(v.int())
	case reflect.Uint8, reflect.Uint64:
		field.SetUint(v.number)
	case reflect.Float64:
		field.SetFloat(v.float())
	case reflect.String:
		field.SetString(v.text())
	case reflect.Struct:
		return readSchema10(v.bytes, field)
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
		if field.Elem().Kind() == reflect.Struct {
			return readSchema10(v.bytes, field.Elem())
		}
		return fields(v.bytes, func(_ uint64, v value) error { return v.set(field.Elem()) }) // it may be zero and yet there
	case reflect.Slice:
		if field.Type().Elem().Kind() == reflect.Uint8 {
			field.SetBytes(v.clone())
			return nil
		}
		element := reflect.New(field.Type().Elem()).Elem()
		err := readSchema10(v.bytes, element)
		field.Set(reflect.Append(field, element))
		return err
	case reflect.Map:
		return v.setPair(field)
	default:
		return fmt.Errorf("%w: a field of type %s", errDocument, field.Type())
	}
	return nil
}

// setPair puts a key and a value, which may have been left out for zero, into a map.
func (v value) setPair(into reflect.Value) error {
	pair := [2]reflect.Value{reflect.New(into.Type().Key()).Elem(), reflect.New(into.Type().Elem()).Elem()}
	err := fields(v.bytes, func(field uint64, v value) error {
		if field != 1 && field != 2 {
			return nil
		}
		return v.set(pair[field-1])
	})
	if into.IsNil() {
		into.Set(reflect.MakeMap(into.Type()))
	}
	into.SetMapIndex(pair[0], pair[1])
	return err
}
