package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDefinitionsAreGivenBackAsTheyWereWritten(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("tool", "true")
	const job = "# why it runs at night\nname: a\nkind: Job\nbinary: tool # ours\n"
	const dag = "# of the harbour\nname: b\nkind: DAG\ntasks:\n  first: {binary: tool}\n\n  # then\n  second: {needs: [first], binary: tool}\n"
	s.mustWith(job+"---\n"+dag, "apply", "-f", "-")
	for _, call := range []struct {
		want string
		args []string
	}{
		{job, []string{"get", "job", "a", "-o", "yaml"}},
		{dag, []string{"get", "dag", "b", "-o", "yaml"}},
		{job + "---\n" + dag, []string{"export"}},
	} {
		if out := s.must(call.args...); out != call.want {
			t.Errorf("tidewheel %s: %q, want %q", call.args, out, call.want)
		}
	}
	folder := t.TempDir()
	s.must("export", "-f", folder)
	for name, want := range map[string]string{"a.yaml": job, "b.yaml": dag} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}
