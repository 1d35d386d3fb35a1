package blob

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"
)

func put(t testing.TB, s *Store, r io.Reader, options PutOptions) BinaryInfo {
	t.Helper()
	info, err := s.PutBinary(t.Context(), r, options)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestBinaryComesBackAsItWas(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	for name, test := range map[string]struct {
		size  int64
		known bool // the digest is given
	}{
		"one byte":              {1, false},
		"small":                 {100_000, true},
		"just under a part":     {partSize - 1, false},
		"a part":                {partSize, false},
		"parts, digest unknown": {2*partSize + 77, false},
		"parts, digest known":   {3*partSize + 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			seed := byte(test.size % 251)
			want := digestOf(t, noise(seed, test.size))
			options := PutOptions{MaxSize: test.size}
			if test.known {
				options.SHA256 = want
			}
			info := put(t, store, noise(seed, test.size), options)
			if info.SHA256 != want || info.Size != test.size || info.Existed || int64(len(info.Head)) != min(HeadSize, test.size) {
				t.Errorf("got %s of %d bytes, existed %v, head of %d", info.SHA256, info.Size, info.Existed, len(info.Head))
			}
			if again := put(t, store, noise(seed, test.size), options); !again.Existed || again.SHA256 != want {
				t.Errorf("the second time: %s, existed %v", again.SHA256, again.Existed)
			}
			reader, size, err := store.GetBinary(t.Context(), want)
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			if got := digestOf(t, reader); got != want || size != test.size {
				t.Errorf("came back as %s, %d bytes", got, size)
			}
		})
	}
	objects, uploads := keys(t, store)
	if len(objects) != 6 || len(uploads) != 0 {
		t.Errorf("stored: %v, uploads %v", objects, uploads)
	}
	for _, key := range objects {
		if !strings.HasPrefix(key, binariesFolder) {
			t.Errorf("left behind: %s", key)
		}
	}
}

func TestKindOfBinaryIsDetected(t *testing.T) {
	info := put(t, openStore(t), strings.NewReader("#!/bin/sh\necho hello\n"), PutOptions{})
	if info.Kind != KindScript || info.Interpreter != "/bin/sh" {
		t.Errorf("got %+v", info.Program)
	}
}

func TestBinaryInSmallReads(t *testing.T) {
	want := digestOf(t, noise(9, 10_000))
	info := put(t, openStore(t), iotest.OneByteReader(noise(9, 10_000)), PutOptions{})
	if info.SHA256 != want {
		t.Errorf("got %s, want %s", info.SHA256, want)
	}
}

func TestBrokenUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	broken := errors.New("the line is cut")
	var tooLarge *TooLargeError
	var digest *DigestError
	other := strings.Repeat("ab", 32)
	for name, test := range map[string]struct {
		reader  io.Reader
		options PutOptions
		check   func(error) bool
	}{
		"empty":             {strings.NewReader(""), PutOptions{}, func(err error) bool { return errors.Is(err, ErrEmpty) }},
		"breaks early":      {io.MultiReader(noise(1, 10), iotest.ErrReader(broken)), PutOptions{}, func(err error) bool { return errors.Is(err, broken) }},
		"breaks late":       {io.MultiReader(noise(1, 3*partSize), iotest.ErrReader(broken)), PutOptions{}, func(err error) bool { return errors.Is(err, broken) }},
		"too large":         {noise(1, 1001), PutOptions{MaxSize: 1000}, func(err error) bool { return errors.As(err, &tooLarge) && tooLarge.Limit == 1000 }},
		"a byte past parts": {noise(1, 2*partSize+1), PutOptions{MaxSize: 2 * partSize}, func(err error) bool { return errors.As(err, &tooLarge) }},
		"a byte past a part": {noise(1, partSize), PutOptions{MaxSize: partSize - 1},
			func(err error) bool { return errors.As(err, &tooLarge) }},
		"other digest, small": {noise(1, 1000), PutOptions{SHA256: other}, func(err error) bool { return errors.As(err, &digest) && digest.Want == other }},
		"other digest, parts": {noise(1, 3*partSize), PutOptions{SHA256: other}, func(err error) bool { return errors.As(err, &digest) }},
		"no digest":           {noise(1, 10), PutOptions{SHA256: "../escape"}, func(err error) bool { return err != nil }},
	} {
		t.Run(name, func(t *testing.T) {
			info, err := store.PutBinary(t.Context(), test.reader, test.options)
			if !test.check(err) {
				t.Errorf("got %v, %v", info.SHA256, err)
			}
			wantNothing(t, store)
		})
	}
}

