package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// Executors go away and come back as the endpoint says; each run happens once.
func TestScalingToZeroAndBackLosesNothing(t *testing.T) {
	cli := newTestCLI(t)
	engineFile := keyFile(t, cli.must("task-key", "new"))
	main, elsewhere := splitRoles(t, engineFile)
	elsewhere.TaskKeysFile = keyFile(t, cli.must("task-key", "public", engineFile))
	elsewhere.Tier, elsewhere.Slots = "light", 2
	scaling := func() wire.TierScaling {
		return decode[wire.Scaling](t, main.must("scaling", "-o", "json")).Tiers["light"]
	}
	main.push("quick", "exit 0\n")
	main.apply("kind: Job\nname: quick\nbinary: quick\ntier: light\noverlap: allow\ncatch_up: {policy: all}\n")
	if got := scaling(); got.Wanted != 0 || got.Alive != 0 {
		t.Fatalf("before anything waits: %+v", got)
	}
	const runs = 6
	next := 0
	ask := func() {
		for range runs {
			next++
			main.must("run", "quick", "--key", fmt.Sprint(next))
		}
	}
	for round := range 2 {
		ask()
		until(t, "executors are wanted", func() bool { got := scaling(); return got.Wanted >= 1 && got.Waiting == runs && got.Alive == 0 })
		config := elsewhere
		config.Data = t.TempDir() + "/data"
		executor, err := NewServer(config, testLog(t), &safeBuffer{})
		if err != nil {
			t.Fatal(err)
		}
		if err := executor.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		until(t, "all have run", func() bool {
			done := decode[wire.List[wire.Run]](t, main.must("get", "runs", "--job", "quick", "--status", "succeeded", "--limit", "100", "-o", "json"))
			return len(done.Items) == (round+1)*runs
		})
		until(t, "none is wanted any more", func() bool { got := scaling(); return got.Wanted == 0 && got.Alive == 1 })
		closing, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		if err := executor.Close(closing); err != nil {
			t.Error(err)
		}
		cancel()
		until(t, "the executor has gone", func() bool { return scaling().Alive == 0 })
	}
	all := decode[wire.List[wire.Run]](t, main.must("get", "runs", "--job", "quick", "--limit", "100", "-o", "json"))
	if len(all.Items) != next {
		t.Errorf("%d runs were asked for, and %d are there", next, len(all.Items))
	}
	for _, run := range all.Items {
		if run.Status != engine.StatusSucceeded || run.Attempt != 1 {
			t.Errorf("run %s is %s after %d attempts", run.ID, run.Status, run.Attempt)
		}
	}
	main.refused(exitRefused, "max is less than min", "scaling", "--min", "3", "--max", "2")
}

// The server's answer has what the example for KEDA asks for.
func TestExampleForKEDAFindsItsNumber(t *testing.T) {
	text, err := os.ReadFile("../../deploy/keda/metrics-api.yaml")
	if err != nil {
		t.Fatal(err)
	}
	setting := func(name string) string {
		found := regexp.MustCompile(name + `: "(.*)"`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("the example has no %s", name)
		}
		return string(found[1])
	}
	address, err := url.Parse(setting("url"))
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t, serverConfigFor(t))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL()+address.RequestURI(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.server.token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%d %v: %s", answer.StatusCode, err, body)
	}
	var value any = decode[map[string]any](t, string(body))
	for part := range strings.SplitSeq(setting("valueLocation"), ".") {
		object, _ := value.(map[string]any)
		value = object[part]
	}
	if number, is := value.(float64); !is || number != 0 {
		t.Errorf("%s is %v in %s", setting("valueLocation"), value, body)
	}
}
