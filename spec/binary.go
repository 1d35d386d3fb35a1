package spec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// BinaryRef defines which bytes a job runs: either Digest alone, or Name with at
// most one of Version and Alias. A Name alone means the latest version.
type BinaryRef struct {
	Name string
	// Version counts from 1; 0 is not given.
	Version int
	Alias   string
	// Digest is a sha256 in 64 lower-case hex digits.
	Digest string
}

// String is the form that [ParseBinary] reads.
func (r BinaryRef) String() string {
	switch {
	case r.Digest != "":
		return "sha256:" + r.Digest
	case r.Version != 0:
		return r.Name + "@" + strconv.Itoa(r.Version)
	case r.Alias != "":
		return r.Name + "@" + r.Alias
	default:
		return r.Name
	}
}

// Binding is the parsed form of the job's binary.
func (j *Job) Binding() (BinaryRef, error) {
	ref, err := ParseBinary(j.Binary)
	if err != nil {
		return BinaryRef{}, fmt.Errorf("binary %w", err)
	}
	return ref, nil
}

// ParseBinary reads name, name@version, name@alias or sha256:<64 hex digits>.
// Its error is a predicate that follows the word "binary".
func ParseBinary(text string) (BinaryRef, error) {
	if digest, found := strings.CutPrefix(text, "sha256:"); found {
		if !validDigest(digest) {
			return BinaryRef{}, errors.New("has a faulty digest: write sha256: and 64 hex digits in lower case")
		}
		return BinaryRef{Digest: digest}, nil
	}
	name, selector, selected := strings.Cut(text, "@")
	if fault := nameFault(name); fault != "" {
		return BinaryRef{}, errors.New(fault)
	}
	if !selected {
		return BinaryRef{Name: name}, nil
	}
	if onlyDigits(selector) {
		version, err := strconv.Atoi(selector)
		if err != nil || version < 1 || selector[0] == '0' {
			return BinaryRef{}, fmt.Errorf("has a faulty version %s: versions count 1, 2, 3…", quote(selector))
		}
		return BinaryRef{Name: name, Version: version}, nil
	}
	if fault := nameFault(selector); fault != "" {
		return BinaryRef{}, fmt.Errorf("has a faulty alias after the '@': it %s", fault)
	}
	return BinaryRef{Name: name, Alias: selector}, nil
}

func validDigest(text string) bool {
	if len(text) != 64 {
		return false
	}
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
