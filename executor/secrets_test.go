package executor_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/internal/runtoken"
)

// opener opens "sealed:VALUE" of any name in namespace ns.
type opener struct{}

func (opener) Open(_ context.Context, namespace, name string, sealed []byte) ([]byte, error) {
	value, ok := strings.CutPrefix(string(sealed), "sealed:")
	if !ok || namespace != "ns" || name == "" {
		return nil, errors.New("sealed for another key")
	}
	return []byte(value), nil
}

func withKey(c *executor.Config) { c.Secrets = opener{} }

// planted is the value of $PLANTED, a secret.
const planted = "pl4nted/value+with=odd&ends"

func plant(t *engine.Task) {
	t.Namespace = "ns"
	t.Secrets = map[string]string{"PLANTED": "planted"}
	t.Sealed = map[string][]byte{"PLANTED": []byte("sealed:" + planted)}
}

func TestProgramIsGivenItsSecretsUnchanged(t *testing.T) {
	r := newRig(t, withKey)
	task := r.task(`test "$PLANTED" = '${HOME} `+planted+`' && test "$URL" = 'db://${HOME} `+planted+`@host' && echo ok`, plant, func(t *engine.Task) {
		t.Sealed["PLANTED"] = []byte("sealed:${HOME} " + planted)
		t.Env = map[string]string{"URL": "db://${PLANTED}@host", "PLANTED": "not this"}
	})
	if finish := r.run(task); finish.Status != engine.StatusSucceeded || string(finish.Output.Tail) != "ok\n" {
		t.Errorf("%+v, printed %q", finish, finish.Output.Tail)
	}
}

// unseen fails if a text holds a value, or what encodings make of it.
func unseen(t *testing.T, where, text, value string) {
	t.Helper()
	for _, form := range []string{value, base64.StdEncoding.EncodeToString([]byte(value)), url.QueryEscape(value)} {
		if strings.Contains(text, form) {
			t.Errorf("%s holds %s: %q", where, form, text)
		}
	}
}

func TestSecretsAndTheTokenAreMaskedInWhatAProgramLeaves(t *testing.T) {
	r := newRig(t, withKey, func(c *executor.Config) { c.API = "http://127.0.0.1:1/api/v1" })
	task := r.task(`
echo "plain $PLANTED"
printf '%s' "$PLANTED" | base64
echo "split pl4nted/va"; printf 'pl4nted/va'; sleep 0.2; echo 'lue+with=odd&ends'
echo "token $TIDEWHEEL_RUN_TOKEN"
echo "::progress 0.5 at $PLANTED"
printf 'a=%s\nb=[1,{"c":"x%sy"}]\nrows=5\n' "$PLANTED" "$PLANTED" > "$TIDEWHEEL_OUTPUT"
echo content > "$TIDEWHEEL_ARTIFACTS/$(printf %s "$PLANTED" | tr / _).txt"
`, plant, func(t *engine.Task) { t.RunKey = runtoken.Key(make([]byte, runtoken.KeySize)).Attempt("ns", t.Run, 1) })
	finish := r.run(task)
	if finish.Status != engine.StatusSucceeded {
		t.Fatalf("%+v: %s", finish, finish.Error)
	}
	unseen(t, "the output", string(finish.Output.Tail), planted)
	for _, want := range []string{"plain ***\n", "***\nsplit pl4nted/va\n***\n", "token ***\n"} {
		if !strings.Contains(string(finish.Output.Tail), want) {
			t.Errorf("%q is not in %q", want, finish.Output.Tail)
		}
	}
	if string(finish.Outputs) != `{"a":"***","b":[1,{"c":"x***y"}],"rows":5}` {
		t.Errorf("outputs %s", finish.Outputs)
	}
	if p := r.result(task, engine.ResultProgress); p.Progress.Message != "at ***" {
		t.Errorf("progress %+v", p.Progress)
	}
	if len(finish.Artifacts) != 1 || strings.Contains(finish.Artifacts[0].Name, "pl4nted/") {
		t.Errorf("artifacts %+v", finish.Artifacts)
	}
}

func TestSecretIsMaskedInErrorsAndNames(t *testing.T) {
	r := newRig(t, withKey)
	long := strings.Repeat("correct-horse-", 10)
	secret := func(t *engine.Task) {
		plant(t)
		t.Sealed["PLANTED"] = []byte("sealed:" + long)
	}
	for script, want := range map[string]string{
		`printf 'x %s' "$PLANTED" > "$TIDEWHEEL_OUTPUT"`:             `line 1 is "x ***"`,
		`printf 'k%s=1' "$PLANTED" > "$TIDEWHEEL_OUTPUT"`:            `"k***=1"`,
		`ln -s x "$TIDEWHEEL_ARTIFACTS/$PLANTED"`:                    `"***" in $TIDEWHEEL_ARTIFACTS`,
		`cd "$TIDEWHEEL_ARTIFACTS"; echo > "***"; echo > "$PLANTED"`: "are called",
	} {
		finish := r.run(r.task(script, secret))
		if finish.Status != engine.StatusFailed || !strings.Contains(finish.Error, want) || strings.Contains(finish.Error, "correct-horse") {
			t.Errorf("%s: %s %q", script, finish.Status, finish.Error)
		}
	}
	finish := r.run(r.task(`echo > "$TIDEWHEEL_ARTIFACTS/a-$PLANTED.txt"`, secret))
	if len(finish.Artifacts) != 1 || finish.Artifacts[0].Name != "a-***.txt" {
		t.Errorf("artifacts %+v, %s", finish.Artifacts, finish.Error)
	}
	for key := range r.blobs.artifacts {
		if strings.Contains(key, "correct-horse") {
			t.Errorf("stored as %s", key)
		}
	}
}

func TestAttemptWhoseSecretCannotBeHadIsRefused(t *testing.T) {
	keyless, keyed := newRig(t), newRig(t, withKey)
	for name, c := range map[string]struct {
		rig     *rig
		change  func(*engine.Task)
		noRetry bool
		want    string
	}{
		"no key":      {keyless, func(*engine.Task) {}, false, "has no key to open them"},
		"another key": {keyed, func(t *engine.Task) { t.Sealed["PLANTED"] = []byte("other") }, false, `cannot open the secret "planted" of its variable PLANTED: sealed for another key`},
		"deleted":     {keyed, func(t *engine.Task) { t.Refused, t.Sealed = "there is no secret planted", nil }, true, "there is no secret planted"},
		"argument":    {keyed, func(t *engine.Task) { t.Args = []string{"a", "--password=${PLANTED}"} }, true, "args[1] would hold the secret of PLANTED"},
		"by way of":   {keyed, func(t *engine.Task) { t.Args, t.Env = []string{"${URL}"}, map[string]string{"URL": "x${PLANTED}"} }, true, "args[0] would hold the secret of PLANTED"},
	} {
		t.Run(name, func(t *testing.T) {
			c.rig.t = t
			finish := c.rig.run(c.rig.task("echo it ran", plant, c.change))
			if finish.Status != engine.StatusFailed || finish.NoRetry != c.noRetry || !strings.Contains(finish.Error, c.want) || finish.Output != nil {
				t.Errorf("%+v: %s", finish, finish.Error)
			}
			unseen(t, "the error", finish.Error, planted)
		})
	}
}
