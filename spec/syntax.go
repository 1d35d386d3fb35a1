package spec

import (
	"regexp"
	"strconv"
)

var (
	durationSyntax  = regexp.MustCompile(durationPattern)
	daySyntax       = regexp.MustCompile(`^[0-9.]+ *(d|day|days|w|week|weeks)$`)
	sizeSyntax      = regexp.MustCompile(sizePattern)
	looseSizeSyntax = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) *([kKmMgGtT]?)[iI]?[bB]?$`)
)

func onlyDigits(text string) bool {
	for _, character := range []byte(text) {
		if character < '0' || character > '9' {
			return false
		}
	}
	return text != ""
}

// quote shows what a user wrote, shortened so that a message stays a sentence.
func quote(text string) string { return strconv.Quote(shorten(text, 60)) }

// shorten cuts text after so many characters.
func shorten(text string, most int) string {
	count := 0
	for i := range text {
		if count == most {
			return text[:i] + "…"
		}
		count++
	}
	return text
}
