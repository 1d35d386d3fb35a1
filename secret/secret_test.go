package secret_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/secret"
	"github.com/tidewheel/tidewheel/store/memory"
)

const value = "correct-horse-battery-staple"

// node is a node with a key file, over a store that it shares with others.
type node struct {
	*secret.Vault
	*secret.Ring
	file []byte
}

func newNode(t *testing.T, store engine.Records, keys ...*secret.Key) *node {
	t.Helper()
	n := &node{}
	for _, key := range keys {
		n.file = append(n.file, key.Text()...)
	}
	var err error
	if n.Ring, err = secret.NewRing(t.Context(), func(context.Context) ([]byte, error) { return n.file, nil }); err != nil {
		t.Fatal(err)
	}
	n.Vault = secret.NewVault(store, n.Ring, time.Now)
	return n
}

func newKey(t *testing.T) *secret.Key {
	t.Helper()
	key, err := secret.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (n *node) tend(t *testing.T, state secret.KeyState, resealed, foreign int) {
	t.Helper()
	s, r, f, err := n.Tend(t.Context())
	if err != nil || s != state || r != resealed || f != foreign {
		t.Fatalf("tend: %s, %d resealed, %d foreign, %v; want %s, %d, %d", s, r, f, err, state, resealed, foreign)
	}
}

func set(t *testing.T, v *secret.Vault, namespace, name, value string) secret.Secret {
	t.Helper()
	made, _, err := v.Set(t.Context(), namespace, name, []byte(value), "ada")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// opens returns the value that a node opens, or why it does not.
func (n *node) opens(t *testing.T, from *secret.Vault, namespace, name string) (string, error) {
	t.Helper()
	sealed, err := from.Sealed(t.Context(), namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := n.Ring.Open(t.Context(), namespace, name, sealed)
	return string(opened), err
}

func TestValueIsKeptAsCiphertextOnly(t *testing.T) {
	store := memory.New()
	n := newNode(t, store, newKey(t))
	n.tend(t, secret.KeyFits, 0, 0)
	if made := set(t, n.Vault, "default", "db", value); made.Version != 1 || made.CreatedBy != "ada" {
		t.Errorf("made %+v", made)
	}
	again := set(t, n.Vault, "default", "db", value+"2")
	if again.Version != 2 || again.UpdatedAt.Before(again.CreatedAt) {
		t.Errorf("set again: %+v", again)
	}
	if got, err := n.opens(t, n.Vault, "default", "db"); got != value+"2" || err != nil {
		t.Errorf("opened %q, %v", got, err)
	}
	record, err := store.Record(t.Context(), "secret", "default/db")
	if err != nil || bytes.Contains(record.Data, []byte(value)) || record.Revision != 2 {
		t.Errorf("record of revision %d holds the value: %s, %v", record.Revision, record.Data, err)
	}
	sealed, err := n.Sealed(t.Context(), "default", "db")
	if err != nil || bytes.Contains(sealed, []byte(value)) {
		t.Errorf("sealed: %q, %v", sealed, err)
	}
}

func TestSealedValueOfAnotherNameDoesNotOpen(t *testing.T) {
	n := newNode(t, memory.New(), newKey(t))
	n.tend(t, secret.KeyFits, 0, 0)
	set(t, n.Vault, "finance", "db", value)
	sealed, err := n.Sealed(t.Context(), "finance", "db")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{"default", "db"}, {"finance", "other"}, {"finance/db\n", ""}} {
		if got, err := n.Ring.Open(t.Context(), c[0], c[1], sealed); !errors.Is(err, secret.ErrDamaged) {
			t.Errorf("opened as %q: %q, %v", c, got, err)
		}
	}
	sealed[len(sealed)-1] ^= 1
	if got, err := n.Ring.Open(t.Context(), "finance", "db", sealed); !errors.Is(err, secret.ErrDamaged) {
		t.Errorf("opened a damaged one: %q, %v", got, err)
	}
}

func TestWrongKeyOverwritesNothing(t *testing.T) {
	store := memory.New()
	first := newNode(t, store, newKey(t))
	first.tend(t, secret.KeyFits, 0, 0)
	set(t, first.Vault, "default", "db", value)
	before, err := store.Record(t.Context(), "secret-key", "current")
	if err != nil {
		t.Fatal(err)
	}
	wrong := newNode(t, store, newKey(t))
	wrong.tend(t, secret.KeyWrong, 0, 0)
	if _, _, err := wrong.Set(t.Context(), "default", "db", []byte("other"), "ada"); !errors.Is(err, secret.ErrOtherKey) {
		t.Errorf("set with a wrong key: %v", err)
	}
	if _, err := wrong.opens(t, first.Vault, "default", "db"); !errors.Is(err, secret.ErrOtherKey) {
		t.Errorf("opened with a wrong key: %v", err)
	}
	if after, err := store.Record(t.Context(), "secret-key", "current"); err != nil || after.Revision != before.Revision {
		t.Errorf("the key's record has changed: %s, %v", after.Data, err)
	}
	if got, err := first.opens(t, first.Vault, "default", "db"); got != value || err != nil {
		t.Errorf("opened %q, %v", got, err)
	}
	// Once nothing is kept for the lost key, another one is taken.
	if err := wrong.Delete(t.Context(), "default", "db"); err != nil {
		t.Fatal(err)
	}
	wrong.tend(t, secret.KeyFits, 0, 0)
	first.tend(t, secret.KeyWrong, 0, 0) // and the previous one does not come back
	set(t, wrong.Vault, "default", "db", "other")
	first.tend(t, secret.KeyWrong, 0, 0)
}

func TestNodeWithoutKeySetsValuesForTheOthers(t *testing.T) {
	store := memory.New()
	web := secret.NewVault(store, nil, time.Now)
	if _, _, err := web.Set(t.Context(), "default", "db", []byte(value), "ada"); !errors.Is(err, secret.ErrUnsettled) {
		t.Errorf("set before there was a key: %v", err)
	}
	n := newNode(t, store, newKey(t))
	n.tend(t, secret.KeyFits, 0, 0)
	set(t, web, "default", "db", value)
	if got, err := n.opens(t, web, "default", "db"); got != value || err != nil {
		t.Errorf("opened %q, %v", got, err)
	}
	if state, err := web.Establish(t.Context()); state != secret.KeyMissing || err != nil {
		t.Errorf("established %s, %v", state, err)
	}
}

// The key rotates while nodes continue that have the file in the order of before, and one that reads it later.
func TestKeyRotatesWithoutAStop(t *testing.T) {
	store := memory.New()
	old, fresh := newKey(t), newKey(t)
	first, behind := newNode(t, store, old), newNode(t, store, old)
	first.tend(t, secret.KeyFits, 0, 0)
	const secrets = 450 // more than two pages
	for i := range secrets {
		set(t, first.Vault, fmt.Sprint("ns", i%7), fmt.Sprint("s", i), value+fmt.Sprint(i))
	}
	inFlight, err := first.Sealed(t.Context(), "ns1", "s1")
	if err != nil {
		t.Fatal(err)
	}
	behind.file = append(old.Text(), fresh.Text()...)
	first.file = append(fresh.Text(), old.Text()...)
	first.tend(t, secret.KeyFits, secrets, 0)
	if used, err := first.InUse(t.Context()); err != nil || len(used) != 1 || !used[fresh.Recipient()] {
		t.Errorf("in use: %v, %v", used, err)
	}
	behind.tend(t, secret.KeyFits, 0, 0) // it does not go back
	set(t, behind.Vault, "ns1", "s1", "newer")
	for i := range secrets {
		want := value + fmt.Sprint(i)
		if i == 1 {
			want = "newer"
		}
		if got, err := first.opens(t, first.Vault, fmt.Sprint("ns", i%7), fmt.Sprint("s", i)); got != want || err != nil {
			t.Fatalf("%d: opened %q, %v", i, got, err)
		}
	}
	if got, err := first.Ring.Open(t.Context(), "ns1", "s1", inFlight); string(got) != value+"1" || err != nil {
		t.Errorf("a value in flight: %q, %v", got, err)
	}
	only := newNode(t, store, fresh)
	only.tend(t, secret.KeyFits, 0, 0)
	if got, err := only.opens(t, only.Vault, "ns1", "s1"); got != "newer" || err != nil {
		t.Errorf("with the new key only: %q, %v", got, err)
	}
	stale := newNode(t, store, old)
	stale.tend(t, secret.KeyWrong, 0, 0)
}

func TestValuesThatNoProgramCanBeGivenAreRefused(t *testing.T) {
	n := newNode(t, memory.New(), newKey(t))
	n.tend(t, secret.KeyFits, 0, 0)
	for _, bad := range []string{"", "a\x00b", "\xff\xfe", strings.Repeat("x", secret.MaxValue+1)} {
		var refused *secret.ValueError
		if _, _, err := n.Set(t.Context(), "default", "db", []byte(bad), ""); !errors.As(err, &refused) || strings.Contains(err.Error(), "xxx") {
			t.Errorf("%.10q: %v", bad, err)
		}
	}
	set(t, n.Vault, "default", "db", strings.Repeat("x", secret.MaxValue))
	if got, err := n.opens(t, n.Vault, "default", "db"); len(got) != secret.MaxValue || err != nil {
		t.Errorf("opened %d bytes, %v", len(got), err)
	}
}

func TestListIsOfOneNamespaceByName(t *testing.T) {
	n := newNode(t, memory.New(), newKey(t))
	n.tend(t, secret.KeyFits, 0, 0)
	for _, name := range []string{"b", "a", "c"} {
		set(t, n.Vault, "one", name, value)
	}
	set(t, n.Vault, "one-more", "x", value)
	var names []string
	for after := ""; ; {
		listed, err := n.Secrets(t.Context(), "one", after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range listed {
			names = append(names, s.Namespace+"/"+s.Name)
			after = s.Name
		}
		if len(listed) < 2 {
			break
		}
	}
	if got := strings.Join(names, " "); got != "one/a one/b one/c" {
		t.Errorf("listed %s", got)
	}
}

func TestKeysAreReadAsAgeKeygenWritesThem(t *testing.T) {
	key := newKey(t)
	read, err := secret.ParseKey(append([]byte("\r\n# created: today\r\n"), bytes.ReplaceAll(key.Text(), []byte("\n"), []byte("\r\n"))...))
	if err != nil || read.Recipient() != key.Recipient() {
		t.Fatalf("read %v, %v", read, err)
	}
	if said := fmt.Sprintf("%v %+v %#v", key, key, key); strings.Contains(said, "AGE-SECRET") {
		t.Errorf("printed %s", said)
	}
	for _, bad := range []string{"", "# nothing", "hunter2-hunter2", string(key.Text()) + "AGE-SECRET-KEY-1QQQQ"} {
		if _, err := secret.ParseKey([]byte(bad)); err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "QQQQ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// An executor sees no store: it reads its key again when a value does not open, though not each time.
func TestKeyIsReadAgainWhenAValueDoesNotOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		old, fresh := newKey(t), newKey(t)
		web, executor := newNode(t, store, fresh), newNode(t, memory.New(), old)
		web.tend(t, secret.KeyFits, 0, 0)
		set(t, web.Vault, "default", "db", value)
		executor.file = append(fresh.Text(), old.Text()...)
		if _, err := executor.opens(t, web.Vault, "default", "db"); !errors.Is(err, secret.ErrOtherKey) {
			t.Errorf("the key was read again at once: %v", err)
		}
		<-time.After(time.Minute) // of the bubble
		if got, err := executor.opens(t, web.Vault, "default", "db"); got != value || err != nil {
			t.Errorf("opened %q, %v", got, err)
		}
		executor.file = []byte("damaged")
		if got, err := executor.opens(t, web.Vault, "default", "db"); got != value || err != nil {
			t.Errorf("opened %q, %v, though the key was known", got, err)
		}
	})
}
