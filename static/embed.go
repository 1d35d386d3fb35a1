package static

import (
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Prefix is the path below which Handler wants to be served.
const Prefix = "/static/"

//go:embed all:dist
var files embed.FS

// FS is what was bundled, under the hashed names.
func FS() fs.FS {
	below, err := fs.Sub(files, "dist")
	if err != nil {
		return files // "dist" is a valid path, so it never fails
	}
	return below
}

// manifest maps plain names to hashed ones; it is empty where nothing was bundled.
var manifest = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	data, err := fs.ReadFile(FS(), "manifest.json")
	if err != nil || json.Unmarshal(data, &names) != nil {
		return map[string]string{}
	}
	return names
})

// Built reports whether the assets were bundled before the program was compiled.
func Built() bool { return len(manifest()) > 0 }

// URL is where a bundled file is served: "/static/app.<hash>.js" for "app.js"; "" if there is none.
func URL(name string) string {
	hashed, ok := manifest()[name]
	if !ok {
		return ""
	}
	return Prefix + hashed
}

// Handler serves the bundled files below Prefix, to be kept for ever: a changed file has another name.
func Handler() http.Handler { return serve(FS()) }

func serve(bundled fs.FS) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, Prefix)
		info, err := fs.Stat(bundled, name)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		if err != nil || info.IsDir() || !servable(name) {
			// Not to be kept: while a server is replaced, its successor may have the file a moment later.
			w.Header().Set("Cache-Control", "no-store")
			http.Error(w, "there is no such file: load the page again", http.StatusNotFound)
			return
		}
		h := w.Header()
		data, encoding, err := encoded(bundled, name, r.Header.Values("Accept-Encoding"))
		if err != nil {
			http.Error(w, "the file cannot be read", http.StatusInternalServerError)
			return
		}
		if encoding != "" {
			h.Set("Content-Encoding", encoding)
		}
		h.Set("Vary", "Accept-Encoding")
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("ETag", `"`+name+encoding+`"`)
		http.ServeContent(w, r, name, time.Time{}, strings.NewReader(string(data)))
	})
}

// encodings are the compressed forms that the build leaves beside a file, the smallest first.
var encodings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// encoded returns a file in the smallest form that is there and that the headers accept, and the name of its encoding, "" for none.
func encoded(bundled fs.FS, name string, accept []string) (data []byte, encoding string, err error) {
	for _, one := range encodings {
		if !accepts(accept, one.name) {
			continue
		}
		if data, err := fs.ReadFile(bundled, name+one.suffix); err == nil {
			return data, one.name, nil
		}
	}
	data, err = fs.ReadFile(bundled, name)
	return data, "", err
}

// accepts reports whether one of some Accept-Encoding headers names an encoding, and does not rule it out by q=0.
func accepts(headers []string, encoding string) bool {
	for _, header := range headers {
		for one := range strings.SplitSeq(header, ",") {
			name, weight, weighed := strings.Cut(one, ";")
			if strings.EqualFold(strings.TrimSpace(name), encoding) {
				q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
				return !weighed || err == nil && q > 0
			}
		}
	}
	return false
}

// servable keeps back what is there for the build only.
func servable(name string) bool {
	return name != "manifest.json" && !strings.HasPrefix(name, ".") && !slices.ContainsFunc(encodings, func(one struct{ name, suffix string }) bool {
		return strings.HasSuffix(name, one.suffix)
	})
}
