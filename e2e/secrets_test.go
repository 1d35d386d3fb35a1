package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/engine"
)

// planted is a value that stands nowhere but in a program's environment.
const planted = "pl4nted+Zq/9=Xk?correct-horse"

// visible is printed beside it, plainly: where the folder did not hold it, looking through the folder would prove nothing.
const visible = "visible-battery-staple"

// telltale prints its secret and its token in every way that is masked, more of it than a result holds, and tells the test
// what they are by a file that is not the server's. It fails where its argument is not 0.
const telltale = `#!/bin/sh
umask 0
printf '%s\n%s\n' "$PLANTED" "$TIDEWHEEL_RUN_TOKEN" >> "$2"
show() {
	echo "visible-battery-staple plain $1 twice $1$1"
	echo "error $1" >&2
	printf '%s' "$1" | cut -c1-9 | tr -d '\n'; sleep 0.2; printf '%s' "$1" | cut -c10-15 | tr -d '\n'; sleep 0.2; printf '%s\n' "$1" | cut -c16-
	for before in '' u uu; do printf '%s%s' "$before" "$1" | base64 | tr -d '\n'; echo; printf '%s%s' "$before" "$1" | base64 | tr '+/' '-_'; done
	printf '%s\n' "$1" | sed 's/+/%2B/g; s,/,%2F,g; s/=/%3D/g; s/?/%3F/g'
	echo "::progress 0.5 visible-battery-staple at $1"
	sleep 1.1
}
show "$PLANTED"
show "$TIDEWHEEL_RUN_TOKEN"
i=0; while [ $i -lt 1500 ]; do echo "line $i visible-battery-staple $PLANTED and $TIDEWHEEL_RUN_TOKEN"; i=$((i+1)); done
if [ "$1" = 0 ]; then
	printf 'plain=%s\nlist=["%s","visible-battery-staple"]\ntoken=%s\n' "$PLANTED" "$PLANTED" "$TIDEWHEEL_RUN_TOKEN" > "$TIDEWHEEL_OUTPUT"
	echo content > "$TIDEWHEEL_ARTIFACTS/$(printf '%s' "$PLANTED" | base64 | tr '+/' '-_').txt"
elif [ "$1" = 1 ]; then
	printf 'visible-battery-staple %s %s' "$PLANTED" "$TIDEWHEEL_RUN_TOKEN" > "$TIDEWHEEL_OUTPUT"
else
	exit 3
fi
`

const telltaleJobs = `kind: Job
name: good
binary: telltale
args: ["0", %[1]q]
env: {URL: "db://${PLANTED}@host/visible-battery-staple"}
secrets: {PLANTED: planted}
---
kind: Job
name: bad
binary: telltale
args: ["1", %[1]q]
secrets: {PLANTED: planted}
---
kind: Job
name: dead
binary: telltale
args: ["3", %[1]q]
retry: {max_attempts: 2, delay: 10ms}
secrets: {PLANTED: planted}
---
kind: DAG
name: wave
tasks:
  first: {binary: telltale, args: ["0", %[1]q], secrets: {PLANTED: planted}}
  second: {binary: telltale, args: ["2", %[1]q], needs: [first], secrets: {PLANTED: planted}}
`

// traces are the texts that would reveal a value.
func traces(value string) []string {
	all := []string{value, url.QueryEscape(value), url.PathEscape(value)}
	for before := range 3 {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			digits := encoding.EncodeToString([]byte(strings.Repeat("u", before) + value))
			all = append(all, digits[4:len(digits)-4])
		}
	}
	return all
}

// find returns the first of the values of which data holds a trace.
func find(data []byte, values []string) string {
	for _, value := range values {
		for _, trace := range traces(value) {
			if bytes.Contains(data, []byte(trace)) {
				return trace
			}
		}
	}
	return ""
}

