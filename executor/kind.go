package executor

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/executor/cache"
)

// The kinds of program, as tasks name them.
const (
	kindELF     = "elf"
	kindScript  = "script"
	kindJAR     = "jar"
	kindMachO   = "macho"
	kindPE      = "pe"
	kindUnknown = "unknown"
)

// sniff returns a program's kind by its first bytes, for a job that names a digest instead of an uploaded binary.
func sniff(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return kindELF
	case bytes.HasPrefix(head, []byte("#!")):
		return kindScript
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return kindJAR
	}
	return kindUnknown
}

// commandLine returns the file to execute and its arguments; both begin with the same path.
func (a *attempt) commandLine(file *cache.File, environment *environment) ([]string, *failure) {
	kind := a.task.Kind
	if kind == "" {
		kind = sniff(file.Head)
	}
	line := make([]string, 0, len(a.task.Args)+4)
	switch {
	case kind == kindJAR:
		java, found := lookPath("java", environment.path())
		if !found {
			return nil, a.noInterpreter("java", environment)
		}
		line = append(line, java, "-jar", file.Path)
	case kind == kindELF || kind == kindMachO || kind == kindPE || kind == kindScript && a.task.Interpreter == "":
		line = append(line, file.Path)
	case a.task.Interpreter == "":
		return nil, &failure{noRetry: true, message: "its program is neither ELF, nor a JAR, nor does it begin with #!: name an interpreter in the job"}
	default:
		path, found := lookPath(a.task.Interpreter, environment.path())
		if !found {
			return nil, a.noInterpreter(a.task.Interpreter, environment)
		}
		line = append(line, path, file.Path)
	}
	for _, argument := range a.task.Args {
		line = append(line, environment.expand(argument))
	}
	if slices.ContainsFunc(line, func(s string) bool { return strings.Contains(s, "\x00") }) {
		return nil, &failure{noRetry: true, message: "one of its arguments holds a zero byte, which no program can be given"}
	}
	return line, nil
}

func (a *attempt) noInterpreter(name string, environment *environment) *failure {
	message := fmt.Sprintf("its interpreter %s does not exist on executor %s", name, a.e.config.ID)
	if !strings.Contains(name, "/") {
		message += " (looked for in " + environment.path() + ")"
	}
	return &failure{noRetry: true, message: message}
}

// lookPath finds an executable file as a shell would, by the program's PATH and not by the executor's.
func lookPath(name, path string) (string, bool) {
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	for _, dir := range filepath.SplitList(path) {
		if file := filepath.Join(dir, name); filepath.IsAbs(file) && executable(file) {
			return file, true
		}
	}
	return "", false
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// missingInterpreter says in words why a file that exists "does not exist".
func missingInterpreter(file *cache.File, here string) string {
	if line, isScript := bytes.CutPrefix(file.Head, []byte("#!")); isScript {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		interpreter, _, _ := strings.Cut(strings.TrimLeft(string(line), " \t"), " ")
		if name, windows := strings.CutSuffix(interpreter, "\r"); windows {
			return fmt.Sprintf("its lines end as on Windows (CR LF), so that %s looks for an interpreter whose name is %s and CR: convert it, for instance with dos2unix", here, name)
		}
		return fmt.Sprintf("its interpreter %s does not exist on %s", interpreter, here)
	}
	if program, err := elf.Open(file.Path); err == nil {
		defer program.Close()
		for _, segment := range program.Progs {
			if segment.Type != elf.PT_INTERP || segment.Filesz > 4096 {
				continue
			}
			name := make([]byte, segment.Filesz)
			if _, err := segment.ReadAt(name, 0); err == nil {
				return fmt.Sprintf("its dynamic loader %s does not exist on %s: link it statically, or build it for this system's C library", bytes.TrimRight(name, "\x00"), here)
			}
		}
	}
	return "the interpreter it needs does not exist on " + here
}

// notExecutable says in words why the system does not take a file for a program.
func notExecutable(head []byte, here string) string {
	system := runtime.GOOS + "/" + runtime.GOARCH
	switch {
	case bytes.HasPrefix(head, []byte("\x7fELF")) && len(head) >= 20:
		order := binary.ByteOrder(binary.LittleEndian)
		if head[5] == byte(elf.ELFDATA2MSB) {
			order = binary.BigEndian
		}
		machine := elf.Machine(order.Uint16(head[18:]))
		return fmt.Sprintf("it is a program for %s, and %s runs %s: build it for that (with Go: GOOS=%s GOARCH=%s)",
			strings.TrimPrefix(machine.String(), "EM_"), here, system, runtime.GOOS, runtime.GOARCH)
	case bytes.HasPrefix(head, []byte("#!")):
		return "its interpreter is no program that " + here + " (" + system + ") can execute"
	}
	return "it is no program that " + here + " (" + system + ") can execute"
}

// refusals are what programs print when they are refused memory.
var refusals = [][]byte{
	[]byte("MemoryError"), []byte("Cannot allocate memory"), []byte("cannot allocate memory"), []byte("out of memory"),
	[]byte("Out of memory"), []byte("OutOfMemoryError"), []byte("std::bad_alloc"),
}

func saysOutOfMemory(tail []byte) bool {
	return slices.ContainsFunc(refusals, func(words []byte) bool { return bytes.Contains(tail, words) })
}

// countLines counts newlines, and one for an unfinished last line.
func countLines(output []byte) int64 {
	lines := int64(bytes.Count(output, []byte{'\n'}))
	if n := len(output); n > 0 && output[n-1] != '\n' {
		lines++
	}
	return lines
}
