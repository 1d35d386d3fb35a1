package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/importer"
)

// What import writes is applied as it stands, and runs as it did where it came from.
func TestImportedDefinitionsRun(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	shell := filepath.Join(t.TempDir(), importer.ShellName)
	if err := os.WriteFile(shell, []byte(importer.Shell), 0o755); err != nil {
		t.Fatal(err)
	}
	s.must("binary", "push", importer.ShellName, shell)

	jobs := s.mustWith("WHO=Ann\n0 0 1 1 * X='a b'; echo \"${X} of $WHO, it's 10\\%\" | cat\n", "import", "crontab", "-")
	s.apply(jobs)
	done := s.run("run", importedName(jobs), "--wait")
	if want := "a b of Ann, it's 10%\n"; done.status != exitDone || done.out != want {
		t.Errorf("exit %d, output %q, want %q: %s", done.status, done.out, want, done.err)
	}

	dag := filepath.Join(t.TempDir(), "night.yaml")
	steps := "steps:\n  - name: one\n    command: echo one\n  - name: two\n    command: cat\n    script: |\n      it's ${HERE}\n"
	if err := os.WriteFile(dag, []byte(steps), 0o644); err != nil {
		t.Fatal(err)
	}
	s.apply(s.must("import", "dagu", dag))
	if wave := s.run("run", "night", "--wait"); wave.status != exitDone {
		t.Fatalf("the wave: exit %d: %s%s", wave.status, wave.out, wave.err)
	}
}

// importedName is the name in the first document.
func importedName(text string) string {
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "name: "); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

func TestImportSaysWhatDidNotMapAndRefusesWhatItCannotRead(t *testing.T) {
	c := newTestCLI(t)
	folder := t.TempDir()
	path := filepath.Join(folder, "tab")
	if err := os.WriteFile(path, []byte("\n@reboot /bin/true\n@daily /bin/true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	done := c.run("import", "crontab", path)
	if done.status != exitDone || !strings.Contains(done.err, path+":2: @reboot is not supported") || strings.Contains(done.out, "reboot") {
		t.Errorf("exit %d, said %q, wrote %q", done.status, done.err, done.out)
	}
	c.refused(exitRefused, "nothing in it could be taken over", "import", "kubernetes", os.DevNull)
	c.refusedWith("a: [", exitRefused, "this is not YAML", "import", "argo", "-")
	c.refused(exitRefused, "there is no file", "import", "dagu", filepath.Join(folder, "absent"))
	c.refused(exitRefused, "crontab", "import", "cron", path)
}
