package spec

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// What a job may ask of an executor. Each set of labels that is asked for has
// queues of its own, so both its size and what may stand in it are narrower
// than what a job's own labels may be.
const (
	maxRunsOn     = 8
	runsOnPattern = `^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,62}$`
)

var runsOnSyntax = regexp.MustCompile(runsOnPattern)

func (v *validator) runsOn(j *Job) {
	v.atMost("runs_on", len(j.RunsOn), maxRunsOn, "labels")
	for _, key := range sortedKeys(j.RunsOn) {
		if fault := executorLabelFault(key, j.RunsOn[key]); fault != "" {
			v.add(join("runs_on", key), "%s", fault)
		}
	}
}

// executorLabelFault is what is wrong with a label of an executor, or "".
func executorLabelFault(key, value string) string {
	switch {
	case !IsLabelKey(key):
		return fmt.Sprintf("is not a name for a label: use at most %d letters, digits, '.', '_', '/' and '-', a letter or digit first", maxLabelKey)
	case value == "":
		return "has no value: executors have labels with values, such as gpu: \"true\""
	case !runsOnSyntax.MatchString(value):
		return fmt.Sprintf("has the value %s, which no executor can have: use at most 63 letters, digits, '.', '_', ':', '/', '@', '+' and '-', a letter or digit first", quote(value))
	}
	return ""
}

// ParseExecutorLabel reads a label of an executor as it is written in one
// word: key=value.
func ParseExecutorLabel(text string) (key, value string, err error) {
	key, value, found := strings.Cut(text, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !found {
		return "", "", errors.New("is not a label: write key=value, such as gpu=true")
	}
	if fault := executorLabelFault(key, value); fault != "" {
		return "", "", errors.New(fault)
	}
	return key, value, nil
}

// RunsOnText writes a set of labels in one word, the same for the same set:
// arch=arm64,gpu=true. It is empty for none.
func RunsOnText(labels map[string]string) string {
	if len(labels) == 0 {
		return ""
	}
	var text strings.Builder
	for i, key := range sortedKeys(labels) {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(key + "=" + labels[key])
	}
	return text.String()
}

// ParseRunsOn reads what RunsOnText has written.
func ParseRunsOn(text string) map[string]string {
	if text == "" {
		return nil
	}
	labels := make(map[string]string)
	for label := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(label, "=")
		labels[key] = value
	}
	return labels
}

// Satisfies reports whether an executor with these labels may run what asks
// for runsOn.
func Satisfies(labels, runsOn map[string]string) bool {
	for key, value := range runsOn {
		if have, has := labels[key]; !has || have != value {
			return false
		}
	}
	return true
}
