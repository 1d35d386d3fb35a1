package mongotest_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/e2e"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/mongo"
)

// seedJobs are definitions of every kind, with texts that a store or a file format could misread.
const seedJobs = `
kind: Job
name: tick
binary: chatter@stable   # a schedule that runs
schedule: "* * * * * *"
overlap: allow
catch_up: {policy: none}
---
kind: Job
name: charge
binary: charge-go
env: {CUSTOMERS: "anna ben", ACCOUNT: %q}
---
kind: Job
name: broken
binary: broken
retry: {max_attempts: 2, delay: 10ms}
---
kind: Job
name: odd
binary: chatter@1
payload: {"a.b": {"$where": "1", "ünï": null}, "list": [1.5, "1", true, []], "_id": "x"}
args: ["--x=${TIDEWHEEL_SLOT}", "", "$gt"]
env: {PASSWORD: "p@ss$w0rd.${X}\"'\\", WEIRD: "日本\t"}
labels: {team.eu: "finance.eu"}
runs_on: {os: linux}
schedule: "0 0 29 2 *"
exclude: [{from: 2028-02-29T00:00:00Z, to: 2028-03-01T00:00:00Z}]
---
kind: DAG
name: etl
defaults: {binary: chatter, runs_on: {os: linux}}
tasks:
  extract: {schedule: "0 0 1 1 *"}
  each: {needs: [extract], for_each: "[1, 2, 3]"}
  load: {needs: [each], when: "outputs.extract.rows > 2"}
`

// chatter prints more than is kept with a run, hands on a value and leaves a file.
const chatter = `#!/bin/sh
set -eu
i=0; while [ $i -lt 1500 ]; do echo "line $i of $TIDEWHEEL_RUN_ID"; i=$((i+1)); done
echo rows=3 >"$TIDEWHEEL_OUTPUT"
echo "made by $TIDEWHEEL_RUN_ID" >"$TIDEWHEEL_ARTIFACTS/made.txt"
`

// fill gives a server some of everything, and waits until all of it is at rest.
func fill(t *testing.T, server *e2e.Server) {
	t.Helper()
	ctx, api := t.Context(), server.Client()
	account := filepath.Join(filepath.Dir(server.Data()), "account")
	must(t, os.WriteFile(account, nil, 0o600))
	must(t, os.Chmod(account, 0o666)) // jobs may run as nobody
	charge, err := e2e.BuildOf(ctx, t.TempDir(), "examples/ledger/charge-go")
	must(t, err)
	program, err := os.ReadFile(charge)
	must(t, err)
	for _, binary := range []struct{ name, content string }{
		{"chatter", chatter}, {"charge-go", string(program)}, {"broken", "#!/bin/sh\necho it is broken >&2\nexit 1\n"}, {"chatter", chatter + "# again\n"},
	} {
		_, err := api.UploadBinary(ctx, binary.name, strings.NewReader(binary.content), client.UploadOptions{Aliases: []string{"stable"}})
		must(t, err)
	}
	apply := func(text string) {
		t.Helper()
		_, err := api.Apply(ctx, []client.File{{Name: "all.yaml", Data: []byte(text)}}, client.ApplyOptions{})
		must(t, err)
	}
	apply("kind: Job\nname: reused\nbinary: chatter\n")
	must(t, api.DeleteJob(ctx, "reused", 0))
	apply("kind: Job\nname: reused\nbinary: broken\n")
	text := fmt.Sprintf(seedJobs, account)
	apply(text)
	apply(strings.Replace(text, "# a schedule that runs", "# a schedule that ran", 1))
	apply(strings.Replace(text, `CUSTOMERS: "anna ben"`, `CUSTOMERS: "anna ben carla"`, 1))
	for _, one := range []struct {
		name string
		exit int
	}{{"charge", 0}, {"odd", 0}, {"etl", 0}, {"etl", 0}, {"broken", 1}, {"reused", 1}} {
		if out, exit := server.Command(ctx, "run", one.name, "--wait", "--key", one.name); exit != one.exit {
			t.Fatalf("run %s: exit %d, %s", one.name, exit, out)
		}
	}
	for fired := 0; fired < 3; { // the schedule has run, and is stopped
		list, err := api.Runs(ctx, client.RunFilter{Job: "tick", Statuses: []string{"succeeded"}})
		must(t, err)
		fired = len(list.Items)
	}
	_, err = api.PauseJob(ctx, "tick", "")
	must(t, err)
	for open := 1; open > 0; {
		list, err := api.Runs(ctx, client.RunFilter{Statuses: []string{"scheduled", "queued", "running", "retrying"}})
		must(t, err)
		open = len(list.Items)
		jobs, err := api.Jobs(ctx, client.DefinitionFilter{})
		must(t, err)
		for i := range jobs.Items { // that the engine has yet to hear of
			if jobs.Items[i].Pending {
				open++
			}
		}
	}
}

