package deploytest

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// scraped are the labels that Prometheus itself or prometheus.yml puts on what is scraped.
var scraped = []string{"job", "instance", "role"}

// checkQuery wants a query to be PromQL over metrics, labels and values that a server exports.
func checkQuery(t *testing.T, where, query string, known map[string]series) {
	t.Helper()
	tree, err := parser.ParseExpr(query)
	if err != nil {
		t.Errorf("%s: %s: %v", where, query, err)
		return
	}
	var used []series
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		selector, is := n.(*parser.VectorSelector)
		if !is || selector.Name == "up" {
			return nil
		}
		metric := known[selector.Name]
		if metric == nil {
			t.Errorf("%s: no server exports the metric %q", where, selector.Name)
			return nil
		}
		used = append(used, metric)
		for _, match := range selector.LabelMatchers {
			if match.Name == labels.MetricName || slices.Contains(scraped, match.Name) {
				continue
			}
			if metric[match.Name] == nil {
				t.Errorf("%s: %s has no label %s, but %v", where, selector.Name, match.Name, sorted(metric))
			} else if match.Type == labels.MatchEqual && !metric[match.Name][match.Value] {
				t.Errorf("%s: %s is never %q, but %v", where, match.Name, match.Value, sorted(metric[match.Name]))
			}
		}
		return nil
	})
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		aggregate, is := n.(*parser.AggregateExpr)
		if !is {
			return nil
		}
		for _, name := range aggregate.Grouping {
			if !slices.Contains(scraped, name) && !slices.ContainsFunc(used, func(s series) bool { return s[name] != nil }) {
				t.Errorf("%s: by %s, a label that nothing in %s has", where, name, query)
			}
		}
		return nil
	})
}

func TestAlertsUseOnlyExportedMetrics(t *testing.T) {
	groups, errs := rulefmt.Parse([]byte(read(t, "deploy/prometheus/alerts.yml")), false)
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil {
		t.Fatal("there are no alerts")
	}
	known := metrics(t)
	seen := make(map[string]bool)
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if seen[rule.Alert] || rule.Alert == "" {
				t.Errorf("%q is there twice or has no name", rule.Alert)
			}
			seen[rule.Alert] = true
			checkQuery(t, rule.Alert, rule.Expr, known)
			if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("%s does not say how bad it is and what to do", rule.Alert)
			}
		}
	}
	for _, want := range []string{"ShardWithoutOwner", "NoExecutor", "NoExecutorWithLabels", "SlotDifferences", "Late", "StoreSlow", "Backlog", "ResultsGrow", "MissedSlots", "ExecutorSilent", "StreamFull", "StreamNotTrimmed", "NotificationsFailed", "DeadLetters", "LostRuns", "NodeDown"} {
		if !seen["Tidewheel"+want] {
			t.Errorf("there is no alert Tidewheel%s", want)
		}
	}
}

// board is what the tests look at of Grafana's dashboard.
type board struct {
	UID    string `json:"uid"`
	Panels []struct {
		ID         int
		Title      string
		Type       string
		Datasource struct{ Type, UID string }
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct {
			RefID      string
			Expr       string
			Datasource struct{ UID string }
		}
	}
}

