package static

import (
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"
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
		data, err := fs.ReadFile(bundled, name)
		if err != nil {
			http.Error(w, "the file cannot be read", http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("ETag", `"`+name+`"`)
		http.ServeContent(w, r, name, time.Time{}, strings.NewReader(string(data)))
	})
}

// servable keeps back what is there for the build only.
func servable(name string) bool { return name != "manifest.json" && !strings.HasPrefix(name, ".") }
