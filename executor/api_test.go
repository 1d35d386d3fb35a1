package executor_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/internal/runtoken"
)

func TestProgramIsGivenTheAPIAndATokenOfItsAttempt(t *testing.T) {
	key := runtoken.Key(bytes.Repeat([]byte{1}, runtoken.KeySize))
	// The token is masked in what a program prints, so it is printed with commas in it.
	const tell = `echo "$TIDEWHEEL_API $(printf %s "$TIDEWHEEL_RUN_TOKEN" | sed 's/./&,/g') $1"`
	open := func(task *engine.Task) {
		task.API, task.Timeout, task.Grace = "http://task/api/v1", time.Hour, time.Minute
		task.RunKey = key.Attempt(task.Namespace, task.Run, task.Attempt)
		task.Args = []string{"${TIDEWHEEL_API}"}
	}
	r := newRig(t)
	task := r.task(tell, open)
	words := strings.Fields(string(r.run(task).Output.Tail))
	if len(words) != 3 || words[0] != "http://task/api/v1" || words[2] != words[0] {
		t.Fatalf("the program saw %q", words)
	}
	grant, err := key.Open(strings.ReplaceAll(words[1], ",", ""), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if end := time.Until(grant.Expires); end < time.Hour || end > time.Hour+3*time.Minute {
		t.Errorf("the token is good for %v", end)
	}
	want := runtoken.Grant{
		Namespace: task.Namespace, Run: task.Run, Attempt: task.Attempt, Token: r.result(task, engine.ResultStarted).Token, Expires: grant.Expires,
	}
	if grant != want {
		t.Errorf("it grants %+v, want %+v", grant, want)
	}

	t.Run("the executor's own address comes first", func(t *testing.T) {
		r := newRig(t, func(config *executor.Config) { config.API = "http://executor/api/v1" })
		if words := strings.Fields(string(r.run(r.task(tell, open)).Output.Tail)); len(words) != 3 || words[0] != "http://executor/api/v1" {
			t.Errorf("the program saw %q", words)
		}
	})
	for name, change := range map[string]func(*engine.Task){
		"no address":   func(task *engine.Task) { open(task); task.API = "" },
		"no key":       func(task *engine.Task) { open(task); task.RunKey = "" },
		"no real key":  func(task *engine.Task) { open(task); task.RunKey = "x" },
		"a forged one": func(task *engine.Task) { task.Env = map[string]string{"TIDEWHEEL_RUN_TOKEN": "forged"} },
	} {
		t.Run("nothing of it with "+name, func(t *testing.T) {
			finish := r.run(r.task(`env | grep -E '^TIDEWHEEL_(API|RUN_TOKEN)='`, change))
			if finish.Status != engine.StatusFailed || finish.Output.Size > 0 {
				t.Errorf("the program saw %q", finish.Output.Tail)
			}
		})
	}
}
