package upgrade

import (
	"flag"
	"os"
	"testing"

	"github.com/tidewheel/tidewheel/e2e"
)

// TestMain lets all fixtures be looked at side by side: most of the time they wait for runs that were queued unsigned.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// current is the fixture whose schema is this version's.
const current = "schema-15"

func TestDataOfEarlierVersions(t *testing.T) {
	t.Parallel()
	program, err := e2e.Build(t.Context(), e2e.Folder(t))
	if err != nil {
		t.Fatal(err)
	}
	names := Names(t, "schema-")
	if len(names) < 5 {
		t.Fatalf("the fixtures are %v", names)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			Check(t, program, name, name != current, func(string) []string { return nil })
		})
	}
}
