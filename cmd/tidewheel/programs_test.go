package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
)

// example returns the one in a language from the examples at the end of the page about programs.
func example(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/programs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, examples, _ := strings.Cut(string(page), "\n## Examples\n")
	_, after, found := strings.Cut(examples, "```"+language+"\n")
	code, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatalf("there is no example in %s", language)
	}
	return code
}

// The examples of the page about programs are a DAG that hands on outputs and files, from one process to the next.
func TestExamplesOfThePageAboutProgramsRun(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	const firstLine = "#!/bin/sh\n" // which push writes
	s.push("find-shops", strings.TrimPrefix(example(t, "sh"), firstLine))
	shops := example(t, "python")
	if _, err := exec.LookPath("python3"); err == nil {
		s.push("shop-total", "exec python3 - <<'PROGRAM'\n"+shops+"PROGRAM\n")
	} else { // the same in shell
		s.push("shop-total", `shop=$(echo "$TIDEWHEEL_ITEM" | tr -d '"')
total=$(grep "^$shop," inputs/sales/sales.csv | cut -d, -f2)
echo "$shop: $total of $(grep -o '"rows":[0-9]*' "$TIDEWHEEL_INPUTS" | cut -d: -f2) rows"
echo "{\"shop\": \"$shop\", \"total\": $total}" > "$TIDEWHEEL_OUTPUT"
`)
	}
	s.push("report", `echo "totals $*"; cat "$TIDEWHEEL_INPUTS"`)
	s.apply(example(t, "yaml"))
	if done := s.run("run", "totals", "--wait"); done.status != exitDone {
		t.Fatalf("the wave: exit %d, %s%s", done.status, done.out, done.err)
	}
	printed := map[string]bool{}
	for _, run := range decode[wire.List[wire.Run]](t, s.must("get", "runs", "--dag", "totals", "-o", "json")).Items {
		printed[s.must("logs", run.ID)] = true
	}
	for _, want := range []string{
		"north: 3 of 2 rows\n", "south: 4 of 2 rows\n",
		"totals [3,4]\n" + `{"shops":[{"shop":"north","total":3},{"shop":"south","total":4}]}`,
	} {
		if !printed[want] {
			t.Errorf("no task printed %q; they printed %v", want, printed)
		}
	}
}
