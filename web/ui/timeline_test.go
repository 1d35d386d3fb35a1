package ui_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestNarrowScreensShowEveryOtherHourOfTheTimeline: the name of a day takes the place of two hours, so the hours beside it are those that are
// left out.
func TestNarrowScreensShowEveryOtherHourOfTheTimeline(t *testing.T) {
	for _, from := range []string{"21", "22", "23"} {
		page := newSite(t).see(t, "/timeline?from=2026-11-25T"+from+":00:00Z&until=2026-11-26T05:00:00Z")
		var ticks []string
		for _, text := range regexp.MustCompile(`<text class="([^"]*)" x=[^>]*>([^<]*)<`).FindAllStringSubmatch(after(page, "data-span"), -1) {
			switch wide := strings.Contains(text[1], "wide"); {
			case strings.Contains(text[1], "day") && !wide:
				ticks = append(ticks, "day")
			case wide:
				ticks = append(ticks, "-")
			default:
				ticks = append(ticks, "hour")
			}
		}
		if line := strings.Join(ticks, " "); !strings.Contains(line, "day - hour") || strings.Contains(line, "hour day") || strings.Contains(line, "- -") {
			t.Errorf("from %s: %s", from, line)
		}
	}
}
