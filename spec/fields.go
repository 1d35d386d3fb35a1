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

// optionOf is how a field is read: "scalar", or "" as its type says.
func optionOf(field reflect.StructField) string { return field.Tag.Get("spec") }

// unkeyed marks a field that has no key: the name of a task is the key of the task.
const unkeyed = "-"

// keysOf are the keys of a struct that may be given, in order.
func keysOf(kind reflect.Type) []string {
	keys := make([]string, 0, kind.NumField())
	for field := range kind.Fields() {
		if key := keyOf(field); key != unkeyed {
			keys = append(keys, key)
		}
	}
	return keys
}

func fieldNamed(kind reflect.Type, key string) (int, bool) {
	for i := range kind.NumField() {
		if keyOf(kind.Field(i)) == key && key != unkeyed {
			return i, true
		}
	}
	return 0, false
}

// keyPaths are the paths of all keys of a struct and of the structs inside it;
// those of tasks are below "tasks.*".
func keyPaths(prefix string, kind reflect.Type) []string {
	var paths []string
	for field := range kind.Fields() {
		if keyOf(field) == unkeyed {
			continue
		}
		path := join(prefix, keyOf(field))
		paths = append(paths, path)
		inner := field.Type
		if inner == tasksType {
			path, inner = path+".*", taskType
		}
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner != timeType {
			paths = append(paths, keyPaths(path, inner)...)
		}
	}
	return paths
}
