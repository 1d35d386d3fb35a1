package deploytest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// root is the repository.
const root = "../.."

// folder is the tests' own, removed at their end.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "deploytest"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	m.Run()
}

// program is the path of tidewheel, built of the source beside.
func program(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(folder, "tidewheel")
	if out, err := exec.Command("go", "build", "-C", root, "-o", path, "./cmd/tidewheel").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build tidewheel: %w: %s", err, out)
	}
	return path, nil
})

// read returns a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// node is one process as a file describes it.
type node struct {
	name string
	args []string          // what follows the name of the program
	env  map[string]string // what it is given
	stop time.Duration     // how long the service manager waits for it to stop
	// files maps folders or files inside the node to those outside, such as /run/secrets.
	files map[string]string
}

// settings returns what the program makes of a node's flags and environment, and reports what it does not take.
func (n *node) settings(t *testing.T) map[string]string {
	t.Helper()
	if len(n.args) == 0 || n.args[0] != "server" {
		t.Errorf("%s: the arguments are %q: they should begin with server", n.name, n.args)
		return nil
	}
	command := exec.CommandContext(t.Context(), program(t), append([]string{"config", "show", "-o", "json"}, n.args[1:]...)...)
	command.Env = []string{"HOME=" + t.TempDir()}
	ours := make(map[string]bool) // settings made by the environment
	for name, value := range n.env {
		setting, is := strings.CutPrefix(name, "TIDEWHEEL_")
		if !is {
			continue
		}
		ours[strings.ToLower(strings.ReplaceAll(setting, "_", "-"))] = true
		if strings.HasSuffix(name, "_FILE") || strings.HasSuffix(value, ".creds") {
			value = n.outside(t, name, value)
		}
		command.Env = append(command.Env, name+"="+value)
	}
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaint
	if err := command.Run(); err != nil {
		t.Errorf("%s: %v: %s", n.name, err, complaint.String())
		return nil
	}
	var shown struct {
		Items []struct {
			Name, Source string
			Value        any
		}
	}
	if err := json.Unmarshal(out.Bytes(), &shown); err != nil {
		t.Fatal(err)
	}
	values := make(map[string]string)
	for _, item := range shown.Items {
		values[item.Name] = fmt.Sprint(item.Value)
		if item.Source == "environment" || item.Source == "flag" {
			delete(ours, item.Name)
		}
	}
	for name := range ours {
		t.Errorf("%s: TIDEWHEEL_%s is no setting", n.name, strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
	}
	n.checkRights(t, values)
	drain, err := time.ParseDuration(values["drain"])
	if err != nil {
		t.Fatal(err)
	}
	executes := strings.Contains(values["roles"], "executor")
	if executes && n.stop < drain+time.Minute {
		t.Errorf("%s: it is killed after %s, which is less than its --drain of %s and a minute to close", n.name, n.stop, drain)
	} else if n.stop < 30*time.Second {
		t.Errorf("%s: it is killed after %s, and may take half a minute to close", n.name, n.stop)
	}
	return values
}

// checkRights wants an executor to have credentials of its own, and the private key of tasks where the engine is.
func (n *node) checkRights(t *testing.T, values map[string]string) {
	t.Helper()
	engine, executor := strings.Contains(values["roles"], "engine"), strings.Contains(values["roles"], "executor")
	switch {
	case engine && executor: // it makes its own
	case engine:
		text, err := os.ReadFile(values["task-keys-file"])
		if err != nil || !strings.Contains(string(text), "PRIVATE") {
			t.Errorf("%s: it has no private key of tasks: %v", n.name, err)
		}
	case executor:
		// What executors share opens more than what one of them is given.
		for _, shared := range []string{"task-keys-file", "nats-credentials", "nats-credentials-file"} {
			if values[shared] != "" {
				t.Errorf("%s: it has --%s", n.name, shared)
			}
		}
		if !strings.HasPrefix(values["enrolment"], values["data"]+"/") {
			t.Errorf("%s: --enrolment is %q, which it may not write to: its credentials are renewed", n.name, values["enrolment"])
		}
	default:
		n.checkJoinTokens(t, values)
	}
}

// checkJoinTokens wants web nodes to make credentials for what they are given the tokens of.
func (n *node) checkJoinTokens(t *testing.T, values map[string]string) {
	t.Helper()
	if values["nats-account-key-file"] == "" {
		t.Errorf("%s: it cannot enrol executors: no --nats-account-key-file", n.name)
	}
	known, err := os.ReadFile(values["join-tokens-file"])
	if err != nil {
		t.Fatal(err)
	}
	for _, tier := range []string{"light", "medium", "heavy"} {
		token := contents(t, filepath.Dir(values["join-tokens-file"]), "join-token-"+tier)
		if !strings.Contains(string(known), tier+" "+token+"\n") {
			t.Errorf("%s: the executors of tier %s have another token than web nodes know", n.name, tier)
		}
	}
}

// outside finds the file that is mounted at a path.
func (n *node) outside(t *testing.T, name, path string) string {
	t.Helper()
	file, mounted := n.files[path]
	if !mounted {
		t.Errorf("%s: %s is %s, where nothing is mounted", n.name, name, path)
		return path
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("%s: %s: %v", n.name, name, err)
	}
	return file
}

// secrets is a folder that make-secrets.sh has filled.
func secrets(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "secrets")
	makeSecrets(t, dir)
	return dir
}

