package main

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed outside.txt
var outsideList string

// outside is what is not run by worlds at all, with the reason.
type outside struct {
	line           int // of the list
	path, function string
	reason         string
	found          bool
}

// parseOutside reads the list: a line "path: reason", or "path function: reason".
func parseOutside(list string) ([]*outside, error) {
	var all []*outside
	number := 0
	for line := range strings.Lines(list) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		place, reason, found := strings.Cut(line, ": ")
		if !found || reason == "" {
			return nil, fmt.Errorf("internal/simcover/outside.txt:%d: want \"path: reason\" or \"path function: reason\"", number)
		}
		path, function, _ := strings.Cut(place, " ")
		all = append(all, &outside{line: number, path: path, function: function, reason: reason})
	}
	return all, nil
}

// isOutside reports whether a function is one of these.
func isOutside(all []*outside, f *file, fn *function) bool {
	for _, o := range all {
		if o.path == f.path && (o.function == "" || o.function == fn.name) {
			o.found = true
			return true
		}
	}
	return false
}
