package runtoken_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/internal/runtoken"
)

// Whatever is sent as a run's token, it opens nothing but what a token of ours was sealed for.
func FuzzOpen(f *testing.F) {
	sealed, err := runtoken.Seal(key.Attempt(grant.Namespace, grant.Run, grant.Attempt), grant)
	if err != nil {
		f.Fatal(err)
	}
	parts := strings.Split(sealed, ".")
	f.Add(sealed)
	f.Add(parts[0] + "." + parts[1] + ".")
	f.Add("eyJhbGciOiJub25lIn0." + parts[1] + ".")
	f.Add(parts[0] + "." + parts[0] + "." + parts[2])
	f.Add(sealed[:len(sealed)-1] + "A")
	f.Fuzz(func(t *testing.T, token string) {
		opened, err := key.Open(token, noon)
		if err != nil {
			return
		}
		same := opened.Expires.Equal(grant.Expires)
		opened.Expires = grant.Expires
		if !same || opened != grant {
			t.Errorf("%q opens %+v", token, opened)
		}
		if _, err := key.Open(token, grant.Expires.Add(runtoken.Leeway+time.Second)); err == nil {
			t.Errorf("%q opens after its end", token)
		}
		if _, err := runtoken.Key(strings.Repeat("x", runtoken.KeySize)).Open(token, noon); err == nil {
			t.Errorf("%q opens with another key", token)
		}
	})
}
