package moving

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// format is the form of a backup that this program writes. One of a higher format is refused.
const format = 1

// The entries of a backup.
const (
	headerEntry     = "tidewheel-backup.json"
	manifestEntry   = "manifest.json"
	documentsFolder = "documents/"
	keysFolder      = "keys/"
	objectsFolder   = "objects/"
)

const (
	// partBytes is about how large a part of a collection is, in bytes of JSON.
	partBytes = 4 << 20
	// largestPart is how large a part may be to be read into memory: some documents beyond partBytes.
	largestPart = 256 << 20
	// largestSmall bounds the header, the manifest and each key.
	largestSmall = 16 << 20
)

// Header is what a backup begins with.
type Header struct {
	Format    int       `json:"format"`
	Tidewheel string    `json:"tidewheel"` // the version that made it
	CreatedAt time.Time `json:"created_at"`
	// Running reports whether the server was running while the backup was made. What was queued then may have begun since.
	Running bool `json:"running"`
	Logs    bool `json:"logs"` // outputs of runs are in it
}

// Manifest is what a backup ends with.
type Manifest struct {
	Format   int       `json:"format"`
	Sections []Section `json:"sections"`
	// Warnings say in words what was not found, or was damaged, where the backup was made.
	Warnings []string `json:"warnings,omitempty"`
}

// Section is a set of entries that stand together: a collection, the keys, or a folder of objects.
type Section struct {
	Name   string `json:"name"`   // such as "documents/jobs"
	Count  int64  `json:"count"`  // of documents, keys or objects
	Bytes  int64  `json:"bytes"`  // of the entries' contents
	SHA256 string `json:"sha256"` // of each entry's name, a line break, its content and a line break, in their order
}

// Count returns how many documents, keys or objects a section holds.
func (m *Manifest) Count(section string) int64 {
	for i := range m.Sections {
		if m.Sections[i].Name == section {
			return m.Sections[i].Count
		}
	}
	return 0
}

// Documents counts all documents.
func (m *Manifest) Documents() (n int64) {
	for i := range m.Sections {
		if strings.HasPrefix(m.Sections[i].Name, documentsFolder) {
			n += m.Sections[i].Count
		}
	}
	return n
}

// Objects counts all objects.
func (m *Manifest) Objects() (n int64) {
	for i := range m.Sections {
		if strings.HasPrefix(m.Sections[i].Name, objectsFolder) {
			n += m.Sections[i].Count
		}
	}
	return n
}

// sums follows the sections of a backup as it is written or read.
type sums struct {
	done    []Section
	current Section
	digest  hash.Hash
}

// begin notes that an entry of a section begins.
func (s *sums) begin(section, entry string) {
	if s.digest == nil || s.current.Name != section {
		s.end()
		s.current, s.digest = Section{Name: section}, sha256.New()
	}
	fmt.Fprintf(s.digest, "%s\n", entry)
}

// Write takes the content of the entry.
func (s *sums) Write(p []byte) (int, error) {
	s.current.Bytes += int64(len(p))
	return s.digest.Write(p)
}

// add notes that the entry has ended, with what it holds.
func (s *sums) add(count int64) {
	s.current.Count += count
	fmt.Fprintln(s.digest)
}

// end ends the last section.
func (s *sums) end() {
	if s.digest != nil {
		s.current.SHA256 = hex.EncodeToString(s.digest.Sum(nil))
		s.done = append(s.done, s.current)
		s.digest = nil
	}
}

// sectionOf returns the section that an entry belongs to, "" for none.
func sectionOf(entry string) string {
	switch {
	case strings.HasPrefix(entry, keysFolder):
		return "keys"
	case strings.HasPrefix(entry, documentsFolder), strings.HasPrefix(entry, objectsFolder):
		parts := strings.SplitN(entry, "/", 3)
		if len(parts) == 3 {
			return parts[0] + "/" + parts[1]
		}
	}
	return ""
}

// DocumentsSection names the section of a collection.
func DocumentsSection(of engine.Collection) string { return documentsFolder + string(of) }

// ErrNotBackup means that a file is something else than a backup.
var ErrNotBackup = errors.New("it is no backup of Tidewheel")

// ErrCutOff means that the end of a backup is missing.
var ErrCutOff = errors.New("the backup is cut off: its end is missing")

// NewerError reports that a backup was written by a version that writes a later form.
type NewerError struct {
	Format    int
	Tidewheel string
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("the backup was made by a newer Tidewheel (%s, format %d; this one knows %d): use that version", e.Tidewheel, e.Format, format)
}

// DamagedError reports that a backup does not hold what its manifest says.
type DamagedError struct{ What string }

func (e *DamagedError) Error() string { return "the backup is damaged: " + e.What }
