package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Bounds of passwords, in bytes.
const (
	LeastPassword = 10
	MostPassword  = 1024
)

// The parameters of argon2id for new passwords: the first choice of OWASP.
const (
	hashMemory = 19 << 10 // KiB
	hashTime   = 2
	hashLanes  = 1
	hashLength = 32
	saltLength = 16
)

// mostHashing is how many passwords are hashed at once: each takes hashMemory.
const mostHashing = 2

// hashFormat is a hash in the PHC string format: parameters, salt, hash.
const hashFormat = "$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s"

// noPassword is checked for unknown users, so that response times do not reveal which users exist. No password has this hash.
var noPassword = phc(make([]byte, saltLength), make([]byte, hashLength))

func phc(salt, sum []byte) string {
	return fmt.Sprintf(hashFormat, argon2.Version, hashMemory, hashTime, hashLanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(sum))
}

// acquireHashSlot waits until fewer than mostHashing passwords are hashed; the caller must call release.
func (d *Directory) acquireHashSlot(ctx context.Context) (release func(), err error) {
	select {
	case d.hashing <- struct{}{}:
		return func() { <-d.hashing }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// hash makes the hash of a new password; *InvalidError.
func (d *Directory) hash(ctx context.Context, password string) (string, error) {
	switch {
	case len(password) < LeastPassword:
		return "", &InvalidError{"password", fmt.Sprintf("a password has at least %d bytes: take some words", LeastPassword)}
	case len(password) > MostPassword:
		return "", &InvalidError{"password", fmt.Sprintf("a password has at most %d bytes", MostPassword)}
	}
	release, err := d.acquireHashSlot(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt) // it never fails
	return phc(salt, argon2.IDKey([]byte(password), salt, hashTime, hashMemory, hashLanes, hashLength)), nil
}

// matches reports whether a password has a hash. The caller must hold a hash slot.
func matches(hash, password string) bool {
	var (
		version      int
		memory, time uint32
		lanes        uint8
		rest         string
	)
	if _, err := fmt.Sscanf(hash, "$argon2id$v=%d$m=%d,t=%d,p=%d$%s", &version, &memory, &time, &lanes, &rest); err != nil || version != argon2.Version {
		return false
	}
	first, second, _ := strings.Cut(rest, "$")
	salt, err := base64.RawStdEncoding.DecodeString(first)
	if err != nil {
		return false
	}
	sum, err := base64.RawStdEncoding.DecodeString(second)
	if err != nil || len(sum) < saltLength || time == 0 || lanes == 0 {
		return false
	}
	own := argon2.IDKey([]byte(password), salt, time, memory, lanes, uint32(len(sum)))
	return subtle.ConstantTimeCompare(own, sum) == 1
}
