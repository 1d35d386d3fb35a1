package blob

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"
)

func elfHead(wide, big bool, machine uint16) []byte {
	head := make([]byte, 64)
	copy(head, "\x7fELF")
	head[4], head[5] = 1, 1
	order := binary.ByteOrder(binary.LittleEndian)
	if wide {
		head[4] = 2
	}
	if big {
		head[5], order = 2, binary.BigEndian
	}
	order.PutUint16(head[16:], uint16(elf.ET_EXEC))
	order.PutUint16(head[18:], machine)
	return head
}

func peHead(machine uint16) []byte {
	head := make([]byte, 256)
	copy(head, "MZ")
	head[60] = 128
	copy(head[128:], "PE\x00\x00")
	binary.LittleEndian.PutUint16(head[132:], machine)
	return head
}

func TestSniff(t *testing.T) {
	tests := []struct {
		name string
		head []byte
		want Program
	}{
		{"empty", nil, Program{Kind: KindUnknown}},
		{"text", []byte("print('hello')\n"), Program{Kind: KindUnknown}},
		{"amd64", elfHead(true, false, uint16(elf.EM_X86_64)), Program{Kind: KindELF, Arch: "amd64"}},
		{"arm64", elfHead(true, false, uint16(elf.EM_AARCH64)), Program{Kind: KindELF, Arch: "arm64"}},
		{"386", elfHead(false, false, uint16(elf.EM_386)), Program{Kind: KindELF, Arch: "386"}},
		{"s390x", elfHead(true, true, uint16(elf.EM_S390)), Program{Kind: KindELF, Arch: "s390x"}},
		{"ppc64", elfHead(true, true, uint16(elf.EM_PPC64)), Program{Kind: KindELF, Arch: "ppc64"}},
		{"ppc64le", elfHead(true, false, uint16(elf.EM_PPC64)), Program{Kind: KindELF, Arch: "ppc64le"}},
		{"mips64le", elfHead(true, false, uint16(elf.EM_MIPS)), Program{Kind: KindELF, Arch: "mips64le"}},
		{"unheard-of", elfHead(true, false, 9999), Program{Kind: KindELF, Arch: "machine-9999"}},
		{"script", []byte("#!/usr/bin/env -S python3 -u\nimport os\n"), Program{Kind: KindScript, Interpreter: "/usr/bin/env -S python3 -u"}},
		{"script without end", []byte("#! /bin/sh"), Program{Kind: KindScript, Interpreter: "/bin/sh"}},
		{"zip", []byte("PK\x03\x04\x14\x00"), Program{Kind: KindJAR}},
		{"Windows", peHead(0x8664), Program{Kind: KindPE, Arch: "amd64"}},
		{"text that begins with MZ", []byte("MZ is how it begins, and then it goes on as any text would go on.\n"), Program{Kind: KindUnknown}},
		{"macOS", []byte("\xcf\xfa\xed\xfe\x0c\x00\x00\x01"), Program{Kind: KindMachO, Arch: "arm64"}},
		{"universal macOS", []byte("\xca\xfe\xba\xbe\x00\x00\x00\x02"), Program{Kind: KindMachO, Arch: "any"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Sniff(test.head); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestSniffNamesProblems(t *testing.T) {
	object := elfHead(true, false, uint16(elf.EM_X86_64))
	object[16] = byte(elf.ET_REL)
	for name, test := range map[string]struct {
		head []byte
		want string
	}{
		"Windows lines":  {[]byte("#!/bin/sh\r\necho\r\n"), "dos2unix"},
		"no interpreter": {[]byte("#!\necho\n"), "no interpreter"},
		"byte order":     {[]byte("\xef\xbb\xbf#!/bin/sh\n"), "byte order mark"},
		"object file":    {object, "object file"},
		"cut off":        {[]byte("\x7fELF\x02\x01"), "cut off"},
		"Java class":     {[]byte("\xca\xfe\xba\xbe\x00\x00\x00\x41"), "JAR"},
	} {
		if got := Sniff(test.head).Problem; !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want it to speak of %q", name, got, test.want)
		}
	}
}

func TestSniffOfRealPrograms(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads programs of Linux")
	}
	for _, path := range []string{"/proc/self/exe", "/bin/sh"} {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		head := make([]byte, HeadSize)
		n, err := file.Read(head)
		if err != nil {
			t.Fatal(err)
		}
		got := Sniff(head[:n])
		if got.Kind != KindELF || got.Arch != runtime.GOARCH || got.Problem != "" {
			t.Errorf("%s: got %+v", path, got)
		}
		// The standard library reads the whole file; the head must tell the same.
		parsed, err := elf.NewFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		for _, program := range parsed.Progs {
			if program.Type == elf.PT_INTERP {
				data := make([]byte, program.Filesz)
				if _, err := program.ReadAt(data, 0); err != nil {
					t.Fatal(err)
				}
				want = strings.TrimRight(string(data), "\x00")
			}
		}
		if got.Interpreter != want {
			t.Errorf("%s: interpreter %q, want %q", path, got.Interpreter, want)
		}
	}
}

func TestForeign(t *testing.T) {
	tests := []struct {
		kind               Kind
		arch, goos, goarch string
		says               string // empty: it runs
	}{
		{KindELF, "amd64", "linux", "amd64", ""},
		{KindELF, "386", "linux", "amd64", ""},
		{KindELF, "arm64", "linux", "amd64", "Linux program for arm64"},
		{KindELF, "amd64", "linux", "386", "GOARCH=386"},
		{KindELF, "amd64", "darwin", "amd64", "Linux program"},
		{KindMachO, "arm64", "linux", "arm64", "macOS program"},
		{KindMachO, "any", "darwin", "arm64", ""},
		{KindPE, "amd64", "linux", "amd64", "Windows program"},
		{KindScript, "", "linux", "amd64", ""},
		{KindJAR, "", "darwin", "arm64", ""},
		{KindUnknown, "", "linux", "amd64", ""},
	}
	for _, test := range tests {
		reason, foreign := Foreign(test.kind, test.arch, test.goos, test.goarch)
		if foreign != (test.says != "") || !strings.Contains(reason, test.says) {
			t.Errorf("%s %s on %s/%s: got %q, %v", test.kind, test.arch, test.goos, test.goarch, reason, foreign)
		}
	}
}

func FuzzSniff(f *testing.F) {
	f.Add(elfHead(true, false, 62), int64(64))
	f.Add(elfHead(false, true, 8), int64(64))
	f.Add(linked(elf.ET_EXEC, 64, 120), int64(120))
	f.Add(peHead(0x14c), int64(512))
	f.Add([]byte("#!/bin/sh\n"), int64(10))
	f.Fuzz(func(t *testing.T, head []byte, size int64) {
		if got := Sniff(head); got.Kind == "" {
			t.Errorf("no kind for %q", head)
		}
		cutOff(head, max(size, 0)) // it does not panic
	})
}

// linked is a head that names one segment to load, at byte 0 and so long.
func linked(kind elf.Type, entry, segment uint64) []byte {
	head := append(elfHead(true, false, uint16(elf.EM_X86_64)), make([]byte, 56)...)
	order := binary.LittleEndian
	order.PutUint16(head[16:], uint16(kind))
	order.PutUint64(head[24:], entry)
	order.PutUint64(head[32:], 64) // the table of segments
	order.PutUint16(head[54:], 56)
	order.PutUint16(head[56:], 1)
	order.PutUint32(head[64:], uint32(elf.PT_LOAD))
	order.PutUint64(head[64+32:], segment)
	return head
}

func TestSniffRefusesELFThatIsNoProgram(t *testing.T) {
	damaged := func(at int, value byte) []byte {
		head := linked(elf.ET_EXEC, 1, 120)
		head[at] = value
		return head
	}
	for name, test := range map[string]struct {
		head []byte
		want string
	}{
		"class":           {damaged(4, 3), "class 3"},
		"byte order":      {damaged(5, 9), "byte order 9"},
		"short header":    {linked(elf.ET_EXEC, 1, 120)[:60], "cut off inside its header"},
		"core dump":       {linked(elf.ET_CORE, 1, 120), "core dump"},
		"unknown type":    {damaged(16, 9), "type 9"},
		"shared library":  {linked(elf.ET_DYN, 0, 120), "shared library"},
		"static PIE":      {linked(elf.ET_DYN, 64, 120), ""},
		"static program":  {linked(elf.ET_EXEC, 64, 120), ""},
		"entry at zero":   {linked(elf.ET_EXEC, 0, 120), ""}, // unusual, and the kernel starts it
		"big and foreign": {elfHead(true, true, uint16(elf.EM_S390)), ""},
	} {
		got := Sniff(test.head).Problem
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want it to speak of %q", name, got, test.want)
		}
	}
}

func TestUploadOfPartOfAProgramIsNoticed(t *testing.T) {
	sections := func(at uint64, count uint16) []byte {
		head := linked(elf.ET_EXEC, 64, 120)
		binary.LittleEndian.PutUint64(head[40:], at)
		binary.LittleEndian.PutUint16(head[58:], 64)
		binary.LittleEndian.PutUint16(head[60:], count)
		return head
	}
	for name, test := range map[string]struct {
		head []byte
		size int64
		want string
	}{
		"whole":                    {linked(elf.ET_EXEC, 64, 5000), 5000, ""},
		"a segment is missing":     {linked(elf.ET_EXEC, 64, 5000), 4999, "should end at byte 5000, and the file has 4999"},
		"a segment beyond any end": {linked(elf.ET_EXEC, 64, 1<<64-1), 5000, "should end at byte"},
		"no segments":              {elfHead(true, false, uint16(elf.EM_X86_64)), 64, "nothing to load"},
		"whole with sections":      {sections(5000, 3), 5192, ""},
		"sections are missing":     {sections(5000, 3), 5191, "table of sections"},
		"sections beyond any end":  {sections(1<<64-8, 3), 5191, "beyond the end of any file"},
		"sections were stripped":   {sections(0, 0), 120, ""},
	} {
		got := cutOff(test.head, test.size)
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want it to speak of %q", name, got, test.want)
		}
	}
}

func TestRealProgramsAreWholeAndTheirPartsAreNot(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads programs of Linux")
	}
	for _, path := range []string{"/proc/self/exe", "/bin/sh"} { // linked by Go, and a PIE by GNU ld or its like
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		size := int64(len(content))
		head := content[:min(size, HeadSize)]
		if got := cutOff(head, size); got != "" {
			t.Errorf("%s: got %q", path, got)
		}
		for _, part := range []int64{100, HeadSize, size / 2, size - 1} {
			if got := cutOff(head[:min(part, int64(len(head)))], part); got == "" {
				t.Errorf("the first %d of %d bytes of %s are taken for all of it", part, size, path)
			}
		}
	}
}
