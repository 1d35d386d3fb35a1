package output_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/executor/output"
)

// captured writes pieces through a mask and returns what is kept of them.
func captured(t testing.TB, mask *output.Mask, pieces ...[]byte) string {
	t.Helper()
	c := output.New(output.Config{Limit: 1 << 30})
	c.Mask(mask)
	for _, piece := range pieces {
		sent := bytes.Clone(piece)
		if n, err := c.Both().Write(sent); n != len(piece) || err != nil {
			t.Fatalf("wrote %d of %d: %v", n, len(piece), err)
		}
		clear(sent) // the buffer is the writer's again
	}
	c.Flush()
	c.End()
	data, _, _ := c.From(0)
	return string(data)
}

// cut cuts data at random.
func cut(r *rand.Rand, data []byte, most int) (pieces [][]byte) {
	for len(data) > 0 {
		n := min(1+r.IntN(most), len(data))
		pieces = append(pieces, data[:n])
		data = data[n:]
	}
	return pieces
}

var escape = regexp.MustCompile("%[0-9A-F]{2}")

// forms are what the tests print a value as.
func forms(value string) map[string]string {
	quoted, _ := json.Marshal(value)
	return map[string]string{
		"plain": value, "base64": base64.StdEncoding.EncodeToString([]byte(value)), "base64 of URLs": base64.URLEncoding.EncodeToString([]byte(value)),
		"base64 after one byte":  base64.StdEncoding.EncodeToString([]byte("u" + value + ":")),
		"base64 after two bytes": base64.URLEncoding.EncodeToString([]byte("u:" + value + "xyz")),
		"query":                  url.QueryEscape(value), "path": url.PathEscape(value), "lower": escape.ReplaceAllStringFunc(url.QueryEscape(value), strings.ToLower), "JSON": string(quoted),
	}
}

func TestValueIsMaskedHoweverItIsWritten(t *testing.T) {
	for _, value := range []string{
		"hunter2", "1234", "päß=&?/+~ wörd", "postgres://u:p@ss/db?x=1&y=<2>", `quo"te\back`, "\xff\xfe\xfd\xfc???>>>",
		strings.Repeat("aB3/+=", 11), strings.Repeat("long value, ", 400), strings.Repeat("a", 3000),
	} {
		mask := output.NewMask(nil, []byte(value))
		if len(value) > 100 {
			mask = output.NewMask([]byte(value))
		}
		for form, text := range forms(value) {
			if form == "JSON" && strings.Contains(value, "\xff") {
				continue // JSON has no such bytes
			}
			got := captured(t, mask, []byte("before "+text+" after\n"))
			if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after\n") || !strings.Contains(got, "***") {
				t.Errorf("%.20q as %s: %.60q", value, form, got)
			}
			rest := strings.TrimSuffix(strings.TrimPrefix(got, "before "), " after\n")
			if strings.HasPrefix(form, "base64") {
				if len(rest) > len("***")+10 { // what stands around it, and the bits of a digit that it shares
					t.Errorf("%.20q as %s leaves %.60q", value, form, rest)
				}
			} else if want := strings.ReplaceAll(text, text, "***"); rest != want && (form != "JSON" || rest != `"***"`) {
				t.Errorf("%.20q as %s leaves %.60q", value, form, rest)
			}
		}
	}
}

// A stream that is cut anywhere is masked like the whole, and nothing but values is.
func TestMaskedStreamIsTheSameHoweverItIsCut(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		var values [][]byte
		for range 1 + r.IntN(3) {
			value := make([]byte, []int{4, 5, 9, 40, 300, 700}[r.IntN(6)])
			for i := range value {
				value[i] = "ab\n"[r.IntN(2+r.IntN(2))] // so that they overlap, with themselves and with each other
			}
			values = append(values, value)
		}
		var text []byte
		for len(text) < 3000 {
			value := values[r.IntN(len(values))]
			switch r.IntN(4) {
			case 0:
				text = append(text, value...)
			case 1:
				text = append(text, value[:r.IntN(len(value))]...)
			case 2:
				text = append(text, "abba. \n"[r.IntN(6):]...)
			default:
				text = append(text, base64.StdEncoding.EncodeToString(value)...)
			}
		}
		mask := output.NewMask(nil, values...)
		want := string(mask.Bytes(bytes.Clone(text)))
		if got := captured(t, mask, cut(r, text, []int{1, 3, 50, 5000}[r.IntN(4)])...); got != want {
			t.Fatalf("seed %d: cut\n%q, whole\n%q", seed, got, want)
		}
		for _, value := range values {
			if strings.Contains(want, string(value)) {
				t.Fatalf("seed %d: %q is left in %q", seed, value, want)
			}
		}
	}
}

func TestOnlyValuesAreMasked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	mask := output.NewMask(nil, []byte("s3cr"), []byte("correct-horse-battery-staple"), []byte("abc"))
	for range 200 {
		text := random(r, 20_000)
		if got := captured(t, mask, cut(r, text, 4096)...); got != string(text) {
			t.Fatal("text without a value has changed")
		}
	}
	if got := captured(t, mask, []byte("s3crs3cr s3cRet abc correct-horse-battery-staplecorrect-horse-battery-stapl")); got != "*** s3cRet abc ***correct-horse-battery-stapl" {
		t.Error(got)
	}
	if output.NewMask(nil, []byte("abc"), nil) != nil {
		t.Error("values that are too short are masked")
	}
}

