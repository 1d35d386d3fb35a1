package main

import (
	"strings"
	"testing"
)

// What grows is named; what is cut by steps, and was seen just before one, is not.
func TestSoakNamesWhatGrows(t *testing.T) {
	column := map[string]int{}
	for i := range soakColumns {
		column[soakColumns[i].name] = i
	}
	for name, test := range map[string]struct {
		column string
		value  func(i int) float64 // of 90 samples
		grows  bool
	}{
		"fills up, then is flat":           {"runs", func(i int) float64 { return float64(min(i, 30)) * 200 }, false},
		"grows all the time":               {"runs", func(i int) float64 { return float64(i) * 100 }, true},
		"is trimmed late once":             {"RESULTS", func(i int) float64 { return 50000 + float64(i%3)*2000 + 6000*float64(i/89) }, false},
		"is trimmed later each time":       {"RESULTS", func(i int) float64 { return 50000 + float64(i%3)*float64(i)*200 }, true},
		"is emptied when it has 8 MiB":     {"log MiB", func(i int) float64 { return float64(i % 9) }, false},
		"is not emptied any more":          {"log MiB", func(i int) float64 { return float64(max(i%9, i-60)) }, true},
		"is a file that had more once":     {"store MiB", func(i int) float64 { return 9.6 + 2.5*float64(min(i/52, 1)) }, false},
		"is a file that has more and more": {"store MiB", func(i int) float64 { return 9.6 + 2.5*float64(i/26) }, true},
		"has one sample that is too high":  {"TASKS", func(i int) float64 { return float64(i/89) * 500 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			samples := make([]soakSample, 90)
			for i := range samples {
				samples[i].values = make([]float64, len(soakColumns))
				samples[i].values[column[test.column]] = test.value(i)
			}
			err := (&bench{}).judgeSoak(samples)
			if (err != nil) != test.grows || test.grows && !strings.Contains(err.Error(), test.column) {
				t.Errorf("it says: %v", err)
			}
		})
	}
}
