package blob

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// Kind is how a program is started, judged by its first bytes.
type Kind string

// The kinds of program. The zero value is not one of them.
const (
	KindELF     Kind = "elf"     // Linux and most Unix systems
	KindScript  Kind = "script"  // begins with #!
	KindJAR     Kind = "jar"     // a zip archive, run by java -jar
	KindMachO   Kind = "macho"   // macOS
	KindPE      Kind = "pe"      // Windows
	KindUnknown Kind = "unknown" // text or data: needs a stated interpreter
)

// HeadSize is how many of a program's first bytes Sniff wants to see.
const HeadSize = 4096

// Program is what the first bytes of a file reveal about it.
type Program struct {
	Kind Kind
	// Arch is the processor in Go's words (amd64, arm64, …), "any" for a
	// universal macOS program, empty where the kind has none or it is not known.
	Arch string
	// Interpreter is the line after #! of a script, or the dynamic loader of an
	// ELF program; empty for a static one.
	Interpreter string
	// Problem is set, in words for the user, when the program will not start
	// anywhere although its kind is known.
	Problem string
}

// Sniff judges a program by its first bytes, best HeadSize of them. It never
// fails: what it does not know is KindUnknown.
func Sniff(head []byte) Program {
	switch {
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return sniffELF(head)
	case bytes.HasPrefix(head, []byte("#!")):
		return sniffScript(head)
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf#!")):
		return Program{Kind: KindUnknown, Problem: "it begins with a byte order mark before #!, so the system does not see its interpreter; save it as UTF-8 without BOM"}
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return Program{Kind: KindJAR}
	case bytes.HasPrefix(head, []byte("MZ")):
		return sniffPE(head)
	}
	return sniffMachO(head)
}

func sniffScript(head []byte) Program {
	line, _, _ := bytes.Cut(head[2:], []byte("\n"))
	trimmed, windows := bytes.CutSuffix(line, []byte("\r"))
	program := Program{Kind: KindScript, Interpreter: strings.TrimSpace(string(trimmed))}
	switch {
	case program.Interpreter == "":
		program.Problem = "its first line names no interpreter after #!"
	case windows:
		program.Problem = "its lines end as on Windows (CR LF), so the system would look for an interpreter whose name ends in CR; convert it, for instance with dos2unix"
	}
	return program
}

// Numbers: Microsoft PE format, machine types.
var peMachines = map[uint16]string{0x14c: "386", 0x8664: "amd64", 0xaa64: "arm64", 0x1c4: "arm"}

func sniffPE(head []byte) Program {
	if len(head) < 64 {
		return Program{Kind: KindUnknown} // two letters do not make a program
	}
	at := int64(binary.LittleEndian.Uint32(head[60:]))
	if at+6 > int64(len(head)) {
		return Program{Kind: KindUnknown} // linkers put it into the first few hundred bytes
	}
	if !bytes.HasPrefix(head[at:], []byte("PE\x00\x00")) {
		return Program{Kind: KindUnknown}
	}
	return Program{Kind: KindPE, Arch: peMachines[binary.LittleEndian.Uint16(head[at+4:])]}
}

// Numbers: Mach-O cputype.
var machOMachines = map[uint32]string{7: "386", 0x01000007: "amd64", 12: "arm", 0x0100000c: "arm64", 18: "ppc", 0x01000012: "ppc64"}

func sniffMachO(head []byte) Program {
	if len(head) < 8 {
		return Program{Kind: KindUnknown}
	}
	switch magic := binary.BigEndian.Uint32(head); magic {
	case 0xfeedface, 0xfeedfacf:
		return Program{Kind: KindMachO, Arch: machOMachines[binary.BigEndian.Uint32(head[4:])]}
	case 0xcefaedfe, 0xcffaedfe:
		return Program{Kind: KindMachO, Arch: machOMachines[binary.LittleEndian.Uint32(head[4:])]}
	case 0xcafebabe, 0xcafebabf:
		// A Java class begins the same; its version, 45 and up, stands where a
		// universal program counts its processors.
		if binary.BigEndian.Uint32(head[4:]) < 45 {
			return Program{Kind: KindMachO, Arch: "any"}
		}
		return Program{Kind: KindUnknown, Problem: "it is a single Java class; pack it into a JAR"}
	}
	return Program{Kind: KindUnknown}
}

// Foreign reports whether a program of this kind and processor cannot run on a
// machine, and says so in words for the user. Scripts, JARs and unknown kinds
// run where their interpreter does.
func Foreign(kind Kind, arch, goos, goarch string) (reason string, foreign bool) {
	system := map[Kind]string{KindELF: "Linux", KindMachO: "macOS", KindPE: "Windows"}[kind]
	if system == "" {
		return "", false
	}
	native := map[string]Kind{"darwin": KindMachO, "ios": KindMachO, "windows": KindPE}[goos]
	if native == "" {
		native = KindELF
	}
	target := fmt.Sprintf("%s/%s", goos, goarch)
	build := fmt.Sprintf("build it for %s (with Go: GOOS=%s GOARCH=%s)", target, goos, goarch)
	if kind != native {
		return fmt.Sprintf("this is a %s program, and it would have to run on %s; %s", system, target, build), true
	}
	// 64-bit PCs run 32-bit programs too.
	if arch == "" || arch == "any" || arch == goarch || arch == "386" && goarch == "amd64" {
		return "", false
	}
	return fmt.Sprintf("this is a %s program for %s, and it would have to run on %s; %s", system, arch, target, build), true
}
