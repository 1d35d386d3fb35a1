package runtoken_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tidewheel/tidewheel/internal/runtoken"
)

var (
	noon  = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	key   = runtoken.Key(bytes.Repeat([]byte{7}, runtoken.KeySize))
	grant = runtoken.Grant{Namespace: "default", Run: "uid-s1800000000000", Attempt: 2, Token: 1_795_294_800_000_123, Expires: noon.Add(time.Hour)}
)

func seal(t *testing.T, key runtoken.Key, grant runtoken.Grant) string {
	t.Helper()
	token, err := runtoken.Seal(key.Attempt(grant.Namespace, grant.Run, grant.Attempt), grant)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestTokenSaysWhatWasSealed(t *testing.T) {
	got, err := key.Open(seal(t, key, grant), noon)
	got.Expires = got.Expires.UTC()
	if err != nil || got != grant {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestTokenEnds(t *testing.T) {
	token := seal(t, key, grant)
	for at, want := range map[time.Time]error{
		grant.Expires.Add(-time.Second):                     nil,
		grant.Expires.Add(runtoken.Leeway - time.Second):    nil,
		grant.Expires.Add(runtoken.Leeway + 2*time.Second):  runtoken.ErrExpired,
		grant.Expires.Add(runtoken.Leeway + 1000*time.Hour): runtoken.ErrExpired,
	} {
		if _, err := key.Open(token, at); !errors.Is(err, want) {
			t.Errorf("at %v: %v, want %v", at, err, want)
		}
	}
}

// The holder of an attempt's key can seal for that attempt only, whatever is written into the token.
func TestKeyOfAnAttemptOpensNoOther(t *testing.T) {
	mine := key.Attempt(grant.Namespace, grant.Run, grant.Attempt)
	for name, change := range map[string]func(*runtoken.Grant){
		"the next attempt":   func(g *runtoken.Grant) { g.Attempt++ },
		"the one before":     func(g *runtoken.Grant) { g.Attempt-- },
		"another run":        func(g *runtoken.Grant) { g.Run = "uid-s1800000060000" },
		"another namespace":  func(g *runtoken.Grant) { g.Namespace = "other" },
		"a boundary moved":   func(g *runtoken.Grant) { g.Namespace, g.Run = "default\x00uid", "s1800000000000" },
		"no attempt":         func(g *runtoken.Grant) { g.Attempt = 0 },
		"a run without name": func(g *runtoken.Grant) { g.Run = "" },
	} {
		other := grant
		change(&other)
		token, err := runtoken.Seal(mine, other)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := key.Open(token, noon); !errors.Is(err, runtoken.ErrBad) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestForgedTokenOpensNothing(t *testing.T) {
	true_ := seal(t, key, grant)
	parts := strings.Split(true_, ".")
	changed := func(change func(map[string]any)) string {
		text, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil {
			t.Fatal(err)
		}
		var said map[string]any
		if err := json.Unmarshal(text, &said); err != nil {
			t.Fatal(err)
		}
		change(said)
		if text, err = json.Marshal(said); err != nil {
			t.Fatal(err)
		}
		return parts[0] + "." + base64.RawURLEncoding.EncodeToString(text) + "." + parts[2]
	}
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{
		"iss": "tidewheel", "aud": "effects", "sub": grant.Run, "ns": grant.Namespace, "att": 2, "fen": 1, "exp": grant.Expires.Unix(),
	}).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	sealedWith := func(change func(jwt.MapClaims)) string {
		said := jwt.MapClaims{
			"iss": "tidewheel", "aud": "effects", "sub": grant.Run, "ns": grant.Namespace, "att": grant.Attempt, "fen": 1, "exp": grant.Expires.Unix(),
		}
		change(said)
		own, err := base64.RawURLEncoding.DecodeString(key.Attempt(grant.Namespace, grant.Run, grant.Attempt))
		if err != nil {
			t.Fatal(err)
		}
		token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, said).SignedString(own)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	for name, token := range map[string]string{
		"nothing":               "",
		"dots":                  "..",
		"an API token":          "tw_abcdefghijklmnopqrstuvwxyz",
		"no signature":          parts[0] + "." + parts[1] + ".",
		"a cut one":             true_[:len(true_)-3],
		"too long":              strings.Repeat("a", 100_000),
		"unsigned":              unsigned,
		"a later attempt":       changed(func(m map[string]any) { m["att"] = 3 }),
		"a higher token":        changed(func(m map[string]any) { m["fen"] = 1e15 }),
		"a longer life":         changed(func(m map[string]any) { m["exp"] = 4e9 }),
		"another server's":      seal(t, bytes.Repeat([]byte{8}, runtoken.KeySize), grant),
		"without an end":        sealedWith(func(m jwt.MapClaims) { delete(m, "exp") }),
		"for something else":    sealedWith(func(m jwt.MapClaims) { m["aud"] = "jobs" }),
		"of another issuer":     sealedWith(func(m jwt.MapClaims) { m["iss"] = "other" }),
		"an attempt in letters": sealedWith(func(m jwt.MapClaims) { m["att"] = "two" }),
	} {
		if grant, err := key.Open(token, noon); !errors.Is(err, runtoken.ErrBad) {
			t.Errorf("%s: %+v, %v", name, grant, err)
		}
	}
	if _, err := runtoken.Key(nil).Open(true_, noon); !errors.Is(err, runtoken.ErrBad) {
		t.Errorf("without a server key: %v", err)
	}
	if _, err := key.Open(sealedWith(func(jwt.MapClaims) {}), noon); err != nil {
		t.Errorf("the same token rebuilt, unchanged: %v", err) // else the cases above prove nothing
	}
}

func TestSealRefusesWhatIsNoKey(t *testing.T) {
	for _, text := range []string{"", "short", "not base64!", strings.Repeat("A", 100)} {
		if token, err := runtoken.Seal(text, grant); err == nil {
			t.Errorf("%q seals %s", text, token)
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := runtoken.Seal(key.Attempt(grant.Namespace, grant.Run, grant.Attempt), grant); err != nil {
			b.Fatal(err)
		}
	}
}
