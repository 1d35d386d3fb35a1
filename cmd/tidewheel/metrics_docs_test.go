package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// openLabels have values that cannot be listed, or that depend on the current state.
var openLabels = []string{"executor", "runs_on", "version", "stream", "draining"}

func TestMetricsAreDocumented(t *testing.T) {
	config := serverConfigFor(t)
	s := startServer(t, config)
	const path, begin, end = "../../docs/metrics.md", "<!-- metrics: made from the code -->\n", "<!-- end -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(text), begin)
	_, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", path)
	}
	want := head + begin + metricsTable(t, s.server.metrics) + end + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	for line := range strings.Lines(want) {
		if !strings.Contains(string(text), line) {
			t.Errorf("the table lacks %s", line)
		}
	}
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(want, line) {
			t.Errorf("the table has what is not so: %s", line)
		}
	}
	known := descriptions(s.server.metrics)
	for _, name := range regexp.MustCompile(`\btidewheel_[a-z_]+[a-z]`).FindAllString(string(text), -1) {
		if known[name].name == "" {
			t.Errorf("the document names %s, which is not there", name)
		}
	}
}

// description is what a metric says of itself.
type description struct {
	name, help string
	labels     []string
}

var described = regexp.MustCompile(`^Desc\{fqName: "(\w+)", help: "(.*?)"(?:, unit: "[^"]*")?, constLabels: \{(.*?)\}, variableLabels: \{(.*)\}\}$`)

// descriptions are those of all metrics of Tidewheel, by name, also of those that have no value now.
func descriptions(m *metrics) map[string]description {
	descs := make(chan *prometheus.Desc)
	go func() {
		m.registry.Describe(descs)
		close(descs)
	}()
	all := map[string]description{}
	for desc := range descs {
		found := described.FindStringSubmatch(desc.String())
		if found == nil || !strings.HasPrefix(found[1], "tidewheel_") {
			continue
		}
		d := description{name: found[1], help: strings.ReplaceAll(found[2], `\"`, `"`)}
		for label := range strings.SplitSeq(found[3]+","+found[4], ",") {
			if name, _, _ := strings.Cut(strings.TrimSpace(label), "="); name != "" {
				d.labels = append(d.labels, name)
			}
		}
		all[d.name] = d
	}
	return all
}

func metricsTable(t *testing.T, m *metrics) string {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	kinds, values := map[string]string{}, map[string]map[string][]string{}
	for _, family := range families {
		kinds[family.GetName()] = strings.ToLower(dto.MetricType_name[int32(family.GetType())])
		of := map[string][]string{}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if !slices.Contains(of[label.GetName()], label.GetValue()) {
					of[label.GetName()] = append(of[label.GetName()], label.GetValue())
				}
			}
		}
		values[family.GetName()] = of
	}
	var lines []string
	for _, d := range descriptions(m) {
		kind := kinds[d.name]
		if kind == "" { // nothing of it is there now: what the queue is asked for
			kind = "gauge"
		}
		var labels []string
		for _, label := range d.labels {
			shown := "`" + label + "`"
			if known := values[d.name][label]; len(known) > 0 && !slices.Contains(openLabels, label) {
				slices.Sort(known)
				shown += ": " + strings.Join(known, ", ")
			}
			labels = append(labels, shown)
		}
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s | %s |\n", d.name, kind, strings.Join(labels, "; "), d.help))
	}
	slices.Sort(lines)
	return "| metric | kind | labels | what it says |\n|---|---|---|---|\n" + strings.Join(lines, "")
}
