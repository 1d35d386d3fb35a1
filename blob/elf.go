package blob

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// elfMachines maps e_machine to Go's names, for little-endian programs.
// Numbers: System V ABI, e_machine.
var elfMachines = map[uint16]string{
	3: "386", 20: "ppc", 21: "ppc64le", 22: "s390x", 40: "arm", 62: "amd64", 183: "arm64", 243: "riscv64", 258: "loong64",
}

// The numbers of the System V ABI that matter here.
const (
	elfRelocatable, elfExecutable, elfShared, elfCore = 1, 2, 3, 4 // e_type

	segmentLoad, segmentInterpreter = 1, 3 // p_type
	sectionNoBits                   = 8    // sh_type: takes no room in the file
)

// elfHeader is what the beginning of an ELF file says of the rest.
type elfHeader struct {
	head  []byte
	wide  bool // 64 bit
	order binary.ByteOrder

	kind, machine      uint16
	entry              uint64
	segments, sections elfTable
}

// elfTable is a table of a file: where it begins, and how long and how many its entries are.
type elfTable struct{ at, size, count uint64 }

// bytes is how long it is; both factors are of 16 bits.
func (t elfTable) bytes() uint64 { return t.size * t.count }

// readELF reads a header; the problem says, in words for the user, why it is none.
func readELF(head []byte) (h elfHeader, problem string) {
	const cut = "it is cut off inside its header; upload it again"
	if len(head) < 20 {
		return h, cut
	}
	h.head = head
	switch head[4] {
	case 1:
	case 2:
		h.wide = true
	default:
		return h, fmt.Sprintf("its header is damaged: class %d is neither 32 nor 64 bit; upload it again", head[4])
	}
	switch head[5] {
	case 1:
		h.order = binary.LittleEndian
	case 2:
		h.order = binary.BigEndian
	default:
		return h, fmt.Sprintf("its header is damaged: byte order %d is neither of the two that there are; upload it again", head[5])
	}
	h.kind, h.machine = h.order.Uint16(head[16:]), h.order.Uint16(head[18:])
	switch {
	case !h.wide && len(head) >= 52:
		h.entry = uint64(h.order.Uint32(head[24:]))
		h.segments = h.table(uint64(h.order.Uint32(head[28:])), 42)
		h.sections = h.table(uint64(h.order.Uint32(head[32:])), 46)
	case h.wide && len(head) >= 64:
		h.entry = h.order.Uint64(head[24:])
		h.segments = h.table(h.order.Uint64(head[32:]), 54)
		h.sections = h.table(h.order.Uint64(head[40:]), 58)
	default:
		return h, cut
	}
	return h, ""
}

func (h *elfHeader) table(at uint64, sizes int) elfTable {
	return elfTable{at: at, size: uint64(h.order.Uint16(h.head[sizes:])), count: uint64(h.order.Uint16(h.head[sizes+2:]))}
}

// arch is the processor in Go's words.
func (h *elfHeader) arch() string {
	known := elfMachines[h.machine]
	switch {
	case h.machine == 8: // MIPS: four ports by width and byte order
		known = "mips"
		if h.wide {
			known += "64"
		}
		if h.order == binary.LittleEndian {
			known += "le"
		}
	case h.machine == 21 && h.order == binary.BigEndian:
		known = "ppc64"
	case h.machine == 243 && !h.wide:
		known = "riscv32"
	case known == "":
		known = fmt.Sprintf("machine-%d", h.machine)
	}
	return known
}

func sniffELF(head []byte) Program {
	h, problem := readELF(head)
	program := Program{Kind: KindELF, Problem: problem}
	if h.order != nil {
		program.Arch = h.arch()
	}
	if problem != "" {
		return program
	}
	program.Interpreter = h.interpreter()
	switch {
	case h.kind == elfRelocatable:
		program.Problem = "it is an object file (.o), not a linked program"
	case h.kind == elfCore:
		program.Problem = "it is a core dump, not a program"
	case h.kind != elfExecutable && h.kind != elfShared:
		program.Problem = fmt.Sprintf("it is an ELF file of type %d, and not a program", h.kind)
	case h.kind == elfShared && h.entry == 0 && program.Interpreter == "":
		program.Problem = "it is a shared library (.so) without an entry point, not a program"
	}
	return program
}

