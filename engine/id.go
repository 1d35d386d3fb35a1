package engine

import (
	"crypto/sha256"
	"encoding/base32"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
)

// Shards is the number of partitions of jobs and DAGs. It is part of the stored data and never changes.
const Shards = 64

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// ShardOf returns the shard that owns the definition with this uid: 0 … Shards-1.
func ShardOf(uid string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid))
	return int(h.Sum32() % Shards)
}

// SlotRunID is the identity of the run of one slot. It is derived, so that two engines, or one engine twice, make
// the same run.
func SlotRunID(uid string, slot time.Time) string {
	return uid + "-s" + strconv.FormatInt(slot.UnixMilli(), 10)
}

// RunSlot is the slot in the id that SlotRunID made; zero for any other id.
func RunSlot(runID string) time.Time {
	_, rest, _ := strings.Cut(runID, "-")
	text, ok := strings.CutPrefix(rest, "s")
	millis, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		return time.Time{}
	}
	return time.UnixMilli(millis).UTC()
}

// ManualRunID is the identity of a run triggered manually, derived from the caller's idempotency key.
func ManualRunID(uid, key string) string {
	sum := sha256.Sum256([]byte(key))
	return uid + "-k" + lowerBase32.EncodeToString(sum[:15])
}

// manualHash is how many letters stand for a key in ManualRunID.
const manualHash = 24

// RunJob returns the uid of the job that a run id belongs to, or "" for something that is no run id.
func RunJob(runID string) string {
	uid, rest, ok := strings.Cut(runID, "-")
	if !ok || uid == "" || rest == "" {
		return ""
	}
	return uid
}

// SlotRangeID is the identity of a range of slots that did not fire.
func SlotRangeID(uid string, from time.Time) string {
	return uid + "-s" + strconv.FormatInt(from.UnixMilli(), 10)
}

// ValidID reports whether s can be a subject token, a KV key and a URL segment alike.
func ValidID(s string) bool {
	if s == "" || len(s) > 200 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
