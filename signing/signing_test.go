package signing

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var signedAt = time.UnixMilli(1_800_000_000_123)

func newKeys(t testing.TB) *Keys {
	t.Helper()
	keys, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func ringOf(keys *Keys) *Ring {
	ring := &Ring{}
	ring.Use(keys)
	return ring
}

// publicOnly is what an executor is given of keys.
func publicOnly(t testing.TB, keys *Keys) *Keys {
	t.Helper()
	text, err := keys.PublicText()
	if err != nil {
		t.Fatal(err)
	}
	public, err := ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	return public
}

func messages(n int) []Message {
	all := make([]Message, n)
	for i := range all {
		all[i] = Message{Purpose: "task", Subject: fmt.Sprintf("tasks.light.standard.run-%d", i), Body: fmt.Appendf(nil, `{"run":"run-%d","attempt":1}`, i)}
	}
	return all
}

func sign(t testing.TB, ring *Ring, all []Message) []string {
	t.Helper()
	signatures, err := ring.Sign(signedAt, all)
	if err != nil {
		t.Fatal(err)
	}
	return signatures
}

func TestEachMessageOfABatchVerifiesAndNoOtherDoes(t *testing.T) {
	t.Parallel()
	engine := ringOf(newKeys(t))
	for size := 1; size <= MaxBatch; size++ {
		all := messages(size)
		signatures := sign(t, engine, all)
		executor := ringOf(publicOnly(t, engine.Keys()))
		for i := range all {
			at, err := executor.Verify(t.Context(), &all[i], signatures[i])
			if err != nil || !at.Equal(signedAt) {
				t.Fatalf("message %d of %d: %v, %v", i, size, at, err)
			}
			if other := (i + 1) % size; other != i {
				if _, err := executor.Verify(t.Context(), &all[i], signatures[other]); err == nil {
					t.Fatalf("message %d of %d verifies with the signature of message %d", i, size, other)
				}
			}
		}
	}
}

func TestEachChangedByteIsRefused(t *testing.T) {
	t.Parallel()
	engine := ringOf(newKeys(t))
	for _, size := range []int{1, 2, 5, MaxBatch} {
		all := messages(size)
		all[0].Mark = "1"
		signatures := sign(t, engine, all)
		for _, i := range []int{0, size - 1} {
			// A new ring each time: what is remembered of good signatures must not help either.
			executor := ringOf(publicOnly(t, engine.Keys()))
			if _, err := executor.Verify(t.Context(), &all[i], signatures[i]); err != nil {
				t.Fatal(err)
			}
			flips(len(all[i].Body), func(at int, bit byte) {
				changed := all[i]
				changed.Body = slices.Clone(changed.Body)
				changed.Body[at] ^= bit
				refused(t, executor, &changed, signatures[i], "body", at)
			})
			for _, part := range []func(*Message) *string{
				func(m *Message) *string { return &m.Purpose }, func(m *Message) *string { return &m.Subject }, func(m *Message) *string { return &m.Mark },
			} {
				flips(len(*part(&all[i])), func(at int, bit byte) {
					changed := all[i]
					text := []byte(*part(&changed))
					text[at] ^= bit
					*part(&changed) = string(text)
					refused(t, executor, &changed, signatures[i], *part(&changed), at)
				})
				changed := all[i]
				*part(&changed) += "x"
				refused(t, executor, &changed, signatures[i], "longer "+*part(&changed), 0)
			}
			flips(len(signatures[i]), func(at int, bit byte) {
				text := []byte(signatures[i])
				text[at] ^= bit
				refused(t, executor, &all[i], string(text), "signature", at)
			})
		}
	}
}

func flips(length int, change func(at int, bit byte)) {
	for at := range length {
		for bit := byte(1); bit != 0; bit <<= 1 {
			change(at, bit)
		}
	}
}

func refused(t *testing.T, ring *Ring, m *Message, signature, part string, at int) {
	t.Helper()
	_, err := ring.Verify(t.Context(), m, signature)
	if !errors.Is(err, ErrAltered) && !errors.Is(err, ErrUnsigned) && !errors.Is(err, ErrUnknownKey) {
		t.Fatalf("with a change of %s at %d: %v", part, at, err)
	}
}

// What stands in one part must not be read as the end of the previous one.
func TestPartsCannotBeMovedOverTheirBounds(t *testing.T) {
	t.Parallel()
	engine := ringOf(newKeys(t))
	signature := sign(t, engine, []Message{{Purpose: "task", Subject: "ab", Mark: "c", Body: []byte("d")}})[0]
	for _, m := range []Message{
		{Purpose: "task", Subject: "a", Mark: "bc", Body: []byte("d")}, {Purpose: "task", Subject: "abc", Body: []byte("d")},
		{Purpose: "task", Subject: "ab", Body: []byte("cd")}, {Purpose: "taska", Subject: "b", Mark: "c", Body: []byte("d")},
	} {
		if _, err := engine.Verify(t.Context(), &m, signature); !errors.Is(err, ErrAltered) {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

func TestMessageWithoutATrustedSignatureIsRefused(t *testing.T) {
	t.Parallel()
	engine, stranger := newKeys(t), newKeys(t)
	executor, m := ringOf(publicOnly(t, engine)), messages(1)[0]
	foreign := sign(t, ringOf(stranger), []Message{m})[0]
	// A stranger may well write the name of the trusted key over its signature.
	named := strings.Replace(foreign, stranger.Signs(), engine.Signs(), 1)
	for text, want := range map[string]error{
		"": ErrUnsigned, "1": ErrUnsigned, "1.......": ErrUnsigned, strings.Repeat("x", 10000): ErrUnsigned, "1.a.b.c.d.e.f": ErrUnsigned,
		"1." + engine.Signs() + ".1.0.1..AAAA": ErrUnsigned, "1." + engine.Signs() + ".1.0.1000000000..": ErrUnsigned,
		foreign: ErrUnknownKey, named: ErrAltered,
	} {
		if _, err := executor.Verify(t.Context(), &m, text); !errors.Is(err, want) {
			t.Errorf("%.60q: %v, want %v", text, err, want)
		}
	}
	if _, err := executor.Sign(signedAt, []Message{m}); err == nil {
		t.Error("an executor signs with a public key")
	}
	if _, err := new(Ring).Verify(t.Context(), &m, foreign); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("a ring without keys says %v", err)
	}
}

// A signature that was found good once must not be good for anything that it does not state.
func TestRememberedSignatureIsGoodForItselfOnly(t *testing.T) {
	t.Parallel()
	engine := ringOf(newKeys(t))
	all := messages(2)
	good := sign(t, engine, all)[0]
	if _, err := engine.Verify(t.Context(), &all[0], good); err != nil {
		t.Fatal(err)
	}
	another := strings.Split(sign(t, engine, messages(3))[0], ".")
	path, err := encoding.DecodeString(strings.Split(good, ".")[5])
	if err != nil {
		t.Fatal(err)
	}
	for part, value := range map[int]string{ // when it was signed, how many leaves there are, a path that is too long, another proof
		2: "1900000000000", 4: "3", 5: encoding.EncodeToString(append(path, make([]byte, 32)...)), 6: another[6],
	} {
		changed := strings.Split(good, ".")
		changed[part] = value
		if _, err := engine.Verify(t.Context(), &all[0], strings.Join(changed, ".")); err == nil {
			t.Errorf("%v verifies", changed)
		}
	}
}

func TestKeysRotateWithoutAStop(t *testing.T) {
	t.Parallel()
	before, after := newKeys(t), newKeys(t)
	folder := t.TempDir()
	engineFile, executorFile := filepath.Join(folder, "engine.pem"), filepath.Join(folder, "executor.pem")
	write := func(path string, texts ...[]byte) {
		t.Helper()
		if err := os.WriteFile(path, slices.Concat(texts...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	private := func(keys *Keys) []byte {
		t.Helper()
		text, err := keys.PrivateText()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	public := func(keys *Keys) []byte {
		t.Helper()
		text, err := keys.PublicText()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	open := func(path string) *Ring {
		t.Helper()
		ring := &Ring{}
		if err := ring.Open(t.Context(), func(context.Context) ([]byte, error) { return os.ReadFile(path) }); err != nil {
			t.Fatal(err)
		}
		return ring
	}
	write(engineFile, private(before))
	write(executorFile, public(before))
	engine, executor := open(engineFile), open(executorFile)
	m := messages(1)
	old := sign(t, engine, m)[0]

	// The executors are given the new key first. They look when they meet it.
	write(executorFile, public(before), public(after))
	write(engineFile, private(after), private(before))
	if err := engine.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if engine.Keys().Signs() != after.Signs() {
		t.Errorf("it signs with %s, and not with the first key", engine.Keys().Signs())
	}
	fresh := sign(t, engine, m)[0]
	if _, err := executor.Verify(t.Context(), &m[0], fresh); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("an executor that has just read its file reads it again: %v", err)
	}
	executor.readAt = time.Time{}
	for _, signature := range []string{fresh, old} {
		if _, err := executor.Verify(t.Context(), &m[0], signature); err != nil {
			t.Error(err)
		}
	}
	// A file that is damaged changes nothing; the old key goes when its part of the file does.
	write(executorFile, []byte("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"))
	if err := executor.Reload(t.Context()); err == nil {
		t.Error("a damaged file was read")
	}
	if _, err := executor.Verify(t.Context(), &m[0], old); err != nil {
		t.Error(err)
	}
	write(executorFile, public(after))
	if err := executor.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := executor.Verify(t.Context(), &m[0], old); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("with a key that was taken away: %v", err)
	}
}

func TestKeysThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(other)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"": "it holds no key", "AGE-SECRET-KEY-1": "it holds no key",
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})):              "another algorithm",
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})):              "it is a CERTIFICATE",
		string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("nothing")})): "damaged",
	} {
		if _, err := ParseKeys([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
	if _, err := KeysOfSeed(make([]byte, 5)); err == nil {
		t.Error("a seed of 5 bytes is taken")
	}
	keys := newKeys(t)
	text, err := keys.PrivateText()
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{fmt.Sprint(keys), fmt.Sprintf("%+v %#v", keys, keys)} {
		if strings.Contains(shown, string(text[30:60])) || strings.Contains(shown, "private") {
			t.Errorf("printed, keys are %s", shown)
		}
	}
}

// Operators may make keys with openssl.
func TestKeysOfOpenSSLAreRead(t *testing.T) {
	t.Parallel()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("there is no openssl here")
	}
	text, err := exec.CommandContext(t.Context(), openssl, "genpkey", "-algorithm", "ed25519").Output()
	if err != nil {
		t.Skipf("this openssl makes no Ed25519 key: %v", err)
	}
	keys, err := ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), openssl, "pkey", "-pubout")
	command.Stdin = strings.NewReader(string(text))
	want, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	if public, err := keys.PublicText(); err != nil || string(public) != string(want) {
		t.Errorf("the public part is %s, %v; openssl says %s", public, err, want)
	}
}

func FuzzVerify(f *testing.F) {
	keys, err := KeysOfSeed(make([]byte, SeedSize))
	if err != nil {
		f.Fatal(err)
	}
	ring := ringOf(keys)
	all := messages(3)
	for _, signature := range sign(f, ring, all) {
		f.Add(signature, all[0].Body)
	}
	f.Fuzz(func(t *testing.T, text string, body []byte) {
		m := all[0]
		m.Body = body
		_, err := ring.Verify(t.Context(), &m, text)
		if err == nil && string(body) != string(all[0].Body) {
			t.Fatalf("%q with %q verifies, and was never signed", text, body)
		}
	})
}

func BenchmarkSigning(b *testing.B) {
	ring := ringOf(newKeys(b))
	for _, size := range []int{1, 8, 64} {
		all := messages(size)
		for i := range all {
			all[i].Body = make([]byte, 700)
		}
		signatures := sign(b, ring, all)
		b.Run(fmt.Sprintf("sign/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ring.Sign(signedAt, all); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/message")
		})
		b.Run(fmt.Sprintf("verify/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ring.Use(ring.Keys()) // nothing is remembered
				for i := range all {
					if _, err := ring.Verify(b.Context(), &all[i], signatures[i]); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/message")
		})
	}
}
