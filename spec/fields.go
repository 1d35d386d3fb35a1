package spec

import (
	"reflect"
	"strings"
)

// keyOf is the key of a field in YAML and JSON.
func keyOf(field reflect.StructField) string {
	key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return key
}

// keysOf are the keys of a struct, in order.
func keysOf(kind reflect.Type) []string {
	keys := make([]string, 0, kind.NumField())
	for field := range kind.Fields() {
		keys = append(keys, keyOf(field))
	}
	return keys
}

func fieldNamed(kind reflect.Type, key string) (int, bool) {
	for i := range kind.NumField() {
		if keyOf(kind.Field(i)) == key {
			return i, true
		}
	}
	return 0, false
}

// keyPaths are the paths of all keys of a struct and of the structs inside it.
func keyPaths(prefix string, kind reflect.Type) []string {
	var paths []string
	for field := range kind.Fields() {
		path := join(prefix, keyOf(field))
		paths = append(paths, path)
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner != timeType {
			paths = append(paths, keyPaths(path, inner)...)
		}
	}
	return paths
}