// interpreter finds the dynamic loader in the program headers, as far as the head reaches.
func (h *elfHeader) interpreter() string {
	for entry := range h.entries(h.segments, 32, 56) {
		if h.order.Uint32(entry) != segmentInterpreter {
			continue
		}
		at, long := h.segmentExtent(entry)
		if length := uint64(len(h.head)); at > length || long > length-at {
			return ""
		}
		return strings.TrimRight(string(h.head[at:at+long]), "\x00")
	}
	return ""
}

// entries goes through a table as far as the head holds it; narrow and wide are the least sizes of an entry.
func (h *elfHeader) entries(t elfTable, narrow, wide uint64) func(yield func([]byte) bool) {
	least := narrow
	if h.wide {
		least = wide
	}
	return func(yield func([]byte) bool) {
		length := uint64(len(h.head))
		for i := range t.count {
			if t.size < least || t.at > length || (i+1)*t.size > length-t.at {
				return
			}
			if !yield(h.head[t.at+i*t.size:]) {
				return
			}
		}
	}
}

func (h *elfHeader) segmentExtent(entry []byte) (at, long uint64) {
	if h.wide {
		return h.order.Uint64(entry[8:]), h.order.Uint64(entry[32:])
	}
	return uint64(h.order.Uint32(entry[4:])), uint64(h.order.Uint32(entry[16:]))
}

func (h *elfHeader) sectionExtent(entry []byte) (at, long uint64) {
	if h.wide {
		return h.order.Uint64(entry[24:]), h.order.Uint64(entry[32:])
	}
	return uint64(h.order.Uint32(entry[16:])), uint64(h.order.Uint32(entry[20:]))
}

// cutOff says, in words for the user, why a file of size bytes is not all of the program that its head announces, ""
// if it is. Of tables that lie beyond the head only their own extent is known: linkers that put the section headers
// there put them last, so that whatever is missing takes their end with it.
func cutOff(head []byte, size int64) string {
	h, problem := readELF(head)
	if problem != "" {
		return problem
	}
	if h.segments.count == 0 || h.segments.at == 0 {
		return "its header is damaged: it names nothing to load; build it again"
	}
	missing := func(what string, at, long uint64) string {
		end := at + long
		switch {
		case end < at: // it is no 64-bit number
			return fmt.Sprintf("its header is damaged: %s lies beyond the end of any file; upload it again", what)
		case end > uint64(size):
			return fmt.Sprintf("it is cut off or damaged: %s should end at byte %d, and the file has %d; upload it again", what, end, size)
		}
		return ""
	}
	for _, table := range []struct {
		what string
		elfTable
	}{{"its table of segments", h.segments}, {"its table of sections", h.sections}} {
		if table.at == 0 {
			continue // strip may take the sections away
		}
		if fault := missing(table.what, table.at, table.bytes()); fault != "" {
			return fault
		}
	}
	for entry := range h.entries(h.segments, 32, 56) {
		if kind := h.order.Uint32(entry); kind != segmentLoad && kind != segmentInterpreter {
			continue
		}
		at, long := h.segmentExtent(entry)
		if fault := missing("a part that is to be loaded", at, long); fault != "" {
			return fault
		}
	}
	for entry := range h.entries(h.sections, 40, 64) {
		if kind := h.order.Uint32(entry[4:]); kind == 0 || kind == sectionNoBits {
			continue
		}
		at, long := h.sectionExtent(entry)
		if fault := missing("one of its sections", at, long); fault != "" {
			return fault
		}
	}
	return ""
}