func TestDashboardUsesOnlyExportedMetrics(t *testing.T) {
	var shown board
	if err := json.Unmarshal([]byte(read(t, "deploy/grafana/tidewheel.json")), &shown); err != nil {
		t.Fatal(err)
	}
	var sources struct {
		Datasources []struct{ UID, Type, URL string }
	}
	if err := yaml.Unmarshal([]byte(read(t, "deploy/grafana/provisioning/datasources/prometheus.yml")), &sources); err != nil {
		t.Fatal(err)
	}
	if len(sources.Datasources) != 1 {
		t.Fatalf("%d data sources", len(sources.Datasources))
	}
	source := sources.Datasources[0]
	p := project(t)
	grafana := p.Services["grafana"]
	for _, host := range hosts(source.URL) {
		reaches(t, p, &grafana, host)
	}
	var provider struct {
		Providers []struct{ Options struct{ Path string } }
	}
	if err := yaml.Unmarshal([]byte(read(t, "deploy/grafana/provisioning/dashboards/tidewheel.yml")), &provider); err != nil {
		t.Fatal(err)
	}
	folder := provider.Providers[0].Options.Path
	mounted := false
	for _, config := range grafana.Configs {
		mounted = mounted || config.Source == "grafana-dashboard" && strings.HasPrefix(config.Target, folder+"/")
	}
	if !mounted {
		t.Errorf("Grafana looks for dashboards in %s, where none is", folder)
	}
	known := metrics(t)
	ids := make(map[int]bool)
	cells := make(map[[2]int]string)
	all := ""
	for _, panel := range shown.Panels {
		if ids[panel.ID] {
			t.Errorf("%s has the id of another", panel.Title)
		}
		ids[panel.ID] = true
		for x := panel.GridPos.X; x < panel.GridPos.X+panel.GridPos.W; x++ {
			for y := panel.GridPos.Y; y < panel.GridPos.Y+panel.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies over %q or beyond the edge", panel.Title, other)
				}
				cells[[2]int{x, y}] = panel.Title
			}
		}
		if len(panel.Targets) == 0 {
			t.Errorf("%s shows nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			if target.Datasource.UID != source.UID || panel.Datasource.UID != source.UID {
				t.Errorf("%s asks another data source", panel.Title)
			}
			all += target.Expr + "\n"
			checkQuery(t, panel.Title, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"), known)
		}
	}
	for _, want := range []string{"start_lag_seconds", "queue_depth", "runs_ended_total", "tier_executors", "engine_shards", "engine_store_lag_seconds", "engine_unwritten", "ledger_differences", "dead_letters_total", `status="lost"`, `slots_total{outcome="missed"}`, `notifications_total{result="failed"}`, "stream_bytes", "stream_trim_age_seconds", "silent_executors"} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing shows %s", want)
		}
	}
}

// scraping is what ours uses of Prometheus's configuration.
type scraping struct {
	Global struct {
		ScrapeInterval     string `json:"scrape_interval"`
		EvaluationInterval string `json:"evaluation_interval"`
	} `json:"global"`
	RuleFiles     []string `json:"rule_files"`
	ScrapeConfigs []struct {
		JobName       string `json:"job_name"`
		Authorization struct {
			CredentialsFile string `json:"credentials_file"`
		} `json:"authorization"`
		StaticConfigs []struct {
			Targets []string          `json:"targets"`
			Labels  map[string]string `json:"labels"`
		} `json:"static_configs"`
	} `json:"scrape_configs"`
}

func TestPrometheusAsksAllNodes(t *testing.T) {
	var config scraping
	strict(t, "prometheus.yml", read(t, "deploy/prometheus/prometheus.yml"), &config)
	p := project(t)
	prometheus := p.Services["prometheus"]
	for _, file := range config.RuleFiles {
		found := false
		for _, mounted := range prometheus.Configs {
			found = found || mounted.Target == file
		}
		if !found {
			t.Errorf("nothing is mounted at %s", file)
		}
	}
	asked := make(map[string]bool)
	for _, job := range config.ScrapeConfigs {
		if job.JobName != "tidewheel" {
			t.Errorf("the alerts know no job %s", job.JobName)
		}
		token := job.Authorization.CredentialsFile
		if !slices.ContainsFunc(prometheus.Secrets, func(s types.ServiceSecretConfig) bool { return "/run/secrets/"+s.Source == token }) {
			t.Errorf("job %s sends the token %q, which Prometheus is not given", job.JobName, token)
		}
		for _, group := range job.StaticConfigs {
			for _, target := range group.Targets {
				host, at, _ := strings.Cut(target, ":")
				reaches(t, p, &prometheus, host)
				service := p.Services[host]
				if file := service.Environment["TIDEWHEEL_METRICS_TOKEN_FILE"]; file == nil || *file != token {
					t.Errorf("%s asks for another token than Prometheus sends", host)
				}
				if listen := service.Environment["TIDEWHEEL_METRICS_LISTEN"]; listen == nil || port(*listen) != at {
					t.Errorf("%s does not listen on %s", host, at)
				}
				if !regexp.MustCompile(`^` + group.Labels["role"] + `-`).MatchString(host) {
					t.Errorf("%s is no %s", host, group.Labels["role"])
				}
				asked[host] = true
			}
		}
	}
	for _, service := range p.Services {
		if ours(&service) && !asked[service.Name] {
			t.Errorf("no server asks %s", service.Name)
		}
	}
}

func TestPromtoolAcceptsRulesAndConfiguration(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed; TestAlertsUseOnlyExportedMetrics parses the rules")
	}
	for _, check := range [][]string{
		{"check", "rules", "--lint-fatal", filepath.Join(root, "deploy/prometheus/alerts.yml")},
		{"check", "config", "--syntax-only", filepath.Join(root, "deploy/prometheus/prometheus.yml")},
	} {
		if said, err := exec.CommandContext(t.Context(), promtool, check...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v: %s", check, err, said)
		}
	}
}
