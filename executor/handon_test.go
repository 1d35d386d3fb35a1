package executor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
)

// inWave makes a task that stands in a wave.
func inWave(inputs ...engine.Input) func(*engine.Task) {
	return func(t *engine.Task) {
		t.DAG, t.Job, t.Epoch, t.Task, t.Inputs = "etl", "etl", 7, "join", inputs
	}
}

func names(artifacts []engine.Artifact) (all []string) {
	for _, a := range artifacts {
		all = append(all, fmt.Sprintf("%s:%d", a.Name, a.Size))
	}
	return all
}

// left lists the folders of programs that are not removed and hold something.
func left(t *testing.T, r *rig) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.config.WorkDir, "life-*", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := filepath.Glob(filepath.Join(r.config.WorkDir, "life-*", "*", ".*"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(append(found, hidden...), func(path string) bool {
		base := filepath.Base(path)
		return base == "tmp" || base == "artifacts"
	})
}

func TestOutputsAndArtifactsAreHandedOn(t *testing.T) {
	r := newRig(t)
	finish := r.run(r.task(`echo rows=5 >> "$TIDEWHEEL_OUTPUT"
echo 'shops=["x","y"]' >> "$TIDEWHEEL_OUTPUT"
cd "$TIDEWHEEL_ARTIFACTS"; mkdir -p a/b; echo hello > a/b/c.txt; : > empty; mkdir nothing; chmod 000 empty`))
	if finish.Status != engine.StatusSucceeded || string(finish.Outputs) != `{"rows":5,"shops":["x","y"]}` {
		t.Errorf("got %+v with outputs %s", finish, finish.Outputs)
	}
	if want := []string{"a/b/c.txt:6", "empty:0"}; !slices.Equal(names(finish.Artifacts), want) {
		t.Fatalf("artifacts are %v, want %v", finish.Artifacts, want)
	}
	if want := "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"; finish.Artifacts[0].SHA256 != want {
		t.Errorf("the digest is %s, want %s", finish.Artifacts[0].SHA256, want)
	}
	if stay := left(t, r); len(stay) > 0 {
		t.Errorf("left are %v", stay)
	}
	// A program that fails hands nothing on. One that hands nothing on has neither outputs nor artifacts.
	for _, script := range []string{`echo rows=5 > "$TIDEWHEEL_OUTPUT"; touch "$TIDEWHEEL_ARTIFACTS/x"; exit 3`, "mkdir output; touch x", "rmdir artifacts", "true"} {
		if finish := r.run(r.task(script)); finish.Outputs != nil || finish.Artifacts != nil || finish.Error != "" {
			t.Errorf("%s: %+v", script, finish)
		}
	}
}

func TestHostileOutputsAndArtifactsAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("links to files of others say more where the executor may read them")
	}
	secret := filepath.Join(reachable(t), "secret")
	if err := os.WriteFile(secret, []byte("rows=1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(c *executor.Config) { c.ArtifactSize = 1 << 20 })
	const output, artifacts = `"$TIDEWHEEL_OUTPUT"`, `cd "$TIDEWHEEL_ARTIFACTS"; `
	for script, want := range map[string]string{
		"ln -s " + secret + " " + output:                                    "symbolic link",
		"ln -s /dev/zero " + output:                                         "symbolic link",
		"mkfifo " + output:                                                  "named pipe",
		"mkdir " + output:                                                   "folder",
		"head -c 10485760 /dev/zero > " + output:                            "10485760 bytes",
		`printf 'a=\377' > ` + output:                                       "UTF-8",
		"echo hello > " + output:                                            "key=value",
		artifacts + "ln -s /etc/passwd x":                                   "symbolic link",
		artifacts + "ln -s . x":                                             "symbolic link",
		artifacts + "mkdir d; mkfifo d/x":                                   `"d/x"`,
		artifacts + "printf x > \"$(printf 'a\\nb')\"":                      "control character",
		artifacts + "printf x > \"$(printf 'a\\377')\"":                     "UTF-8",
		artifacts + "truncate -s 1T sparse":                                 "1048576 bytes",
		artifacts + "head -c 600000 /dev/zero > a; cp a b":                  "1048576 bytes",
		artifacts + "seq 5000 | xargs touch":                                "1000 files",
		artifacts + "seq 1001 | xargs mkdir":                                "1000 folders",
		"rmdir artifacts; ln -s /etc artifacts":                             "something else",
		"rmdir artifacts; ln -s . artifacts":                                "something else",
		"rmdir artifacts; touch artifacts":                                  "something else",
		"rmdir artifacts; mkfifo artifacts":                                 "something else",
		artifacts + "n=$(printf %0250d 1); mkdir -p $n/$n/$n":               "512 bytes",
		artifacts + "for i in $(seq 500); do : > $(printf %0250d $i); done": "names",
	} {
		finish := r.run(r.task(script))
		if finish.Status != engine.StatusFailed || !finish.NoRetry || !strings.Contains(finish.Error, want) || finish.Outputs != nil || finish.Artifacts != nil {
			t.Errorf("%s: %+v, want words about %q", script, finish, want)
		}
	}
	if stay := left(t, r); len(stay) > 0 {
		t.Errorf("left are %v", stay)
	}
	if len(r.artifacts) > 0 {
		t.Errorf("%d files were stored", len(r.artifacts))
	}
}

// What a namespace may not store is not stored, the run says what to do, and its job's retries may find more room.
func TestArtifactsBeyondTheQuotaOfTheNamespaceAreRefused(t *testing.T) {
	r := newRig(t)
	script := `cd "$TIDEWHEEL_ARTIFACTS"; head -c 600 /dev/zero > a; cp a b; echo rows=5 > "$TIDEWHEEL_OUTPUT"`
	for room, want := range map[int64]bool{1200: true, 1199: false, 0: false} {
		task := r.task(script)
		task.Namespace, task.ArtifactRoom = "finance", &room
		finish := r.run(task)
		if want {
			if finish.Status != engine.StatusSucceeded || len(finish.Artifacts) != 2 {
				t.Errorf("with room for %d bytes: %+v", room, finish)
			}
			continue
		}
		if finish.Status != engine.StatusFailed || finish.NoRetry || finish.HandedBack || finish.ExitCode != nil ||
			finish.Outputs != nil || finish.Artifacts != nil {
			t.Errorf("with room for %d bytes: %+v", room, finish)
		}
		more := fmt.Sprintf("%dB more", room)
		for _, part := range []string{"1200B together", "stored_bytes", `namespace "finance"`, more, "tidewheel namespace set finance --max-stored"} {
			if !strings.Contains(finish.Error, part) {
				t.Errorf("%q does not say %q", finish.Error, part)
			}
		}
	}
	if len(r.artifacts) != 2 {
		t.Errorf("%d files were stored, want the 2 of the run with room", len(r.artifacts))
	}
	room := int64(0)
	task := r.task("true")
	task.ArtifactRoom = &room
	if finish := r.run(task); finish.Status != engine.StatusSucceeded {
		t.Errorf("a program without artifacts: %+v", finish)
	}
}

// A hard link looks like a file, except for its owner.
func TestFilesOfOtherUsersAreNotHandedOn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs programs as another user")
	}
	r := newRig(t)
	dir := reachable(t)
	for _, fifo := range []string{"begun", "go"} {
		mkfifo(t, filepath.Join(dir, fifo))
	}
	task := r.task(fmt.Sprintf(`echo "$TIDEWHEEL_ARTIFACTS" > %s/where; echo > %s/begun; read x < %s/go`, "$TMPDIR", dir, dir))
	r.send(task)
	read(t, filepath.Join(dir, "begun"))
	folders, err := filepath.Glob(filepath.Join(r.config.WorkDir, "life-*", "*", "artifacts"))
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	if err := os.WriteFile(filepath.Join(folders[0], "shadow"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	letIn(t, filepath.Join(dir, "go"))
	if finish := r.finish(task); finish.Status != engine.StatusFailed || !finish.NoRetry || !strings.Contains(finish.Error, "another user") {
		t.Errorf("got %+v", finish)
	}
}

func TestTaskSeesWhatTheTasksBeforeItHaveLeft(t *testing.T) {
	r := newRig(t)
	from := r.task(`mkdir "$TIDEWHEEL_ARTIFACTS/d"; echo hello > "$TIDEWHEEL_ARTIFACTS/d/a"; echo x > "$TIDEWHEEL_ARTIFACTS/b"; echo rows=5 > "$TIDEWHEEL_OUTPUT"`)
	orders := r.run(from)
	first, third := 0, 2
	inputs := []engine.Input{
		{Task: "orders", Run: from.Run, Attempt: 1, Outputs: orders.Outputs, Artifacts: orders.Artifacts},
		{Task: "shops", Item: &first, Items: 4, Run: from.Run, Attempt: 1, Outputs: orders.Outputs},
		{Task: "shops", Item: &third, Items: 4, Run: from.Run, Attempt: 1, Artifacts: orders.Artifacts},
	}
	finish := r.run(r.task(`cat "$TIDEWHEEL_INPUTS"; echo; cd "$TIDEWHEEL_WORK_DIR/inputs"; find . -type f | sort; cat orders/d/a
echo more >> shops/2/b; touch orders/d/mine; echo "$TIDEWHEEL_DAG $TIDEWHEEL_TASK $TIDEWHEEL_EPOCH $TIDEWHEEL_ITEM_INDEX $TIDEWHEEL_ITEM"`,
		inWave(inputs...), func(t *engine.Task) { t.Item, t.ItemValue = &third, []byte(`{"z":"ü"}`) }))
	want := `{"orders":{"rows":5},"shops":[{"rows":5},{},{},{}]}
./orders/b
./orders/d/a
./shops/2/b
./shops/2/d/a
hello
etl join 7 2 {"z":"ü"}
`
	if finish.Status != engine.StatusSucceeded || string(finish.Output.Tail) != want {
		t.Errorf("got %+v and\n%s, want\n%s", finish, finish.Output.Tail, want)
	}
	if stay := left(t, r); len(stay) > 0 {
		t.Errorf("left are %v", stay)
	}
	// A task that is given nothing finds that said.
	finish = r.run(r.task(`cat "$TIDEWHEEL_INPUTS"; echo ${TIDEWHEEL_ITEM-none}; ls; echo x > "$TIDEWHEEL_INPUTS"`, inWave()))
	if string(finish.Output.Tail[:len("{}\nnone\nartifacts\ntmp\n")]) != "{}\nnone\nartifacts\ntmp\n" {
		t.Errorf("without inputs: %s", finish.Output.Tail)
	}
	if os.Geteuid() == 0 && finish.Status == engine.StatusSucceeded {
		t.Error("a program has changed what all are given")
	}
}

// An output may hold any text, and stand in a variable of the next task.
func TestVariableThatNoProgramCanBeGiven(t *testing.T) {
	r := newRig(t)
	finish := r.run(r.task("true", func(t *engine.Task) { t.Env = map[string]string{"ROWS": "1\x002"} }))
	if finish.Status != engine.StatusFailed || !finish.NoRetry || !strings.Contains(finish.Error, `"ROWS" holds a zero byte`) {
		t.Errorf("got %+v", finish)
	}
}

func TestArtifactsThatCannotBeBrought(t *testing.T) {
	r := newRig(t, func(c *executor.Config) { c.FetchTimeout, c.InputSize = 300*time.Millisecond, 1<<20 })
	from := r.task(`echo hello > "$TIDEWHEEL_ARTIFACTS/a"`)
	artifacts := r.run(from).Artifacts
	input := func(change func(*engine.Input)) engine.Task {
		in := engine.Input{Task: "orders", Run: from.Run, Attempt: 1, Artifacts: slices.Clone(artifacts)}
		change(&in)
		return r.task("echo began", inWave(in))
	}
	for want, change := range map[string]func(*engine.Input){
		"not stored any more": func(in *engine.Input) { in.Attempt = 2 },
		"is damaged":          func(in *engine.Input) { in.Artifacts[0].SHA256 = strings.Repeat("0", 64) },
		"1048577 bytes":       func(in *engine.Input) { in.Artifacts[0].Size = 1<<20 + 1 },
		"outside":             func(in *engine.Input) { in.Artifacts[0].Name = "../../x" },
	} {
		finish := r.run(input(change))
		if finish.Status != engine.StatusFailed || !finish.NoRetry || !strings.Contains(finish.Error, want) || !finish.StartedAt.IsZero() {
			t.Errorf("%+v, want words about %q", finish, want)
		}
	}
	r.lose = 1
	if finish := r.run(input(func(*engine.Input) {})); finish.Status != engine.StatusSucceeded {
		t.Errorf("after a fault that passes: %+v", finish)
	}
	r.lose = 1 << 30
	finish := r.run(input(func(*engine.Input) {}))
	if !finish.HandedBack || !finish.Unfetched || finish.NoRetry || !finish.StartedAt.IsZero() || !strings.Contains(finish.Error, "could not be fetched") || !strings.Contains(finish.Error, "away") {
		t.Errorf("while the store is away: %+v", finish)
	}
}

func TestArtifactsThatCannotBeStored(t *testing.T) {
	r := newRig(t, func(c *executor.Config) { c.FetchTimeout = 300 * time.Millisecond })
	const script = `echo hello > "$TIDEWHEEL_ARTIFACTS/a"; echo rows=5 > "$TIDEWHEEL_OUTPUT"`
	r.lose = 1
	if finish := r.run(r.task(script)); finish.Status != engine.StatusSucceeded || len(finish.Artifacts) != 1 {
		t.Errorf("after a fault that passes: %+v", finish)
	}
	r.lose = 1 << 30
	finish := r.run(r.task(script))
	if !finish.HandedBack || !finish.Unfetched || finish.NoRetry || finish.StartedAt.IsZero() || !strings.Contains(finish.Error, "could not be stored") || finish.Outputs != nil {
		t.Errorf("while the store is away: %+v", finish)
	}
	// It is asked to end meanwhile.
	r.lose = 0
	task := r.task(script)
	r.onPut = func() { r.control(engine.ControlCancel, task.Run, 1) }
	if finish := r.run(task); finish.Status != engine.StatusCancelled || finish.NoRetry {
		t.Errorf("cancelled while its artifacts are stored: %+v", finish)
	}
	// A file that changes meanwhile is no file to rely on.
	folder := ""
	r.onPut = func() {
		found, err := filepath.Glob(filepath.Join(r.config.WorkDir, "life-*", "*", "artifacts", "a"))
		if err == nil && len(found) == 1 {
			folder = found[0]
			err = os.WriteFile(folder, []byte("other bytes"), 0o600)
		}
		if err != nil || folder == "" {
			t.Error(found, err)
		}
	}
	if finish := r.run(r.task(script)); finish.Status != engine.StatusFailed || !finish.NoRetry || !strings.Contains(finish.Error, "changed while") {
		t.Errorf("changed while it is stored: %+v", finish)
	}
}