// readerFunc is a reader made of a function.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestCancelledUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	for name, after := range map[string]int64{"at once": 0, "in the first part": 1000, "between parts": partSize, "in a later part": 2*partSize + 1000} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			source := noise(2, 4*partSize)
			var read int64
			_, err := store.PutBinary(ctx, readerFunc(func(p []byte) (int, error) {
				if read >= after {
					cancel()
				}
				n, err := source.Read(p)
				read += int64(n)
				return n, err
			}), PutOptions{})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			wantNothing(t, store)
		})
	}
}

func TestSameBytesAtOnceAreOneObject(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	const size = 2*partSize + 1
	want := digestOf(t, noise(3, size))
	results := make(chan error)
	for range 3 {
		go func() {
			info, err := store.PutBinary(t.Context(), noise(3, size), PutOptions{})
			if err == nil && info.SHA256 != want {
				err = &DigestError{Want: want, Got: info.SHA256}
			}
			results <- err
		}()
	}
	for range 3 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	objects, uploads := keys(t, store)
	if len(objects) != 1 || objects[0] != binariesFolder+want || len(uploads) != 0 {
		t.Errorf("stored %v, uploads %v", objects, uploads)
	}
}

func TestLargeBinaryIsCopiedInParts(t *testing.T) {
	store := openStore(t)
	store.copyLimit, store.copyPart = partSize, 5<<20
	const size = 2*partSize + 123
	info := put(t, store, noise(4, size), PutOptions{})
	reader, _, err := store.GetBinary(t.Context(), info.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if n, err := io.Copy(io.Discard, reader); n != size || err != nil { // the reader verifies
		t.Errorf("got %d bytes, %v", n, err)
	}
	if objects, uploads := keys(t, store); len(objects) != 1 || len(uploads) != 0 {
		t.Errorf("stored %v, uploads %v", objects, uploads)
	}
}

func TestDamagedBinaryIsNoticedAndMended(t *testing.T) {
	store := openStore(t)
	info := put(t, store, strings.NewReader("the right bytes"), PutOptions{})
	key := store.binaryKey(info.SHA256)
	if err := store.putSmall(t.Context(), key, []byte("the wrong bytes")); err != nil {
		t.Fatal(err)
	}
	reader, _, err := store.GetBinary(t.Context(), info.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var damaged *DigestError
	if _, err := io.Copy(io.Discard, reader); !errors.As(err, &damaged) || damaged.Want != info.SHA256 {
		t.Fatalf("got %v", err)
	}
	// A shortened object is replaced by the next upload.
	if err := store.putSmall(t.Context(), key, []byte("cut")); err != nil {
		t.Fatal(err)
	}
	if again := put(t, store, strings.NewReader("the right bytes"), PutOptions{}); again.Existed {
		t.Error("the damaged object was taken for the binary")
	}
	data, err := store.getSmall(t.Context(), key)
	if err != nil || string(data) != "the right bytes" {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestMissingAndDeletedBinaries(t *testing.T) {
	store := openStore(t)
	missing := strings.Repeat("00", 32)
	if _, _, err := store.GetBinary(t.Context(), missing); !errors.Is(err, ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if found, err := store.HasBinary(t.Context(), missing); found || err != nil {
		t.Errorf("has: %v, %v", found, err)
	}
	if err := store.DeleteBinary(t.Context(), missing); err != nil {
		t.Errorf("delete: %v", err)
	}
	info := put(t, store, strings.NewReader("data"), PutOptions{})
	if found, err := store.HasBinary(t.Context(), info.SHA256); !found || err != nil {
		t.Errorf("has: %v, %v", found, err)
	}
	if err := store.DeleteBinary(t.Context(), info.SHA256); err != nil {
		t.Error(err)
	}
	wantNothing(t, store)
	for _, digest := range []string{"", "../tidewheel.json", strings.Repeat("AB", 32), missing + "00"} {
		if _, err := store.HasBinary(t.Context(), digest); err == nil {
			t.Errorf("%q was taken for a digest", digest)
		}
	}
}

func TestSweepRemovesOnlyWhatIsOld(t *testing.T) {
	store := openStore(t)
	kept := put(t, store, strings.NewReader("kept"), PutOptions{})
	left, err := store.startUpload(t.Context(), store.prefix+stagingFolder+"killed")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := left.send(t.Context(), 0, []byte("part")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.startUpload(t.Context(), store.binaryKey(strings.Repeat("cd", 32))); err != nil {
		t.Fatal(err)
	}
	if err := store.putSmall(t.Context(), store.prefix+stagingFolder+"done", []byte("staged")); err != nil {
		t.Fatal(err)
	}
	if swept, err := store.SweepUploads(t.Context(), time.Hour); swept != 0 || err != nil {
		t.Errorf("young ones: swept %d, %v", swept, err)
	}
	if swept, err := store.SweepUploads(t.Context(), -time.Hour); swept != 3 || err != nil {
		t.Errorf("swept %d, %v", swept, err)
	}
	objects, uploads := keys(t, store)
	if len(objects) != 1 || objects[0] != store.binaryKey(kept.SHA256) || len(uploads) != 0 {
		t.Errorf("stored %v, uploads %v", objects, uploads)
	}
}

// proxy stands before the gateway and lets a test break answers.
func proxy(t *testing.T, handler func(next http.Handler) http.Handler) string {
	t.Helper()
	target, err := url.Parse(server.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	forward := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		Transport: transport,
	}
	front := newServer(t, handler(forward))
	t.Cleanup(transport.CloseIdleConnections)
	return front
}

func TestMissingIsOnlyWhatS3SaysIsMissing(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	endpoint := proxy(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if away.Load() {
				http.NotFound(w, r) // as a proxy whose server is being replaced
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	behind := config(t)
	behind.Endpoint = endpoint
	store, err := Open(t.Context(), behind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	missing := strings.Repeat("00", 32)
	if _, _, err := store.GetBinary(t.Context(), missing); !errors.Is(err, ErrNotFound) {
		t.Errorf("S3 answers: %v", err)
	}
	away.Store(true)
	if _, _, err := store.GetBinary(t.Context(), missing); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("a proxy answers: %v", err)
	}
	away.Store(false)
	gone := *store
	gone.bucket += "-gone"
	if _, _, err := gone.GetBinary(t.Context(), missing); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("the bucket is gone: %v", err)
	}
}

func TestInterruptedDownloadResumes(t *testing.T) {
	t.Parallel()
	var breaks atomic.Int32
	endpoint := proxy(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, binariesFolder) && breaks.Add(-1) >= 0 {
				w = &cutWriter{ResponseWriter: w, left: 100_000}
			}
			next.ServeHTTP(w, r)
		})
	})
	broken := config(t)
	broken.Endpoint = endpoint
	store, err := Open(t.Context(), broken)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	const size = 1_000_000
	info := put(t, store, noise(5, size), PutOptions{})
	breaks.Store(3)
	reader, _, err := store.GetBinary(t.Context(), info.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if n, err := io.Copy(io.Discard, reader); n != size || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
	if breaks.Load() > 0 {
		t.Error("the download was never broken")
	}
}

// cutWriter drops the connection after so many bytes of an answer.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (c *cutWriter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; c.left == 0 {
		if flusher, ok := c.ResponseWriter.(http.Flusher); ok {
			flusher.Flush()
		}
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// putAndMeasure uploads and returns how far the heap grew meanwhile. The gateway
// runs in the same process and is measured with the client.
func putAndMeasure(t testing.TB, s *Store, source io.Reader) (grown int64) {
	t.Helper()
	runtime.GC()
	runtime.GC() // the second one empties the pools
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	calls := 0
	put(t, s, readerFunc(func(p []byte) (int, error) {
		if calls++; calls%64 == 0 {
			runtime.ReadMemStats(&now)
			grown = max(grown, int64(now.HeapInuse)-int64(before.HeapInuse))
		}
		return source.Read(p[:min(len(p), 32<<10)])
	}), PutOptions{})
	return grown
}

func TestUploadMemoryIsBounded(t *testing.T) {
	const size = 64 << 20
	grown := putAndMeasure(t, openStore(t), noise(6, size))
	// Twice the client's three parts is still far from the whole upload.
	if grown > 48<<20 || grown == 0 {
		t.Errorf("an upload of %d MiB took %d MiB of heap", size>>20, grown>>20)
	}
	t.Logf("an upload of %d MiB took %d MiB of heap", size>>20, grown>>20)
}

func BenchmarkPutBinary2GiB(b *testing.B) {
	store := openStore(b)
	var grown int64
	b.SetBytes(2 << 30)
	for i := 0; b.Loop(); i++ {
		grown = max(grown, putAndMeasure(b, store, noise(byte(100+i), 2<<30)))
	}
	b.ReportMetric(float64(grown>>20), "heap-MiB")
}

func BenchmarkPutBinary1MiB(b *testing.B) {
	store := openStore(b)
	data, err := io.ReadAll(noise(7, 1<<20))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for i := 0; b.Loop(); i++ {
		data[0], data[1], data[2], data[3] = byte(i), byte(i>>8), byte(i>>16), byte(i>>24)
		put(b, store, bytes.NewReader(data), PutOptions{})
	}
}

func BenchmarkGetBinary1MiB(b *testing.B) {
	store := openStore(b)
	info := put(b, store, noise(8, 1<<20), PutOptions{})
	b.SetBytes(info.Size)
	for b.Loop() {
		reader, _, err := store.GetBinary(b.Context(), info.SHA256)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, reader); err != nil {
			b.Fatal(err)
		}
		if err := reader.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
