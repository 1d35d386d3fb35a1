package service

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	// SourceLines is how many lines of a script are shown and compared.
	SourceLines = 5000
	// SourceBytes is how many bytes of a script are read for that.
	SourceBytes = 512 << 10
)

// Source is the text of a version of a binary.
type Source struct {
	Binary  engine.Binary
	Version engine.BinaryVersion
	// Lines are its first lines, at most SourceLines, without their ends; none where Missing says why.
	Lines []LogLine
	// More is how many lines follow, as far as was read.
	More int64
	// Cut reports whether the text is longer than SourceBytes, so that More does not count all.
	Cut bool
	// Missing says in words why there is no text to show; "" where there is.
	Missing string
}

// BinarySource reads a version of a binary as text. A program that is no text has none, which Missing says.
func (s *Service) BinarySource(ctx context.Context, namespace, name string, n int) (Source, error) {
	binary, err := s.Binary(ctx, namespace, name)
	if err != nil {
		return Source{}, err
	}
	return s.sourceOf(ctx, binary, n)
}

func (s *Service) sourceOf(ctx context.Context, binary engine.Binary, n int) (Source, error) {
	version, err := versionOf(&binary, n)
	source := Source{Binary: binary, Version: version}
	if err != nil {
		return source, err
	}
	if version.Kind != kindScript && version.Kind != KindUnknown {
		source.Missing = "Version " + fmt.Sprint(n) + " is a compiled program, so there is no source to show."
		return source, nil
	}
	content, size, err := s.blobs.GetBinary(ctx, version.SHA256)
	if err != nil {
		return source, fmt.Errorf("open binary %s version %d: %w", binary.Name, n, err)
	}
	defer content.Close()
	text, err := io.ReadAll(io.LimitReader(content, SourceBytes))
	if err != nil {
		return source, fmt.Errorf("read binary %s version %d: %w", binary.Name, n, err)
	}
	source.Cut = size > int64(len(text))
	if !isText(text, source.Cut) {
		source.Missing = "Version " + fmt.Sprint(n) + " is not text, so there is no source to show."
		return source, nil
	}
	source.Lines, source.More = sourceLines(text)
	return source, nil
}

// kindScript is the kind of a program that begins with #!.
const kindScript = "script"

// isText reports whether bytes are UTF-8 text. The last character of a text that was cut may be incomplete.
func isText(text []byte, cut bool) bool {
	if cut {
		for back := 0; back < utf8.UTFMax && len(text) > 0 && !utf8.Valid(text); back++ {
			text = text[:len(text)-1]
		}
	}
	return utf8.Valid(text) && bytes.IndexByte(text, 0) < 0
}

// sourceLines cuts a text into lines, and counts those that are too many.
func sourceLines(text []byte) (lines []LogLine, more int64) {
	for offset := 0; offset < len(text); {
		line, _, _ := bytes.Cut(text[offset:], []byte{'\n'})
		if len(lines) == SourceLines {
			more++
		} else {
			lines = append(lines, LogLine{Number: int64(len(lines)), Offset: int64(offset), Text: bytes.TrimSuffix(line, []byte{'\r'})})
		}
		offset += len(line) + 1
	}
	return lines, more
}

func versionOf(binary *engine.Binary, n int) (engine.BinaryVersion, error) {
	version, found := binary.Version(n)
	if !found {
		latest, _ := binary.Latest()
		return version, &Error{
			Kind: KindNotFound, Code: "version_not_found",
			Detail: fmt.Sprintf("binary %q has no version %d: the latest is %d", binary.Name, n, latest.N), Err: engine.ErrNotFound,
		}
	}
	return version, nil
}

// BinaryDiff is the difference of two versions of a binary.
type BinaryDiff struct {
	Binary engine.Binary
	A, B   engine.BinaryVersion
	Fields []FieldDiff // all that is compared, in a fixed order
	Source LineDiff
}

// CompareVersions compares two versions of a binary: scripts line by line, all others by their facts.
func (s *Service) CompareVersions(ctx context.Context, namespace, name string, a, b int) (BinaryDiff, error) {
	binary, err := s.Binary(ctx, namespace, name)
	if err != nil {
		return BinaryDiff{}, err
	}
	diff := BinaryDiff{Binary: binary}
	var sources [2]Source
	for i, n := range []int{a, b} {
		if sources[i], err = s.sourceOf(ctx, binary, n); err != nil {
			return BinaryDiff{}, err
		}
	}
	diff.A, diff.B = sources[0].Version, sources[1].Version
	uses, err := s.VersionUses(ctx, &binary, a, b)
	if err != nil {
		return BinaryDiff{}, err
	}
	diff.Fields = compareVersions(&binary, &diff.A, &diff.B, uses)
	diff.Source = compareSources(&sources[0], &sources[1])
	return diff, nil
}

func compareVersions(binary *engine.Binary, a, b *engine.BinaryVersion, uses map[int]VersionUse) []FieldDiff {
	var f fieldDiffs
	f.add("digest", a.SHA256, b.SHA256)
	f.add("size", bytesInWords(a.Size), sizeBeside(b.Size, a.Size))
	f.add("kind", a.Kind, b.Kind)
	f.add("processor", a.Arch, b.Arch)
	f.add("uploaded", instant(a.At), instant(b.At))
	f.add("uploaded by", a.UploadedBy, b.UploadedBy)
	list := func(name string, a, b []string) { f.add(name, strings.Join(a, ", "), strings.Join(b, ", ")) }
	list("aliases", AliasesAt(binary, a.N), AliasesAt(binary, b.N))
	list("run by", uses[a.N].RunBy, uses[b.N].RunBy)
	list("recent runs", uses[a.N].Recent, uses[b.N].Recent)
	return f
}

// sizeBeside is a size, and how much that is more or less than another.
func sizeBeside(size, other int64) string {
	words := bytesInWords(size)
	switch {
	case size > other:
		words += ", " + bytesInWords(size-other) + " more"
	case size < other:
		words += ", " + bytesInWords(other-size) + " less"
	}
	return words
}

func compareSources(a, b *Source) LineDiff {
	switch {
	case a.Version.SHA256 == b.Version.SHA256:
		return LineDiff{Missing: "Both versions hold the same bytes."}
	case a.Missing != "":
		return LineDiff{Missing: a.Missing}
	case b.Missing != "":
		return LineDiff{Missing: b.Missing}
	}
	diff := LineDiff{SkippedA: a.More, SkippedB: b.More}
	diff.Rows, diff.Removed, diff.Added = compareLines(a.Lines, b.Lines, true)
	return diff
}
