package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
)

// From a program's folder to a user's, by way of S3, API and command line.
func TestWhatARunLeavesIsShownAndDownloaded(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("totals", `echo rows=5 > "$TIDEWHEEL_OUTPUT"
cd "$TIDEWHEEL_ARTIFACTS"; mkdir "by shop"; echo 1,2 > "by shop/müller 100%.csv"; head -c 3000000 /dev/zero > big`)
	s.apply("kind: Job\nname: totals\nbinary: totals@stable\n")
	done := s.run("run", "totals", "--wait", "--key", "k")
	if done.status != exitDone {
		t.Fatal(done.out, done.err)
	}
	run := decode[wire.Run](t, s.run("run", "totals", "--key", "k", "-o", "json").out)
	if text := s.must("describe", "run", run.ID); !strings.Contains(text, "rows") || !strings.Contains(text, "by shop/müller 100%.csv") || !strings.Contains(text, "2.9 MiB") {
		t.Errorf("describe says\n%s", text)
	}
	if list := decode[wire.List[wire.Artifact]](t, s.must("artifacts", run.ID, "-o", "json")); len(list.Items) != 2 || list.Items[0].Name != "big" {
		t.Errorf("listed are %+v", list.Items)
	}
	if text := s.must("artifacts", run.ID, "by shop/müller 100%.csv"); text != "1,2\n" {
		t.Errorf("one file is %q", text)
	}
	out := filepath.Join(t.TempDir(), "out")
	s.must("artifacts", run.ID, "-d", out)
	csv, err := os.ReadFile(filepath.Join(out, "by shop", "müller 100%.csv"))
	if string(csv) != "1,2\n" || err != nil {
		t.Errorf("the downloaded file is %q, %v", csv, err)
	}
	if info, err := os.Stat(filepath.Join(out, "big")); err != nil || info.Size() != 3000000 {
		t.Errorf("the big one: %v", err)
	}
	s.refused(exitRefused, "has left no artifact", "artifacts", run.ID, "nothing")
	s.refused(exitRefused, "there is no run", "artifacts", "nope")
}