// lookThrough reads all files of a folder, and fails where one holds a value. It counts those that hold what may be seen.
func lookThrough(t *testing.T, dir string, values []string) (seen map[string]int) {
	t.Helper()
	seen = map[string]int{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		part, _ := filepath.Rel(dir, path)
		if trace := find(data, values); trace != "" {
			t.Errorf("%s holds %q", part, trace)
		}
		if bytes.Contains(data, []byte(visible)) {
			part, _, _ = strings.Cut(part, string(filepath.Separator))
			seen[part]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// answers requests all that the API and the pages show of runs, and fails if one shows a value. It returns how many
// showed what may be seen.
func answers(ctx context.Context, t *testing.T, s *Server, values []string, paths []string) (seen int) {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(s.Data(), "token"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode >= 500 {
			t.Fatalf("%s: %d, %v", path, response.StatusCode, err)
		}
		if trace := find(body, values); trace != "" {
			t.Errorf("GET %s reveals %q", path, trace)
		}
		if bytes.Contains(body, []byte(visible)) {
			seen++
		}
	}
	return seen
}

// A value that programs print in every way is in no file of the server, no line of its log and no answer; nor are the
// tokens of the runs.
func TestPlantedSecretIsNowhereToBeFound(t *testing.T) {
	ctx := t.Context()
	witness := filepath.Join(Folder(t), "witness")
	if err := os.WriteFile(witness, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(witness, 0o666); err != nil { // jobs may run as nobody
		t.Fatal(err)
	}
	server := NewServer(t, binary, "--log-level", "debug")
	server.Start()
	api := server.Client()
	if _, err := api.UploadBinary(ctx, "telltale", strings.NewReader(telltale), client.UploadOptions{}); err != nil {
		t.Fatal(err)
	}
	jobs := []client.File{{Name: "jobs.yaml", Data: fmt.Appendf(nil, telltaleJobs, witness)}}
	if _, err := api.Apply(ctx, jobs, client.ApplyOptions{}); err == nil || !strings.Contains(err.Error(), `jobs.yaml:6:11: there is no secret "planted"`) {
		t.Errorf("applied before the secret was set: %v", err)
	}
	if _, err := api.SetSecret(ctx, "planted", planted); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Apply(ctx, jobs, client.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"good": 0, "bad": 1, "dead": 1, "wave": 1} {
		if out, exit := server.Command(ctx, "run", name, "--wait"); exit != want {
			t.Errorf("%s: exit %d, %s", name, exit, out)
		}
	}
	said, err := os.ReadFile(witness)
	if err != nil {
		t.Fatal(err)
	}
	values := []string{planted}
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	for i, line := range lines {
		if i%2 == 0 && line != planted {
			t.Errorf("a program was given %q", line)
		} else if i%2 == 1 {
			values = append(values, line)
		}
	}
	if len(values) != 1+6 { // good, bad, twice dead, two tasks
		t.Fatalf("programs said %q", lines)
	}

	page, err := api.Runs(ctx, client.RunFilter{})
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{
		"/", "/jobs/good", "/jobs/good/edit", "/runs", "/dead-letters", "/dags/wave", "/settings/secrets", "/api/v1/secrets", "/api/v1/secrets/planted", "/api/v1/runs",
		"/api/v1/jobs/good", "/api/v1/jobs/good/generations", "/api/v1/dags/wave", "/api/v1/dead-letters", "/api/v1/waves", "/metrics",
	}
	for i := range page.Items {
		run := page.Items[i].ID
		for _, path := range []string{"/runs/%s", "/runs/%s/output", "/api/v1/runs/%s", "/api/v1/runs/%s/logs", "/api/v1/runs/%s/logs?attempt=1", "/api/v1/runs/%s/artifacts", "/api/v1/runs/%s/effects"} {
			paths = append(paths, fmt.Sprintf(path, run))
		}
		if i > 0 {
			paths = append(paths, fmt.Sprintf("/api/v1/runs/diff?a=%s&b=%s", page.Items[0].ID, run), fmt.Sprintf("/runs/diff?a=%s&b=%s", page.Items[0].ID, run))
		}
	}
	if seen := answers(ctx, t, server, values, paths); seen < 3*len(page.Items) || len(page.Items) != 5 {
		t.Errorf("%d answers of %d runs had the expected text", seen, len(page.Items))
	}
	file := filepath.Join(t.TempDir(), "all.backup")
	if _, exit := server.Command(ctx, "backup", file, "--no-keys"); exit != 0 {
		t.Fatalf("backup: exit %d", exit)
	}
	server.Stop()
	if trace := find([]byte(server.log.String()), values); trace != "" {
		t.Errorf("the log holds %q", trace)
	}
	seen := lookThrough(t, server.Data(), values)
	for _, part := range []string{"store", "nats", "s3"} {
		if seen[part] == 0 {
			t.Errorf("no file of %s holds what is to be seen: %v", part, seen)
		}
	}
	restored(ctx, t, file, values)
}

// restored looks through a folder that a backup without keys was restored to: it holds the secret for a key that is gone, and
// the server says so and changes nothing.
func restored(ctx context.Context, t *testing.T, file string, values []string) {
	t.Helper()
	server := NewServer(t, binary)
	if said, exit := server.Say(ctx, "restore", file, "--data", server.Data()); exit != 0 || !strings.Contains(said, "not the key that they are sealed for") {
		t.Fatalf("restore: exit %d, %s", exit, said)
	}
	lookThrough(t, server.Data(), values)
	server.Start()
	if !strings.Contains(server.log.String(), "the key that the secrets are sealed for is not here") {
		t.Errorf("nothing was said of the key that is lost")
	}
	if _, err := os.Stat(filepath.Join(server.Data(), "secrets.key")); err == nil {
		t.Error("another key was made")
	}
	api := server.Client()
	if _, err := api.SetSecret(ctx, "planted", "other"); err == nil || !strings.Contains(err.Error(), "secrets.key") {
		t.Errorf("set without the key: %v", err)
	}
	if secrets, err := api.Secrets(ctx, client.Page{}); err != nil || len(secrets.Items) != 1 || secrets.Items[0].Version != 1 {
		t.Errorf("secrets %+v, %v", secrets, err)
	}
	if said, exit := server.Say(ctx, "run", "bad", "--wait"); exit != 1 || !strings.Contains(said, "has no key to open them") {
		t.Errorf("a run without the key: exit %d, %s", exit, said)
	}
	runs, err := api.Runs(ctx, client.RunFilter{Job: "bad", Page: client.Page{Limit: 1}})
	if err != nil || len(runs.Items) != 1 || runs.Items[0].Status != engine.StatusFailed {
		t.Errorf("runs %+v, %v", runs, err)
	}
}
