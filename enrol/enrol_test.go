package enrol_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/enrol"
	"github.com/tidewheel/tidewheel/store/memory"
)

// issuer takes the public key of an executor for its signature.
type issuer struct{}

func (issuer) Issue(_ context.Context, to enrol.Executor, _ map[string]string, until time.Time) (string, error) {
	return to.Name + " until " + until.Format(time.RFC3339), nil
}

func (issuer) Verify(publicKey string, message, signature []byte) error {
	if !bytes.Equal(signature, append([]byte(publicKey), message...)) {
		return errors.New("it is another signature")
	}
	return nil
}

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func proof(purpose, name, key string, at time.Time) *enrol.Proof {
	p := &enrol.Proof{Name: name, PublicKey: key, At: at}
	p.Signature = append([]byte(key), p.Statement(purpose)...)
	return p
}

func TestOfTwoThatShowATokenAtOnceOneIsEnrolled(t *testing.T) {
	r := enrol.New(memory.New(), enrol.Config{Issuer: issuer{}}, func() time.Time { return start })
	secret, _, err := r.CreateToken(t.Context(), "light", "ada", 0)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	var mu sync.Mutex
	enrolled := 0
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			_, err := r.Enrol(t.Context(), secret, proof("enrol", name, "U"+name, start))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				enrolled++
			case !errors.Is(err, enrol.ErrToken):
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	all.Wait()
	listed, err := r.Executors(t.Context())
	if enrolled != 1 || err != nil || len(listed) != 1 {
		t.Errorf("%d were enrolled, and %v is listed, %v", enrolled, listed, err)
	}
}

func TestOnlyTheKeyOfAnExecutorRenews(t *testing.T) {
	now := start
	r := enrol.New(memory.New(), enrol.Config{Issuer: issuer{}, Life: time.Hour}, func() time.Time { return now })
	secret, _, err := r.CreateToken(t.Context(), "heavy", "ada", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Enrol(t.Context(), secret, proof("renew", "a", "UA", now)); !errors.Is(err, enrol.ErrProof) {
		t.Errorf("a signature for another purpose: %v", err)
	}
	if _, err := r.Enrol(t.Context(), secret, proof("enrol", "a", "UA", now)); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	given, err := r.Renew(t.Context(), proof("renew", "a", "UA", now))
	if err != nil || given.Executor.Tier != "heavy" || !given.ExpiresAt.Equal(now.Add(time.Hour)) {
		t.Errorf("renewed: %+v, %v", given, err)
	}
	altered := proof("renew", "a", "UA", now)
	altered.Labels = map[string]string{"gpu": "true"}
	for name, c := range map[string]struct {
		proof *enrol.Proof
		want  error
	}{
		"another key":         {proof("renew", "a", "UB", now), enrol.ErrRevoked},
		"another name":        {proof("renew", "b", "UA", now), enrol.ErrRevoked},
		"a changed label":     {altered, enrol.ErrProof},
		"an old signature":    {proof("renew", "a", "UA", now.Add(-6*time.Minute)), enrol.ErrClock},
		"one yet to be made":  {proof("renew", "a", "UA", now.Add(6*time.Minute)), enrol.ErrClock},
		"that of another act": {proof("enrol", "a", "UA", now), enrol.ErrProof},
	} {
		if _, err := r.Renew(t.Context(), c.proof); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := r.Revoke(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Renew(t.Context(), proof("renew", "a", "UA", now)); !errors.Is(err, enrol.ErrRevoked) {
		t.Errorf("after its revocation: %v", err)
	}
}

// A pod that was removed is forgotten a day after it was heard of last; one that renews stays.
func TestExecutorThatJoinedIsForgottenWhenItIsSilent(t *testing.T) {
	now := start
	tokens, err := enrol.ParseJoinTokens([]byte("light twj_0123456789abcdef0123\n"))
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New()
	r := enrol.New(store, enrol.Config{
		Issuer: issuer{}, JoinTokens: func() ([]enrol.JoinToken, error) { return tokens, nil },
	}, func() time.Time { return now })
	secret, _, err := r.CreateToken(t.Context(), "light", "ada", 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{"pod-1": "twj_0123456789abcdef0123", "pod-2": "twj_0123456789abcdef0123", "machine": secret} {
		if _, err := r.Enrol(t.Context(), token, proof("enrol", name, "U"+name, now)); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		now = now.Add(100 * time.Minute)
		if _, err := r.Renew(t.Context(), proof("renew", "pod-1", "Upod-1", now)); err != nil {
			t.Fatal(err)
		}
		if _, err := store.ExpireRecords(t.Context(), now, 100); err != nil { // as the janitor does
			t.Fatal(err)
		}
	}
	listed, err := r.Executors(t.Context())
	if err != nil || len(listed) != 2 || listed[0].Name != "machine" || listed[1].Name != "pod-1" {
		t.Errorf("after 33 hours: %+v, %v", listed, err)
	}
}