func makeSecrets(t *testing.T, dir string) {
	t.Helper()
	script := exec.CommandContext(t.Context(), filepath.Join(root, "deploy/compose/make-secrets.sh"), dir)
	script.Env = append(os.Environ(), "TIDEWHEEL="+program(t))
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("make-secrets.sh: %v: %s", err, out)
	}
}

// series is one metric as a server exports it: the values of each of its labels.
type series map[string]map[string]bool

// metrics are those of a server with all roles, by name.
func metrics(t *testing.T) map[string]series {
	t.Helper()
	known, err := exported()
	if err != nil {
		t.Fatal(err)
	}
	return known
}

var exported = sync.OnceValues(func() (map[string]series, error) {
	path, err := built()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(folder, "server")
	server := exec.Command(path, "server", "--data", filepath.Join(dir, "data"), "--http", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--auth", "off", "--metrics-auth", "off")
	server.Env = []string{"HOME=" + dir}
	output, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var log bytes.Buffer
	server.Stderr = &log
	if err := server.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, output)
		_ = server.Wait()
	}()
	api := ""
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if url := regexp.MustCompile(`http://\S+/metrics`).FindString(lines.Text()); url != "" && api != "" {
			if err := waitForLabels(path, api, dir); err != nil {
				return nil, err
			}
			return scrape(url)
		} else if url := regexp.MustCompile(`http://127[.]0[.]0[.]1:\d+`).FindString(lines.Text()); url != "" && api == "" {
			api = url
		}
	}
	return nil, fmt.Errorf("the server did not start: %s", log.String())
})

// waitForLabels lets a run of each tier wait for an executor that is not there: some metrics come with that.
func waitForLabels(path, api, dir string) error {
	const job = "kind: Job\nname: %[1]s\nbinary: waits\ntier: %[1]s\nruns_on: {gpu: true}\n---\n"
	jobs := fmt.Sprintf(job, "light") + fmt.Sprintf(job, "medium") + fmt.Sprintf(job, "heavy")
	program := filepath.Join(dir, "waits")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o600); err != nil {
		return err
	}
	for _, arguments := range [][]string{{"binary", "push", "waits", program}, {"apply", "-f", "-"}, {"run", "light"}, {"run", "medium"}, {"run", "heavy"}} {
		command := exec.Command(path, append(arguments, "--url", api)...)
		command.Stdin = strings.NewReader(jobs)
		if said, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", arguments, err, said)
		}
	}
	return nil
}

// scrape asks until the executor has announced itself, and a run waits for labels: metrics come with both.
func scrape(url string) (map[string]series, error) {
	const last, pool = "tidewheel_executor_slots", "tidewheel_pool_depth"
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(time.Minute)
	for {
		known, err := scrapeOnce(url)
		if err != nil || known[last] != nil && len(known[pool]["tier"]) == 3 {
			return known, err
		}
		select {
		case <-ticker.C:
		case <-limit:
			return nil, fmt.Errorf("%s or %s does not appear", last, pool)
		}
	}
}

var (
	sample = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? `)
	label  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

func scrapeOnce(url string) (map[string]series, error) {
	answer, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	known := make(map[string]series)
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		found := sample.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		if known[found[1]] == nil {
			known[found[1]] = make(series)
		}
		for _, pair := range label.FindAllStringSubmatch(found[2], -1) {
			if known[found[1]][pair[1]] == nil {
				known[found[1]][pair[1]] = make(map[string]bool)
			}
			known[found[1]][pair[1]][pair[2]] = true
		}
	}
	return known, lines.Err()
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
