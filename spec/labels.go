package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// LabelChange adds labels to a definition, or gives them other values, and takes others away.
type LabelChange struct {
	Set    map[string]string
	Remove []string
}

// ParseLabelChange reads what a user writes: key=value sets a label, key- removes it.
func ParseLabelChange(words []string) (LabelChange, error) {
	change := LabelChange{Set: map[string]string{}}
	for _, word := range words {
		key, value, sets := strings.Cut(word, "=")
		removed, removes := strings.CutSuffix(word, "-")
		switch {
		case sets && key != "":
			change.Set[key] = value
		case !sets && removes && removed != "":
			change.Remove = append(change.Remove, removed)
		default:
			return LabelChange{}, fmt.Errorf("%q is no label: write key=value to set one, key- to remove it", word)
		}
	}
	for _, key := range change.Remove {
		if _, sets := change.Set[key]; sets {
			return LabelChange{}, fmt.Errorf("the label %s is set and removed at once: do one of both", key)
		}
	}
	if len(change.Set) == 0 && len(change.Remove) == 0 {
		return LabelChange{}, fmt.Errorf("name at least one label: key=value sets it, key- removes it")
	}
	return change, nil
}

// Of returns labels as they are after the change.
func (c LabelChange) Of(labels map[string]string) map[string]string {
	after := maps.Clone(labels)
	if after == nil {
		after = map[string]string{}
	}
	maps.Copy(after, c.Set)
	for _, key := range c.Remove {
		delete(after, key)
	}
	if len(after) == 0 {
		return nil
	}
	return after
}

// Words writes a change as ParseLabelChange reads it.
func (c LabelChange) Words() string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(c.Set)) {
		words = append(words, key+"="+c.Set[key])
	}
	for _, key := range c.Remove {
		words = append(words, key+"-")
	}
	return strings.Join(words, " ")
}

var (
	labelsKey = regexp.MustCompile(`(?m)^labels[ \t]*:.*(?:\n|\z)`)
	deeper    = regexp.MustCompile(`^(?:[ \t]+[^\n]*|[ \t]*)(?:\n|\z)`)
)

// Relabel returns the text of a definition with other labels: the rest of it stays, byte by byte. Whether that means what it should is
// for the caller to see: Text does.
func Relabel(source string, labels map[string]string) string {
	lines := ""
	if len(labels) > 0 {
		text, err := yaml.Marshal(map[string]map[string]string{"labels": labels})
		if err != nil {
			return ""
		}
		lines = strings.ReplaceAll(string(text), "\n    ", "\n  ")
	}
	at := labelsKey.FindStringIndex(source)
	if at == nil {
		if source != "" && !strings.HasSuffix(source, "\n") {
			source += "\n"
		}
		return source + lines
	}
	end := at[1]
	blank := end // where empty lines begin that belong to what follows
	for end < len(source) {
		line := deeper.FindString(source[end:])
		if line == "" {
			break
		}
		end += len(line)
		if strings.TrimSpace(line) != "" {
			blank = end
		}
	}
	return source[:at[0]] + lines + source[blank:]
}
