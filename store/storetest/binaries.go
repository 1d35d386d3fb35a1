package storetest

import (
	"errors"

	"github.com/tidewheel/tidewheel/engine"
)

func (h *harness) createBinary(binary engine.Binary) engine.Binary {
	h.Helper()
	h.must("create binary "+binary.Name, h.store.CreateBinary(h.ctx, binary))
	return binary
}

func (h *harness) binary(name string) engine.Binary {
	h.Helper()
	binary, err := h.store.Binary(h.ctx, namespace, name)
	h.must("read binary "+name, err)
	return binary
}

// pushed returns the next revision of a binary with one more version.
func pushed(binary engine.Binary) engine.Binary {
	binary.Revision++
	version, _ := binary.Latest()
	version.N++
	binary.Versions = append(append([]engine.BinaryVersion(nil), binary.Versions...), version)
	return binary
}

var binaryPromises = []promise{
	{"a binary comes back as it was written", func(h *harness) {
		report, bare := h.createBinary(aBinary("report")), h.createBinary(engine.Binary{Namespace: namespace, Name: "bare", Revision: 1, UpdatedAt: noon})
		same(h.T, "report", h.binary("report"), report)
		same(h.T, "bare", h.binary("bare"), bare)
		got := h.binary("report")
		got.Versions[0].Kind, got.Aliases["stable"] = "changed", 99
		report.Aliases["new"] = 1
		same(h.T, "after its holders changed it", h.binary("report"), aBinary("report"))
	}},
	{"a binary's name is given once", func(h *harness) {
		report := h.createBinary(aBinary("report"))
		if err := h.store.CreateBinary(h.ctx, pushed(report)); !errors.Is(err, engine.ErrExists) {
			h.Fatalf("got %v", err)
		}
		same(h.T, "binary", h.binary("report"), report)
		elsewhere := aBinary("report")
		elsewhere.Namespace = "other"
		h.createBinary(elsewhere)
	}},
	{"stale write of a binary is refused", func(h *harness) {
		first := h.createBinary(aBinary("report"))
		second := pushed(first)
		h.must("replace", h.store.ReplaceBinary(h.ctx, second))
		theirs := pushed(first)
		theirs.Aliases = map[string]int{"theirs": 2}
		if err := h.store.ReplaceBinary(h.ctx, theirs); !errors.Is(err, engine.ErrConflict) {
			h.Fatalf("got %v", err)
		}
		same(h.T, "binary", h.binary("report"), second)
		if err := h.store.ReplaceBinary(h.ctx, pushed(aBinary("none"))); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("got %v", err)
		}
	}},
	{"a binary is deleted only as it was read", func(h *harness) {
		second := pushed(h.createBinary(aBinary("report")))
		h.must("replace", h.store.ReplaceBinary(h.ctx, second))
		if err := h.store.DeleteBinary(h.ctx, namespace, "report", 1); !errors.Is(err, engine.ErrConflict) {
			h.Fatalf("got %v", err)
		}
		h.must("delete", h.store.DeleteBinary(h.ctx, namespace, "report", 2))
		if err := h.store.DeleteBinary(h.ctx, namespace, "report", 2); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("got %v", err)
		}
		if _, err := h.store.Binary(h.ctx, namespace, "report"); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("got %v", err)
		}
		h.createBinary(aBinary("report"))
	}},
	{"binaries are read by key and listed by name", func(h *harness) {
		for _, name := range []string{"gamma", "Alpha", "beta", "delta"} {
			h.createBinary(aBinary(name))
		}
		elsewhere := aBinary("elsewhere")
		elsewhere.Namespace = "other"
		h.createBinary(elsewhere)
		var got []string
		for cursor := ""; ; {
			page, next, err := h.store.Binaries(h.ctx, namespace, cursor, 3)
			h.must("list", err)
			for _, binary := range page {
				got = append(got, binary.Name)
			}
			if next == "" {
				break
			}
			cursor = next
		}
		same(h.T, "names", got, []string{"Alpha", "beta", "delta", "gamma"})
		byKey, err := h.store.BinariesByKey(h.ctx, []string{"other/elsewhere", "default/none", "default/beta", "beta"})
		h.must("read", err)
		same(h.T, "by key", sorted(byKey, func(b engine.Binary) string { return b.Name }), []engine.Binary{aBinary("beta"), elsewhere})
		byKey, err = h.store.BinariesByKey(h.ctx, nil)
		h.must("read none", err)
		same(h.T, "none", len(byKey), 0)
	}},
}
