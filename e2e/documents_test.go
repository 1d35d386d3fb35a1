package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// Each console block of the README and of the documents is run to the letter, with the shell, in a folder and against a server of the
// document's own. A command begins with "$ "; a text block after it is what it prints, where "…" stands for anything.
func TestDocumentsCanBeFollowed(t *testing.T) {
	t.Parallel()
	root, err := Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	followed := 0
	typed := regexp.MustCompile(`(?m)^ *tidewheel [a-z]`)
	for _, name := range append(names, filepath.Join(root, "README.md")) {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		steps := stepsOf(string(source))
		for _, block := range block.FindAllStringSubmatch(string(source), -1) { // the reference of commands is made from the code
			if base := filepath.Base(name); base != "cli.md" && base != "README.md" && block[1] != "console" && typed.MatchString(block[2]) {
				t.Errorf("%s has commands in a block that is not followed: make it one of console\n%s", base, block[2])
			}
		}
		if len(steps) == 0 {
			continue
		}
		followed++
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			follow(t, steps)
		})
	}
	if followed < 5 {
		t.Errorf("only %d documents have commands to follow", followed)
	}
}

// step is one console block: what is typed, and the lines that it must print.
type step struct {
	commands []string
	prints   []string
}

var (
	block   = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	fenced  = regexp.MustCompile("(?ms)^```(console|text)\n(.*?)^```$")
	command = regexp.MustCompile(`(?m)^\$ `)
)

func stepsOf(source string) []step {
	var steps []step
	for _, block := range fenced.FindAllStringSubmatch(source, -1) {
		if block[1] == "console" {
			steps = append(steps, step{commands: command.Split(block[2], -1)[1:]})
		} else if len(steps) > 0 {
			last := &steps[len(steps)-1]
			last.prints = append(last.prints, strings.Split(strings.TrimSuffix(block[2], "\n"), "\n")...)
		}
	}
	kept := steps[:0]
	for _, s := range steps {
		if len(s.commands) > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

func follow(t *testing.T, steps []step) {
	server := NewServer(t, binary)
	server.Start()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(folder, "bin", "tidewheel")); err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		var printed strings.Builder
		for _, text := range step.commands {
			command := exec.CommandContext(t.Context(), "bash", "-eu", "-c", text)
			command.Dir = folder
			command.Env = append(os.Environ(), "XDG_STATE_HOME="+server.state, "TIDEWHEEL_URL="+server.URL(),
				"PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"))
			if strings.HasPrefix(text, "tidewheel server ") {
				startAndStop(t, command)
				continue
			}
			out, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("$ %s: %v\n%s", text, err, out)
			}
			printed.Write(out)
		}
		for _, line := range step.prints {
			if !pattern(line).MatchString(printed.String()) {
				t.Errorf("$ %s\nprints:\n%swant a line %q", strings.Join(step.commands, "$ "), &printed, line)
			}
		}
	}
}

// startAndStop runs a server until it says that it is ready, and ends it in good order.
func startAndStop(t *testing.T, command *exec.Cmd) {
	output, logged := &readyWriter{ready: make(chan struct{})}, &lineBuffer{}
	command.Args[len(command.Args)-1] = "exec " + command.Args[len(command.Args)-1] // no shell stands between
	command.Env = append(command.Env, "TIDEWHEEL_HTTP=127.0.0.1:0")
	command.Stdout, command.Stderr = output, logged
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case <-output.ready:
		if err := command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	case err := <-ended:
		ended <- err
	}
	if err := <-ended; err != nil {
		t.Errorf("$ %s: %v\n%s", command.Args[len(command.Args)-1], err, logged)
	}
}

// pattern finds a line of a text block, whose columns may be wider or narrower.
func pattern(line string) *regexp.Regexp {
	var out strings.Builder
	for i, part := range strings.Split(strings.TrimSpace(line), "…") {
		if i > 0 {
			out.WriteString(".*")
		}
		words := strings.Fields(part)
		for i := range words {
			words[i] = regexp.QuoteMeta(words[i])
		}
		text := strings.Join(words, `\s+`)
		if strings.HasPrefix(part, " ") && i > 0 {
			text = `\s+` + text
		}
		if strings.HasSuffix(part, " ") {
			text += `\s+`
		}
		out.WriteString(text)
	}
	return regexp.MustCompile(`(?m)^\s*` + out.String() + `\s*$`)
}
