package blob

import (
	"path"
	"strings"
	"testing"
)

// Whatever programs call their files, each stays below the folder of its attempt, and no two names share a place.
func FuzzArtifactKey(f *testing.F) {
	for _, name := range []string{"a", "a/b.txt", "../a", "a/../../b", "/etc/passwd", "a//b", "./a", "a/.", "..", "a\x00b", "\xff", "ü/%2e%2e/x", ".."} {
		f.Add("uid-s1800000000000", 1, name)
	}
	f.Add("../other", 1, "a")
	f.Add("run", 0, "a")
	f.Fuzz(func(t *testing.T, run string, attempt int, name string) {
		for _, prefix := range []string{"", "shared/"} {
			key, err := (&Store{prefix: prefix}).artifactKey(run, attempt, name)
			if err != nil {
				continue
			}
			rest, within := strings.CutPrefix(key, prefix+artifactsFolder)
			folders := strings.SplitN(rest, "/", 3)
			if !within || len(folders) != 3 || folders[0] != run || folders[2] != name || path.Clean(key) != key {
				t.Errorf("%q of attempt %d of %q is stored at %q", name, attempt, run, key)
			}
		}
	})
}
