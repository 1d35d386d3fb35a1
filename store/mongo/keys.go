package mongo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Keys that users choose (of env, labels, …) may hold what not every server takes in a field's name: a '.', a leading
// '$', nothing at all. These are written like in a URL, and '%' with them where it would be misread. A dotted key that
// another program wrote as it is stays as it is.
var (
	keyEscapes   = strings.NewReplacer("%", "%25", ".", "%2E", "\x00", "%00")
	keyUnescapes = strings.NewReplacer("%25", "%", "%2E", ".", "%24", "$", "%00", "\x00", "%-", "")
)

func escapeKey(key string) string {
	if key == "" {
		return "%-"
	}
	key = keyEscapes.Replace(key)
	if key[0] == '$' {
		key = "%24" + key[1:]
	}
	return key
}

func unescapeKey(key string) string {
	if !strings.Contains(key, "%") {
		return key
	}
	return keyUnescapes.Replace(key)
}

// sorted is a map as a document, in the order of its keys, so that the same map is always the same bytes.
func sorted[T any](m map[string]T) (document bson.D) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		document = append(document, bson.E{Key: escapeKey(key), Value: m[key]})
	}
	return document
}

func stringsOf(document bson.D) (map[string]string, error) {
	if len(document) == 0 {
		return nil, nil
	}
	result := make(map[string]string, len(document))
	for _, element := range document {
		text, ok := element.Value.(string)
		if !ok {
			return nil, fmt.Errorf("%s is a %T, not a text", element.Key, element.Value)
		}
		result[unescapeKey(element.Key)] = text
	}
	return result, nil
}

func numbersOf(document bson.D) (map[string]int, error) {
	if len(document) == 0 {
		return nil, nil
	}
	result := make(map[string]int, len(document))
	for _, element := range document {
		switch number := element.Value.(type) {
		case int32:
			result[unescapeKey(element.Key)] = int(number)
		case int64:
			result[unescapeKey(element.Key)] = int(number)
		case float64:
			result[unescapeKey(element.Key)] = int(number)
		default:
			return nil, fmt.Errorf("%s is a %T, not a number", element.Key, element.Value)
		}
	}
	return result, nil
}
