package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// ledgerJobs are the examples that charge an account. They wait before each step, so that a kill may fall between any
// two.
const ledgerJobs = `
kind: Job
name: %[1]s
binary: %[1]s
env: {CUSTOMERS: "anna ben carla", ACCOUNT: "%[2]s", PAUSE: "0.06"}
overlap: allow
timeout: 5m
retry: {max_attempts: 100, delay: 20ms, max_delay: 500ms}
`

const (
	ledgerRuns  = 5  // of each program
	ledgerKills = 45 // of programs
	// serverKills are spread among them.
	serverKills = 2
	customers   = 3
)

// chargePrograms are the examples, by name.
func chargePrograms(ctx context.Context, t *testing.T, dir string) map[string]string {
	t.Helper()
	root, err := Root(ctx)
	if err != nil {
		t.Fatal(err)
	}
	examples := filepath.Join(root, "examples", "ledger")
	built := filepath.Join(dir, "charge-go")
	build := exec.CommandContext(ctx, "go", "build", "-o", built, "./examples/ledger/charge-go")
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	programs := map[string]string{"charge-go": built}
	for name, needs := range map[string][2]string{
		"charge-shell":  {"curl", filepath.Join(examples, "charge-shell", "charge-shell.sh")},
		"charge-python": {"python3", filepath.Join(examples, "charge-python", "charge-python.py")},
	} {
		if _, err := exec.LookPath(needs[0]); err != nil {
			if os.Getenv("CI") != "" { // where .ci/run has installed it
				t.Fatalf("%s: %v", name, err)
			}
			t.Logf("%s is left out: %v", name, err)
			continue
		}
		programs[name] = needs[1]
	}
	return programs
}

// Effects kills the programs of the examples that charge an account, and their server with them, at random moments, and
// looks in the account itself whether every customer was charged once a run.
func Effects(t *testing.T, binary string, args ...string) {
	ctx := t.Context()
	dir := Folder(t)
	account := filepath.Join(dir, "account")
	if err := os.WriteFile(account, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(account, 0o666); err != nil { // jobs may run as nobody
		t.Fatal(err)
	}
	server := NewServer(t, binary, append(args, "--lock-ttl", "2s")...)
	server.Start()
	api := server.Client()
	names := map[string]bool{}
	for name, path := range chargePrograms(ctx, t, dir) {
		program, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = api.UploadBinary(ctx, name, program, client.UploadOptions{})
		_ = program.Close() // it was only read
		if err != nil {
			t.Fatal(err)
		}
		if _, err := api.Apply(ctx, []client.File{{Name: "ledger.yaml", Data: fmt.Appendf(nil, ledgerJobs, name, account)}}, client.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		names[name] = true
		for i := range ledgerRuns {
			if _, err := api.RunJob(ctx, name, wire.RunRequest{}, strconv.Itoa(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	killed := 0
	limit := time.Now().Add(settleLimit)
	for killed < ledgerKills && time.Now().Before(limit) {
		<-time.After(time.Duration(rand.IntN(40)) * time.Millisecond) // whatever they are at by then
		if killProgram(t, account) {
			killed++
			if killed%(ledgerKills/(serverKills+1)) == 0 && killed/(ledgerKills/(serverKills+1)) <= serverKills {
				server.Kill()
				server.Start()
			}
		}
	}
	runs := settled(ctx, t, api)
	if want := len(names) * ledgerRuns; len(runs) != want {
		t.Fatalf("%d runs, want %d", len(runs), want)
	}
	judgeAccount(ctx, t, api, account, runs)
	attempts := 0
	for _, run := range runs {
		attempts += run.Attempt
	}
	t.Logf("%d runs took %d attempts, through %d kills of programs and %d of the server", len(runs), attempts, killed, serverKills)
	if killed < ledgerKills/3 {
		t.Errorf("only %d programs were killed: the others were too quick", killed)
	}
}

// killProgram kills one of the programs that know the account, at random, and reports whether there was one.
func killProgram(t *testing.T, account string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range rand.Perm(len(files)) {
		text, err := os.ReadFile(files[i])
		if err != nil || !strings.Contains(string(text), "ACCOUNT="+account+"\x00") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(files[i])))
		if err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			return true
		}
	}
	return false
}

// judgeAccount compares what was charged with what the runs say of themselves, and with the ledger.
func judgeAccount(ctx context.Context, t *testing.T, api *client.Client, account string, runs map[string]wire.Run) {
	t.Helper()
	text, err := os.ReadFile(account)
	if err != nil {
		t.Fatal(err)
	}
	type charge struct {
		attempt int
		token   uint64
	}
	charges := map[string]charge{}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range lines {
		var one charge
		var id string
		var amount int
		if _, err := fmt.Sscanf(line, "%s %d %d %d", &id, &amount, &one.attempt, &one.token); err != nil || amount != 100 {
			t.Errorf("the account has a torn line %q: %v", line, err)
			continue
		}
		if first, twice := charges[id]; twice {
			t.Errorf("%s was charged twice, by attempts %d and %d", id, first.attempt, one.attempt)
		}
		charges[id] = one
	}
	found := 0
	for id, run := range runs {
		if run.Status != engine.StatusSucceeded {
			t.Errorf("run %s of %s ended as %s at attempt %d: %s", id, run.Job, run.Status, run.Attempt, run.Error)
		}
		var attempt int
		var token uint64
		for _, a := range run.Attempts { // a token of a later attempt is greater
			if a.Token != 0 && (a.Token <= token || a.N <= attempt) {
				t.Errorf("run %s: attempt %d has the fencing token %d, after attempt %d with %d", id, a.N, a.Token, attempt, token)
			}
			if a.Token != 0 {
				attempt, token = a.N, a.Token
			}
		}
		list, err := api.RunEffects(ctx, id, client.Page{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != customers {
			t.Errorf("run %s has %d effects, want %d", id, len(list.Items), customers)
		}
		for _, effect := range list.Items {
			one, charged := charges[id+"/"+effect.Key]
			if !charged {
				t.Errorf("%s of run %s is not charged, and the ledger calls it %s", effect.Key, id, effect.State)
			}
			delete(charges, id+"/"+effect.Key)
			var result struct {
				Charged int  `json:"charged"`
				Found   bool `json:"found"`
			}
			if err := json.Unmarshal(effect.Result, &result); err != nil || effect.State != "done" || result.Charged != 100 {
				t.Errorf("%s of run %s is %s with %s, %v", effect.Key, id, effect.State, effect.Result, err)
			}
			// The attempt that closed the effect did it, or found that an earlier attempt had done it.
			if one.attempt > effect.Attempt || result.Found != (one.attempt < effect.Attempt) || one.token > effect.Token {
				t.Errorf("%s of run %s was charged by attempt %d (token %d), and closed by attempt %d (token %d) with %s",
					effect.Key, id, one.attempt, one.token, effect.Attempt, effect.Token, effect.Result)
			}
			if result.Found {
				found++
			}
		}
	}
	for id := range charges {
		t.Errorf("%s was charged, and the ledger knows nothing of it", id)
	}
	t.Logf("%d charges, of which %d were found done by a later attempt", len(lines), found)
}
