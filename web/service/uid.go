package service

import (
	"crypto/rand"
	"strings"
)

// NewUID draws the identity of a definition: 16 characters of a-z2-7, 80 random bits. It holds no '-', so that a run id
// can be split at its first one.
func NewUID() string { return strings.ToLower(rand.Text()[:16]) }
