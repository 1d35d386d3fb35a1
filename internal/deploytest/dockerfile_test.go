package deploytest

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// stage is one FROM of the Dockerfile with what follows.
type stage struct {
	name, from string
	lines      [][2]string // instruction, rest
}

func stages(t *testing.T) []stage {
	t.Helper()
	var all []stage
	text := regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(read(t, "deploy/Dockerfile"), "")
	lines := bufio.NewScanner(strings.NewReader(strings.ReplaceAll(text, "\\\n", " ")))
	for lines.Scan() {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		if instruction == "" {
			continue
		}
		if instruction == "FROM" {
			words := strings.Fields(rest)
			if len(words) != 3 || words[1] != "AS" {
				t.Fatalf("FROM %s: it has no name", rest)
			}
			all = append(all, stage{name: words[2], from: words[0]})
			continue
		}
		if len(all) == 0 {
			t.Fatalf("%s stands before FROM", instruction)
		}
		last := &all[len(all)-1]
		last.lines = append(last.lines, [2]string{instruction, strings.TrimSpace(rest)})
	}
	return all
}

func (s *stage) all(instruction string) []string {
	var found []string
	for _, line := range s.lines {
		if line[0] == instruction {
			found = append(found, line[1])
		}
	}
	return found
}

// ignored reports what .dockerignore keeps away from a build.
func ignored(t *testing.T) *patternmatcher.PatternMatcher {
	t.Helper()
	patterns, err := ignorefile.ReadAll(strings.NewReader(read(t, ".dockerignore")))
	if err != nil {
		t.Fatal(err)
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	return matcher
}

func sent(t *testing.T, matcher *patternmatcher.PatternMatcher, file string) bool {
	t.Helper()
	away, err := matcher.MatchesOrParentMatches(file)
	if err != nil {
		t.Fatal(err)
	}
	return !away
}

func TestDockerfileStagesFit(t *testing.T) {
	all := stages(t)
	matcher := ignored(t)
	known := []string{"scratch"}
	for _, s := range all {
		if !slices.Contains(known, s.from) && !regexp.MustCompile(`^[a-z]+:\d+\.\d+`).MatchString(s.from) {
			t.Errorf("%s: the version of %s is not pinned", s.name, s.from)
		}
		for _, instruction := range s.all("COPY") {
			words := strings.Fields(instruction)
			from := ""
			for strings.HasPrefix(words[0], "--") {
				if name, is := strings.CutPrefix(words[0], "--from="); is {
					from = name
				}
				words = words[1:]
			}
			if from != "" {
				if !slices.Contains(known, from) {
					t.Errorf("%s: COPY from %s, which is no stage before it", s.name, from)
				}
				continue
			}
			for _, source := range words[:len(words)-1] {
				if _, err := os.Stat(filepath.Join(root, source)); err != nil || source != "." && !sent(t, matcher, path.Clean(source)) {
					t.Errorf("%s: COPY %s, which a build does not get: %v", s.name, source, err)
				}
			}
		}
		known = append(known, s.name)
	}
}

func TestDockerfileRunsWhatItBuilds(t *testing.T) {
	all := stages(t)
	built := ""
	for _, s := range all {
		for _, command := range s.all("RUN") {
			found := regexp.MustCompile(`go build .*-o (\S+) (\S+)`).FindStringSubmatch(command)
			if found == nil {
				continue
			}
			built = found[1]
			if !strings.Contains(command, "CGO_ENABLED=0") {
				t.Error("what is built is not static")
			}
			if _, err := os.Stat(filepath.Join(root, found[2], "main.go")); err != nil {
				t.Errorf("what is built: %v", err)
			}
			wants := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))[1]
			if !strings.HasPrefix(s.from, "golang:"+wants+".") {
				t.Errorf("go.mod wants Go %s, and %s builds", wants, s.from)
			}
		}
	}
	if built == "" {
		t.Fatal("nothing is built")
	}
	targets := make(map[string]*stage)
	for i := range all {
		targets[all[i].name] = &all[i]
	}
	p := project(t)
	images := make(map[string]string)
	for _, service := range p.Services {
		if service.Build == nil {
			continue
		}
		if targets[service.Build.Target] == nil {
			t.Errorf("%s: the Dockerfile has no target %q", service.Name, service.Build.Target)
		}
		if service.Build.Dockerfile != "deploy/Dockerfile" {
			t.Errorf("%s is built of %s", service.Name, service.Build.Dockerfile)
		}
		images[service.Build.Target] = service.Image
	}
	for target := range images {
		final := targets[target]
		if final == nil {
			continue
		}
		at := ""
		for _, instruction := range final.all("COPY") {
			if words := strings.Fields(instruction); words[len(words)-2] == built {
				at = words[len(words)-1]
			}
		}
		var entry []string
		if err := json.Unmarshal([]byte(strings.Join(final.all("ENTRYPOINT"), "")), &entry); err != nil {
			t.Fatalf("%s: ENTRYPOINT: %v", target, err)
		}
		if at == "" || entry[len(entry)-1] != at {
			t.Errorf("%s: ENTRYPOINT is %q, and what was built lies at %q", target, entry, at)
		}
		if len(entry) > 1 && (entry[0] != "/usr/bin/tini" || !strings.Contains(strings.Join(final.all("RUN"), " "), " tini ")) {
			t.Errorf("%s: ENTRYPOINT begins with %s, which is not installed", target, entry[0])
		}
		if users := final.all("USER"); len(users) != 1 || !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(users[0]) {
			t.Errorf("%s runs as %q: Kubernetes wants a number that is not root's", target, users)
		}
		var command []string
		if err := json.Unmarshal([]byte(strings.Join(final.all("CMD"), "")), &command); err != nil {
			t.Fatalf("%s: CMD: %v", target, err)
		}
		env := make(map[string]string)
		for _, instruction := range final.all("ENV") {
			for _, pair := range strings.Fields(instruction) {
				name, value, _ := strings.Cut(pair, "=")
				env[name] = value
			}
		}
		if env["TIDEWHEEL_ROLES"] == "executor" { // it gets the addresses of the others when it is started
			env["TIDEWHEEL_NATS_URL"], env["TIDEWHEEL_S3_ENDPOINT"], env["TIDEWHEEL_ENROLMENT"] = "nats://nats", "http://s3", "/data/enrolment"
		}
		n := node{name: target, args: command, env: env, stop: 90e9}
		n.settings(t)
	}
	for _, service := range p.Services {
		if service.Build == nil {
			continue
		}
		if !strings.Contains(service.HealthCheck.Test[1], "/usr/local/bin/tidewheel") {
			t.Errorf("%s asks for its health by %s", service.Name, service.HealthCheck.Test[1])
		}
	}
}

// What the program is made of must not be ignored.
func TestDockerBuildGetsTheSource(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Dir,Module,GoFiles,EmbedFiles", "./cmd/tidewheel")
	list.Dir = root
	list.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	matcher := ignored(t)
	files := 0
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var pkg struct {
			Dir                 string
			Module              *struct{ Main bool }
			GoFiles, EmbedFiles []string
		}
		if err := decoder.Decode(&pkg); err != nil {
			t.Fatal(err)
		}
		if pkg.Module == nil || !pkg.Module.Main {
			continue
		}
		below, err := filepath.Rel(folder, pkg.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range append(pkg.GoFiles, pkg.EmbedFiles...) {
			name := path.Join(filepath.ToSlash(below), file)
			files++
			if strings.HasPrefix(name, "static/dist/") { // the build makes it
				continue
			}
			if !sent(t, matcher, name) {
				t.Errorf("%s is part of the program, and .dockerignore keeps it away", name)
			}
		}
	}
	if files < 100 {
		t.Errorf("the program has %d files", files)
	}
	for _, secret := range []string{"deploy/compose/secrets/token", "data/token", ".git/config"} {
		if sent(t, matcher, secret) {
			t.Errorf("%s gets into a build", secret)
		}
	}
}
