package blob

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
)

// LogChunkSize is the size of every chunk of a log but the last, in bytes. It
// is part of the stored format: the chunk of a byte is its offset divided by it.
const LogChunkSize = 4 << 20

const (
	logsFolder     = "logs/"
	logIndexName   = "index.json"
	logIndexFormat = 1
)

// logIndex locates the lines of a log. A line ends after each \n; bytes
// after the last \n are one more line.
type logIndex struct {
	Format int `json:"format"`
	// Size in bytes of what the chunks listed here hold.
	Size int64 `json:"size"`
	// Newlines of each chunk. Their sums are the first lines of the chunks, so
	// that the index of a long log stays small.
	Newlines []int64 `json:"newlines"`
	// Open means that the last byte is not a \n, so one more line has begun.
	Open bool `json:"open"`
	// Complete means that nothing will be added.
	Complete bool `json:"complete"`
	// Marks are the writer's own, of what may still grow.
	Marks []byte `json:"marks,omitempty"`

	// before[i] is the number of newlines before chunk i; one more entry at the
	// end holds their total. Derived.
	before []int64
}

func (ix *logIndex) derive() {
	ix.before = make([]int64, len(ix.Newlines)+1)
	for i, count := range ix.Newlines {
		ix.before[i+1] = ix.before[i] + count
	}
}

func (ix *logIndex) lines() int64 {
	total := ix.before[len(ix.Newlines)]
	if ix.Open {
		total++
	}
	return total
}

// chunkOfNewline finds the chunk that holds the newline of a number, counted
// from 1 over the whole log. It returns the number of chunks when none does.
func (ix *logIndex) chunkOfNewline(number int64) int64 {
	return int64(sort.Search(len(ix.Newlines), func(i int) bool { return ix.before[i+1] >= number }))
}

// chunkLength is the length of a chunk in bytes as far as the index knows it.
func (ix *logIndex) chunkLength(chunk int64) int64 {
	return max(0, min(LogChunkSize, ix.Size-chunk*LogChunkSize))
}

// checkRun keeps anything but an id out of a key.
func checkRun(run string) error {
	valid := run != "" && len(run) <= 512
	for _, r := range run {
		valid = valid && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}
	if !valid {
		return fmt.Errorf("blob: %q is not a run id: it may hold only letters, digits, - and _", run)
	}
	return nil
}

func (s *Store) logFolder(run string, attempt int) (string, error) {
	if err := checkRun(run); err != nil {
		return "", err
	}
	if attempt < 1 {
		return "", fmt.Errorf("blob: attempt %d of run %s: attempts are numbered from 1", attempt, run)
	}
	return fmt.Sprintf("%s%s%s/%d/", s.prefix, logsFolder, run, attempt), nil
}

func chunkKey(folder string, chunk int64) string { return fmt.Sprintf("%s%08d", folder, chunk) }

func (s *Store) loadLogIndex(ctx context.Context, folder string) (*logIndex, error) {
	data, err := s.getSmall(ctx, folder+logIndexName)
	if err != nil {
		return nil, err
	}
	var ix logIndex
	if err := json.Unmarshal(data, &ix); err != nil {
		return nil, fmt.Errorf("blob: read log index %s: %w", folder, err)
	}
	if ix.Format > logIndexFormat {
		return nil, fmt.Errorf("blob: log %s was written by a newer Tidewheel (format %d, this one knows %d); upgrade this one", folder, ix.Format, logIndexFormat)
	}
	if chunks := (ix.Size + LogChunkSize - 1) / LogChunkSize; ix.Size < 0 || chunks != int64(len(ix.Newlines)) {
		return nil, fmt.Errorf("blob: log index %s is damaged: %d bytes in %d chunks", folder, ix.Size, len(ix.Newlines))
	}
	ix.derive()
	return &ix, nil
}