// fractions are parts of a second, as the API writes them.
var fractions = regexp.MustCompile(`(:\d\d)(\.\d+)Z`)

// toMilliseconds writes the instants in a text without what MongoDB does not keep of them.
func toMilliseconds(text []byte) string {
	return string(fractions.ReplaceAllFunc(text, func(found []byte) []byte {
		kept := strings.TrimRight(string(found[:min(len(found)-1, len(":00.000"))]), "0")
		return []byte(strings.TrimSuffix(kept, ".") + "Z")
	}))
}

// shown is all that a server's API shows of what it keeps, by address; contents by their digests.
func shown(t *testing.T, server *e2e.Server) map[string]string {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(server.Data(), "token"))
	must(t, err)
	all := map[string]string{}
	get := func(path string) []byte {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL()+"/api/v1"+path, nil)
		must(t, err)
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		response, err := http.DefaultClient.Do(request)
		must(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		must(t, err)
		if response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s", path, response.Status, body)
		}
		return body
	}
	keep := func(path string) { all[path] = toMilliseconds(get(path)) }
	content := func(path string) { all[path] = fmt.Sprintf("sha256 %x", sha256.Sum256(get(path))) }
	// each keeps every item of a list, and returns the values of a field.
	each := func(path, field string, do func(value string)) {
		t.Helper()
		for at := ""; ; {
			var list struct {
				Items []map[string]any
				Next  string
			}
			must(t, json.Unmarshal(get(path+at), &list))
			for _, item := range list.Items {
				value := fmt.Sprint(item[field])
				text, err := json.Marshal(item)
				must(t, err)
				all[path+" "+value] = toMilliseconds(text)
				do(value)
			}
			if list.Next == "" {
				return
			}
			at = "?cursor=" + url.QueryEscape(list.Next)
		}
	}
	nothing := func(string) {}
	for _, kind := range []string{"/jobs", "/dags"} {
		each(kind, "name", func(name string) {
			keep(kind + "/" + name)
			each(kind+"/"+name+"/generations", "generation", nothing)
			each(kind+"/"+name+"/slots", "from", nothing)
		})
	}
	each("/binaries", "name", func(name string) {
		keep("/binaries/" + name)
		content("/binaries/" + name + "/versions/1/content")
	})
	content("/binaries/chatter/versions/2/content")
	each("/runs", "id", func(id string) {
		keep("/runs/" + id)
		content("/runs/" + id + "/logs")
		each("/runs/"+id+"/effects", "key", nothing)
		each("/runs/"+id+"/artifacts", "name", func(name string) { content("/runs/" + id + "/artifacts/" + name) })
	})
	each("/waves", "id", func(id string) { keep("/waves/" + id) })
	each("/dead-letters", "id", func(id string) { keep("/dead-letters/" + id) })
	return all
}

// same reports what differs between what was shown before and what is now.
func same(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-before +after):\n%s", what, diff)
	}
}

// buckets are all files of a server's buckets, by their digests.
func buckets(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, folder)] = fmt.Sprintf("%x", sha256.Sum256(text))
		return err
	}))
	return all
}

// newerBackup is the beginning of a backup of a later form.
func newerBackup(t *testing.T) []byte {
	t.Helper()
	var text bytes.Buffer
	compressed, err := zstd.NewWriter(&text)
	must(t, err)
	archive := tar.NewWriter(compressed)
	header := []byte(`{"format": 1000, "tidewheel": "9.0.0"}`)
	must(t, archive.WriteHeader(&tar.Header{Name: "tidewheel-backup.json", Size: int64(len(header)), Mode: 0o600}))
	_, err = archive.Write(header)
	must(t, err)
	must(t, archive.Close())
	must(t, compressed.Close())
	return text.Bytes()
}

