package archtest

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestImportsFollowTheDesign(t *testing.T) {
	root := os.DirFS("../..")
	if _, err := root.Open("go.mod"); err != nil {
		t.Fatalf("this is not below the module's root: %v", err)
	}
	problems, err := check(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
}

func TestTableIsSound(t *testing.T) {
	var seen []string
	for _, r := range rules {
		if slices.Contains(seen, r.pkg) {
			t.Errorf("%s has two lines", r.pkg)
		}
		seen = append(seen, r.pkg)
		for word := range strings.FieldsSeq(r.may + " " + r.tests) {
			if _, known := ruleFor(word); !known && word != "*" {
				t.Errorf("%s may import %s, which has no line", r.pkg, word)
			}
			if strings.HasPrefix(word, "cmd/") {
				t.Errorf("%s may import %s, but no package imports the command", r.pkg, word)
			}
		}
		for word := range strings.FieldsSeq(r.may) {
			to, _ := ruleFor(word)
			if r.adapter && to.adapter {
				t.Errorf("the adapter %s may import the adapter %s", r.pkg, word)
			}
			inside := r.pkg == "web" || strings.HasPrefix(r.pkg, "web/") && word == "web/service"
			if word == "web" || strings.HasPrefix(word, "web/") && !inside {
				t.Errorf("%s may import %s, but no package imports the web", r.pkg, word)
			}
			if r.pure && !to.pure && r.pkg != "engine/sim" {
				t.Errorf("%s is pure and may import %s, which is not", r.pkg, word)
			}
		}
	}
	for _, owner := range owners {
		for word := range strings.FieldsSeq(owner.packages) {
			if _, known := ruleFor(word); !known {
				t.Errorf("%s is owned by %s, which has no line", owner.module, word)
			}
		}
	}
}

// A checker that finds nothing would pass every tree.
func TestCheckerFinds(t *testing.T) {
	const own = `"` + modulePath + `/`
	for _, c := range []struct {
		name, file, body string
		want             string // one problem; empty: none
	}{
		{"a package without a line", "surprise/a.go", ``,
			"surprise/a.go:1:1: package surprise is missing from the table in internal/archtest/rules_test.go"},
		{"an arrow upwards", "cron/a.go", `import ` + own + `spec"`, "cron/a.go:2:8: cron may not import spec"},
		{"an arrow of the table", "spec/a.go", `import ` + own + `cron"`, ""},
		{"an adapter in an adapter", "store/sqlite/a.go", `import ` + own + `store/memory"`,
			"store/sqlite/a.go:2:8: store/sqlite may not import store/memory"},
		{"an adapter in another's test", "store/sqlite/a_test.go", `import ` + own + `store/memory"`,
			"store/sqlite/a_test.go:2:8: store/sqlite may not import store/memory"},
		{"the suite in an adapter's test", "store/sqlite/a_test.go", `import ` + own + `store/storetest"`, ""},
		{"a test of the package from outside", "engine/a_test.go", `import ` + own + `engine"`, ""},
		{"an adapter in the core's test", "engine/a_test.go", `import ` + own + `store/memory"`, ""},
		{"the web below it", "executor/a_test.go", `import ` + own + `web/api"`,
			"executor/a_test.go:2:8: executor may not import web/api"},
		{"the web in the command", "cmd/tidewheel/a.go", `import ` + own + `web"`, ""},
		{"the driver outside its adapter", "web/api/a.go", `import "go.mongodb.org/mongo-driver/v2/bson"`,
			"web/api/a.go:2:8: only store/mongo may import go.mongodb.org/mongo-driver/v2/bson"},
		{"the driver in a test outside its adapter", "engine/shard/a_test.go", `import "github.com/nats-io/nats.go"`,
			"engine/shard/a_test.go:2:8: only queue/jetstream queue/jetstream/natstest may import github.com/nats-io/nats.go"},
		{"the driver in its adapter", "store/mongo/a.go", `import "go.mongodb.org/mongo-driver/v2/bson"`, ""},
		{"files in a pure package", "cron/a.go", `import "os"`, "cron/a.go:2:8: cron is pure and may not import os"},
		{"sockets in a pure package", "spec/a.go", `import "net/http"`,
			"spec/a.go:2:8: spec is pure and may not import net/http"},
		{"logging in a pure package", "engine/a.go", `import "log/slog"`,
			"engine/a.go:2:8: engine is pure and may not import log/slog"},
		{"true randomness in a pure package", "engine/a.go", `import "crypto/rand"`,
			"engine/a.go:2:8: engine is pure and may not import crypto/rand"},
		{"an URL in a pure package", "spec/a.go", `import "net/url"`, ""},
		{"files in a pure package's test", "cron/a_test.go", `import "os"`, ""},
		{"a library in a pure package", "engine/wheel/a.go", `import "golang.org/x/sync/errgroup"`,
			"engine/wheel/a.go:2:8: engine/wheel is pure and may not import golang.org/x/sync/errgroup"},
		{"its own library in a pure package", "spec/a.go", `import "go.yaml.in/yaml/v3"`, ""},
		{"a clock", "engine/a.go", "import clock \"time\"\nvar now = clock.Now()",
			"engine/a.go:3:11: engine is pure and may not use clock.Now"},
		{"a clock without its name", "engine/a.go", "import . \"time\"\nvar now = Now()",
			"engine/a.go:2:8: engine is pure and may not import time into its own names"},
		{"a clock in a test", "engine/a_test.go", "import \"time\"\nvar now = time.Now()", ""},
		{"arithmetic on time", "engine/a.go", "import \"time\"\nvar epoch = time.Unix(0, 0)", ""},
		{"a clock in the shell", "engine/shard/a.go", "import \"time\"\nvar now = time.Now()", ""},
		{"hidden randomness", "engine/a.go", "import \"math/rand/v2\"\nvar n = rand.IntN(6)",
			"engine/a.go:3:9: engine is pure and may not use rand.IntN"},
		{"given randomness", "engine/a.go", "import \"math/rand/v2\"\nfunc f(r *rand.Rand) int { return r.IntN(6) }", ""},
		{"a goroutine", "engine/a.go", "func f() { go f() }", "engine/a.go:2:12: engine is pure and may not start a goroutine"},
		{"another module", "store/mongo/mongotest/a.go", `import "os/exec"`, ""},
		{"an example that leans on Tidewheel", "examples/report/a.go", `import ` + own + `client"`,
			"examples/report/a.go:2:8: examples/report may not import client"},
		{"a file for another system", "cron/a_windows.go", "import \"os\"", "cron/a_windows.go:2:8: cron is pure and may not import os"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := check(fstest.MapFS{
				"go.mod":                       {},
				"store/mongo/mongotest/go.mod": {},
				c.file:                         {Data: []byte("package a\n" + c.body)},
			})
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
