package spec

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Duration is a span of time that is written as Go writes it: "90s", "1h30m".
type Duration time.Duration

// String is the shortest Go form: "10m", not "10m0s".
func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText writes the form of String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a Go duration.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := parseDuration(string(text))
	if err != nil {
		return fmt.Errorf("spec: duration %w", err)
	}
	*d = parsed
	return nil
}

// The pattern is part of the schema; parseDuration accepts just what it does.
const durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`

// parseDuration's errors are predicates: "must be …", to follow the name of a field.
func parseDuration(text string) (Duration, error) {
	parsed, err := time.ParseDuration(text)
	switch {
	case strings.HasPrefix(text, "-"):
		return 0, errors.New("must not be negative")
	case err == nil && durationSyntax.MatchString(text):
		return Duration(parsed), nil
	case durationSyntax.MatchString(text):
		return 0, fmt.Errorf("is too long: %s is more than 290 years", quote(text))
	case onlyDigits(text):
		return 0, fmt.Errorf("needs a unit: write %ss, %sm or %sh", text, text, text)
	case daySyntax.MatchString(text):
		return 0, fmt.Errorf("must be a duration such as 90s, 10m or 1h30m, not %s: write days in hours, 24h for one", quote(text))
	default:
		return 0, fmt.Errorf("must be a duration such as 90s, 10m or 1h30m, not %s", quote(text))
	}
}
