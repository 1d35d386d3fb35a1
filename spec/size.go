package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes that is written with its unit: "256MiB".
type Size int64

// The units of [Size].
const (
	Byte     Size = 1
	Kibibyte      = 1024 * Byte
	Mebibyte      = 1024 * Kibibyte
	Gibibyte      = 1024 * Mebibyte
	Tebibyte      = 1024 * Gibibyte
)

var sizeUnits = []struct {
	name  string
	bytes Size
}{
	{"TiB", Tebibyte}, {"GiB", Gibibyte}, {"MiB", Mebibyte}, {"KiB", Kibibyte},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", Byte},
}

// The pattern is part of the schema; parseSize accepts just what it does.
const sizePattern = `^[0-9]+(\.[0-9]+)?(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)$`

// String writes the size in the largest binary unit that holds it exactly.
func (s Size) String() string {
	for _, unit := range sizeUnits {
		if strings.HasSuffix(unit.name, "iB") && s != 0 && s%unit.bytes == 0 {
			return strconv.FormatInt(int64(s/unit.bytes), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// MarshalText writes the form of String.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a size with its unit.
func (s *Size) UnmarshalText(text []byte) error {
	parsed, err := parseSize(string(text))
	if err != nil {
		return fmt.Errorf("spec: size %w", err)
	}
	*s = parsed
	return nil
}

// parseSize's errors are predicates: "must be …", to follow the name of a field.
func parseSize(text string) (Size, error) {
	if onlyDigits(text) {
		return 0, fmt.Errorf("needs a unit: write %sMiB, or %sB for bytes", text, text)
	}
	if !sizeSyntax.MatchString(text) {
		if suggestion := sizeSuggestion(text); suggestion != "" {
			return 0, fmt.Errorf("must be a size such as 256MiB, not %s: did you mean %s?", quote(text), suggestion)
		}
		return 0, fmt.Errorf("must be a size such as 64KiB, 256MiB or 1GiB, not %s", quote(text))
	}
	for _, unit := range sizeUnits {
		number, found := strings.CutSuffix(text, unit.name)
		if !found {
			continue
		}
		count, err := strconv.ParseFloat(number, 64)
		bytes := count * float64(unit.bytes)
		switch {
		case err != nil || bytes > 1<<53:
			return 0, fmt.Errorf("is too large: %s", quote(text))
		case bytes != math.Trunc(bytes):
			return 0, fmt.Errorf("must be a whole number of bytes, which %s is not", quote(text))
		}
		return Size(bytes), nil
	}
	return 0, fmt.Errorf("must be a size such as 256MiB, not %s", quote(text))
}

// sizeSuggestion reads what Kubernetes and people write: 256Mi, 256M, 256mib, "256 MiB".
func sizeSuggestion(text string) string {
	parts := looseSizeSyntax.FindStringSubmatch(text)
	if parts == nil {
		return ""
	}
	if parts[2] == "" {
		return parts[1] + "B"
	}
	return parts[1] + strings.ToUpper(parts[2]) + "iB"
}