// What may be the beginning of a value is held back, and nothing else: live output must not wait for more.
func TestOnlyWhatMayBecomeAValueIsHeldBack(t *testing.T) {
	c := output.New(output.Config{Limit: 1 << 20})
	c.Mask(output.NewMask(nil, []byte("swordfish-9")))
	for _, step := range []struct{ write, seen string }{
		{"Password: sword", "Password: "}, {" it\n", "Password: sword it\n"}, {"sword", "Password: sword it\n"},
		{"fish-", "Password: sword it\n"}, {"9", "Password: sword it\n***"}, {"!", "Password: sword it\n***!"},
	} {
		if _, err := c.Both().Write([]byte(step.write)); err != nil {
			t.Fatal(err)
		}
		if data, _, _ := c.From(0); string(data) != step.seen {
			t.Errorf("after %q: %q, want %q", step.write, data, step.seen)
		}
	}
}

func TestMultiLineValueIsMaskedLineByLine(t *testing.T) {
	key := "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n  aGVsbG8gd29ybGQ=  \n}\n-----END KEY-----\n"
	got := captured(t, output.NewMask(nil, []byte(key)), []byte("a\r\nMIIEvQIBADANBgkqhkiG9w0B\r\n  aGVsbG8gd29ybGQ=\n}\n"))
	if got != "a\r\n***\r\n  ***\n}\n" {
		t.Errorf("%q", got)
	}
	wrapped := base64.StdEncoding.EncodeToString([]byte(key))
	got = captured(t, output.NewMask(nil, []byte(key)), []byte(wrapped[:76]+"\n"+wrapped[76:]+"\n"))
	if strings.Contains(got, wrapped[:20]) || strings.Contains(got, wrapped[80:100]) || len(got) > 20 {
		t.Errorf("%q", got)
	}
}

func TestProgressLineIsMasked(t *testing.T) {
	var said []string
	c := output.New(output.Config{Limit: 1 << 20, Progress: func(f float64, message string) { said = append(said, fmt.Sprint(f, " ", message)) }})
	c.Mask(output.NewMask(nil, []byte("hunter2")))
	for _, piece := range []string{"::progress 0.5 log in as hun", "ter2 now\n", "::progress 1 hunter2"} {
		if _, err := c.Both().Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	c.Flush()
	if len(said) != 1 || said[0] != "0.5 log in as *** now" {
		t.Errorf("%q", said)
	}
}

func FuzzMask(f *testing.F) {
	f.Add([]byte("hunter2"), []byte("xhunter2hunter2hunter"), uint64(1))
	f.Add([]byte("aaaa\nbbbbbbbb"), []byte("aaaaaaabbbbbbbbb"), uint64(2))
	f.Fuzz(func(t *testing.T, value, text []byte, seed uint64) {
		mask := output.NewMask(nil, value)
		want := string(mask.Bytes(bytes.Clone(text)))
		if mask != nil && strings.Contains(want, string(value)) && !bytes.Contains([]byte(output.MaskText), value) && !strings.Contains(string(value), "*") {
			t.Fatalf("%q is left in %q", value, want)
		}
		if got := captured(t, mask, cut(rand.New(rand.NewPCG(seed, 0)), text, 9)...); got != want {
			t.Fatalf("cut %q, whole %q", got, want)
		}
	})
}

// token is about as long as a run's token.
var token = []byte(strings.Repeat("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.", 9))

func BenchmarkMask(b *testing.B) {
	var words [][]byte
	for i := range 10 {
		words = append(words, fmt.Appendf(nil, "s3cr3t-value-%d", i*7919))
	}
	r := rand.New(rand.NewPCG(1, 1))
	var lines bytes.Buffer
	for i := 0; lines.Len() < 32<<10; i++ {
		fmt.Fprintf(&lines, "2026-11-20T12:00:%02d.%06dZ INFO request id=%x path=/api/v1/orders/%d took=%dms\n", i%60, r.IntN(1e6), r.Uint64(), i, r.IntN(900))
	}
	for _, c := range []struct {
		name string
		mask *output.Mask
	}{{"none", nil}, {"token", output.NewMask(token)}, {"token and 10 secrets", output.NewMask(token, words...)}} {
		for _, size := range []int{80, 32 << 10} {
			b.Run(fmt.Sprint(c.name, "/", size), func(b *testing.B) {
				out := output.New(output.Config{Limit: 1 << 62, Spill: discard, Progress: func(float64, string) {}})
				out.Mask(c.mask)
				piece := lines.Bytes()[:size]
				b.SetBytes(int64(size))
				for b.Loop() {
					if _, err := out.Both().Write(piece); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func discard() (io.Writer, error) { return io.Discard, nil }

func BenchmarkMaskBuild(b *testing.B) {
	for b.Loop() {
		output.NewMask(token).Bytes(token[:8])
	}
}
