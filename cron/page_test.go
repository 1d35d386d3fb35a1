package cron

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestSchedulesPage holds docs/schedules.md to what the package does, row by row.
func TestSchedulesPage(t *testing.T) {
	page, err := os.ReadFile("../docs/schedules.md")
	if err != nil {
		t.Fatal(err)
	}
	const layout = "2006-01-02 15:04"
	accepted, refused, columns := 0, 0, ""
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		expression := strings.Trim(cells[0], "`")
		switch {
		case !strings.HasPrefix(line, "|"):
			columns = ""
		case columns == "":
			columns = strings.Join(cells, " ")
		case strings.HasPrefix(line, "|--"):
		case columns == "schedule zone after slots":
			accepted++
			s, err := Compile(Definition{Cron: []string{expression}, Timezone: cells[1]})
			if err != nil {
				t.Errorf("%s: %s", expression, err)
				continue
			}
			after, err := time.Parse(layout, cells[2])
			if err != nil {
				t.Fatal(err)
			}
			var slots []string
			for range strings.Split(cells[3], ", ") {
				slot, ok := s.Next(after)
				if !ok {
					break
				}
				slots, after = append(slots, slot.Format(layout)), slot
			}
			if got := strings.Join(slots, ", "); got != cells[3] {
				t.Errorf("%s fires at %s, the page says %s", line, got, cells[3])
			}
		case columns == "schedule reason":
			refused++
			if _, err := Compile(Definition{Cron: []string{expression}}); err == nil || !strings.Contains(err.Error(), cells[1]) {
				t.Errorf("%s: %v, the page says %q", expression, err, cells[1])
			}
		}
	}
	if accepted < 20 || refused < 9 {
		t.Errorf("read %d rows of slots and %d of refusals: the page's tables have changed their columns", accepted, refused)
	}
}
