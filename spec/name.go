package spec

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxNameLength is the longest name of a job, DAG, task, binary, alias, secret or
// namespace, in characters. Names of tasks are part of the ids of their runs,
// which hold 200: see engine.ValidID.
const MaxNameLength = 128

const namePattern = `^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`

// ValidName reports whether name can name a thing of this kind ("job", "binary",
// "alias", "secret", "namespace"). Names hold only letters, digits, '-' and
// '_', and start with a letter or a digit, so that one name is a subject
// token, a bucket key and a URL segment alike. Some are reserved. The error says
// what to change.
func ValidName(kind, name string) error {
	if fault := nameFault(name); fault != "" {
		return fmt.Errorf("%s name %s", kind, fault)
	}
	if fault := reservedFault(kind, name); fault != "" {
		return fmt.Errorf("%s name %s", kind, fault)
	}
	return nil
}

// reserved are the names, by kind in lower case, in whose place the browser
// shows something else: /jobs/new is the form of a new job, and a job of that
// name would have no page.
var reserved = map[string][]string{
	"job":    {"new"},
	"dag":    {"new"},
	"binary": {"upload"},
}

// reservedFault is nameFault for names that nothing of a kind may have.
func reservedFault(kind, name string) string {
	if slices.Contains(reserved[strings.ToLower(kind)], name) {
		return fmt.Sprintf("is reserved: %q is a page of its own in the browser; choose another name", name)
	}
	return ""
}

// nameFault is what is wrong with a name, as a predicate, or "".
func nameFault(name string) string {
	if name == "" {
		return "is empty: use letters, digits, '-' and '_'"
	}
	if length := utf8.RuneCountInString(name); length > MaxNameLength {
		return fmt.Sprintf("is %d characters long: use at most %d", length, MaxNameLength)
	}
	for _, character := range name {
		if !nameCharacter(character) {
			return fmt.Sprintf("has a %s: use letters, digits, '-' and '_'", characterName(character))
		}
	}
	if name[0] == '-' || name[0] == '_' {
		return fmt.Sprintf("starts with '%c': start with a letter or a digit", name[0])
	}
	return ""
}

func nameCharacter(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

func characterName(c rune) string {
	switch c {
	case ' ':
		return "space"
	case '\n', '\r':
		return "line break"
	case '\t':
		return "tab"
	default:
		return fmt.Sprintf("%q", c)
	}
}
