package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// BuildSkewed makes the server with a wall clock that is off by so many whole seconds: in its copy of package time, Now
// adds them; the monotonic clock is right. The folder of the test is opened to
// all users.
func BuildSkewed(ctx context.Context, dir string, off time.Duration) (string, error) {
	for _, open := range []string{filepath.Dir(dir), dir} { // its guardian and its jobs come from here
		if err := os.Chmod(open, 0o755); err != nil {
			return "", err
		}
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find the Go installation: %w", err)
	}
	source := filepath.Join(strings.TrimSpace(string(goroot)), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	const read = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(text), read) != 1 {
		return "", fmt.Errorf("%s reads the clock in another way than this test knows: change BuildSkewed", source)
	}
	skewed := filepath.Join(dir, "time.go")
	text = []byte(strings.Replace(string(text), read, fmt.Sprintf("%s\tsec += %d\n", read, int64(off/time.Second)), 1))
	if err := os.WriteFile(skewed, text, 0o600); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: skewed}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return "", err
	}
	return Build(ctx, dir, "-overlay", list)
}