// A server with data of every kind is restored to MongoDB and S3, and migrated there and back. Each server shows the same as the
// first. What cannot be done is refused with the reason, and changes nothing.
func TestRestoreAndMigrateKeepEverythingTheAPIShows(t *testing.T) {
	ctx, program := t.Context(), buildProduct(t)
	s3, folder := e2e.S3(t, program)
	place := func(uri, bucket string) []string {
		s3["bucket"] = bucket
		return e2e.PlaceFlags(uri, s3)
	}
	of := func(prefix string, flags []string) (prefixed []string) { // of migrate
		for i := 0; i < len(flags); i += 2 {
			name := strings.TrimPrefix(flags[i], "--")
			prefixed = append(prefixed, "--"+prefix+"-"+strings.TrimSuffix(name, "-uri"), flags[i+1])
		}
		return prefixed
	}
	unbounded := []string{"--requests-per-second", "0"} // the test reads all there is, and asks again and again for what it awaits
	server := e2e.NewServer(t, program, unbounded...)
	server.Start()
	fill(t, server)
	first := shown(t, server)
	dir := filepath.Dir(server.Data())
	running, stopped := filepath.Join(dir, "running.backup"), filepath.Join(dir, "stopped.backup")
	do := func(words string, args ...string) string {
		t.Helper()
		out, exit := server.Command(ctx, args...)
		if exit != 0 {
			t.Fatalf("%s: exit %d, %s", words, exit, out)
		}
		return out
	}
	do("backup of a running server", "backup", running)
	refuse := func(words string, args ...string) {
		t.Helper()
		said, exit := server.Say(ctx, args...)
		if exit != 2 || !strings.Contains(said, words) || strings.Contains(said, "moved ") || strings.Contains(said, "restored ") {
			t.Errorf("%s: exit %d, %s; want 2 and %q", args[0], exit, said, words)
		}
	}
	uri, uri2 := startServer(t).URI(), startServer(t).URI()
	refuse("another tidewheel server uses", append([]string{"migrate", "--from", server.Data()}, of("to", place(uri, "refused"))...)...)
	server.Stop()
	do("backup of a folder", "backup", stopped, "--data", server.Data())

	// lives starts a server on a place, and compares what it shows.
	lives := func(what string, args ...string) *e2e.Server {
		t.Helper()
		life := e2e.NewServer(t, program, append(args, unbounded...)...)
		life.Start()
		same(t, what, first, shown(t, life))
		return life
	}
	do("restore", append([]string{"restore", stopped}, place(uri, "restored")...)...)
	restored := lives("restored to MongoDB and S3", place(uri, "restored")...)

	t.Run("what is refused changes nothing", func(t *testing.T) {
		store := closing(t, openStore(t, uri, mongo.Config{PrimaryOnly: true}))
		documents, objects := everything(t, store), buckets(t, folder)
		empty := startServer(t)
		cut, newer, other := filepath.Join(dir, "cut.backup"), filepath.Join(dir, "newer.backup"), filepath.Join(dir, "other.backup")
		text, err := os.ReadFile(stopped)
		must(t, err)
		must(t, os.WriteFile(cut, text[:len(text)/2], 0o600))
		must(t, os.WriteFile(other, []byte("kind: Job\n"), 0o600))
		must(t, os.WriteFile(newer, newerBackup(t), 0o600))
		must(t, os.MkdirAll(filepath.Join(folder, "foreign"), 0o755))
		must(t, os.WriteFile(filepath.Join(folder, "foreign", "holiday.jpg"), []byte("sea"), 0o600))
		objects["/foreign/holiday.jpg"] = fmt.Sprintf("%x", sha256.Sum256([]byte("sea")))
		fresh := place(empty.URI(), "fresh")
		for _, test := range []struct {
			words string
			args  []string
		}{
			{"holds jobs or history already", append([]string{"restore", stopped}, place(uri, "fresh")...)},
			{"holds programs or outputs already", append([]string{"restore", stopped}, place(empty.URI(), "restored")...)},
			{"is not Tidewheel's", append([]string{"restore", stopped}, place(empty.URI(), "foreign")...)},
			{"is cut off", append([]string{"restore", cut}, fresh...)},
			{"made by a newer Tidewheel", append([]string{"restore", newer}, fresh...)},
			{"no backup of Tidewheel", append([]string{"restore", other}, fresh...)},
			{"belong together", []string{"restore", stopped, "--mongodb-uri", empty.URI()}},
			{"holds jobs or history already", append([]string{"migrate", "--from", server.Data()}, of("to", place(uri, "fresh"))...)},
			{"holds other programs or outputs already", append([]string{"migrate", "--from", server.Data()}, of("to", place(empty.URI(), "other"))...)},
			{"is not Tidewheel's", append([]string{"migrate", "--from", server.Data()}, of("to", place(empty.URI(), "foreign"))...)},
			{"is in use by a server on", append([]string{"migrate", "--to", filepath.Join(dir, "unused")}, of("from", place(uri, "restored"))...)},
			{"is in use by a server on", append([]string{"backup", filepath.Join(dir, "unmade.backup")}, place(uri, "restored")...)},
		} {
			if test.words == "holds other programs or outputs already" { // a program of another cluster
				key := filepath.Join(folder, "other", "binaries", strings.Repeat("0", 64))
				must(t, os.MkdirAll(filepath.Dir(key), 0o755))
				for path := range objects {
					if name := strings.TrimPrefix(path, "/restored/"); name != path && !strings.Contains(name, "/") { // what says that a bucket is ours
						text, err := os.ReadFile(filepath.Join(folder, path))
						must(t, err)
						must(t, os.WriteFile(filepath.Join(folder, "other", name), text, 0o600))
						objects["/other/"+name] = objects[path]
					}
				}
				must(t, os.WriteFile(key, []byte("x"), 0o600))
				objects[strings.TrimPrefix(key, folder)] = fmt.Sprintf("%x", sha256.Sum256([]byte("x")))
			}
			refuse(test.words, test.args...)
		}
		same := func(what string, want, got any) {
			t.Helper()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-before +after):\n%s", what, diff)
			}
		}
		same("documents", documents, everything(t, store))
		if left := everything(t, closing(t, openStore(t, empty.URI(), mongo.Config{PrimaryOnly: true}))); len(left) > 0 {
			t.Errorf("an empty database holds %d documents", len(left))
		}
		now := buckets(t, folder)
		for path := range now { // a bucket that was looked at is marked as ours
			if _, before := objects[path]; !before && strings.HasPrefix(path, "/fresh/") && !strings.Contains(path[len("/fresh/"):], "/") {
				delete(now, path)
			}
		}
		same("objects", objects, now)
		for _, name := range []string{"unused/store/moving.json", "unmade.backup"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				t.Errorf("%s was left", name)
			}
		}
	})

	// The life on MongoDB continues where the first has ended.
	api := restored.Client()
	letters, err := api.DeadLetters(ctx, client.DeadLetterFilter{})
	must(t, err)
	if len(letters.Items) != 1 {
		t.Fatalf("%d dead letters", len(letters.Items))
	}
	if _, err := api.UploadBinary(ctx, "broken", strings.NewReader("#!/bin/sh\n"), client.UploadOptions{Aliases: []string{"stable"}}); err != nil {
		t.Fatal(err)
	}
	run, err := api.RunJob(ctx, "charge", wire.RunRequest{}, "charge")
	must(t, err)
	if run.Status != engine.StatusSucceeded { // the key is remembered: it is the run of the first life
		t.Errorf("a run that had ended is %s", run.Status)
	}
	for _, name := range []string{"charge", "etl"} {
		if out, exit := restored.Command(ctx, "run", name, "--wait", "--key", "of the second life"); exit != 0 {
			t.Errorf("run %s: exit %d, %s", name, exit, out)
		}
	}
	second := shown(t, restored)
	made := filepath.Join(dir, "second.backup")
	if out, exit := restored.Command(ctx, "backup", made); exit != 0 { // while it works
		t.Fatalf("backup: exit %d, %s", exit, out)
	}
	restored.Stop()
	home := e2e.NewServer(t, program, unbounded...)
	do("restore to a folder", "restore", made, "--data", home.Data())
	home.Start()
	same(t, "from MongoDB and S3 to a folder, by a backup", second, shown(t, home))
	home.Stop()

	// And by a move, there and back.
	do("migrate", append([]string{"migrate", "--from", server.Data()}, of("to", place(uri2, "moved"))...)...)
	lives("moved to MongoDB and S3", place(uri2, "moved")...).Stop()
	back := e2e.NewServer(t, program, unbounded...)
	do("migrate back", append([]string{"migrate", "--to", back.Data()}, of("from", place(uri2, "moved"))...)...)
	back.Start()
	same(t, "moved back", first, shown(t, back))
	t.Logf("%d addresses of the API compared for each of 5 lives, %d in the second one", len(first), len(second))
}
