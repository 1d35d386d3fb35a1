package archtest

// rule defines what one package may import. Paths are below the module's own, lists are separated by spaces.
type rule struct {
	pkg string
	// may lists the packages of Tidewheel that it may import; "*" is all of them.
	may string
	// pure forbids files, sockets, processes, logging, clocks, goroutines and hidden randomness, and every module but
	// those in libraries. Test files are free of it.
	pure      bool
	libraries string
	// adapter: implements a port of another package, and imports no other adapter, not even in its tests.
	adapter bool
	// tests lists what its test files may import beyond what every test file may (see testMayImport).
	tests string
}

// rules is ordered from the core outwards. "x/..." stands for every package below x that has no line of its own.
var rules = []rule{
	{pkg: "cron", pure: true, libraries: "github.com/adhocore/gronx"},
	{pkg: "dag", pure: true},
	{pkg: "dag/condition", pure: true, libraries: "github.com/expr-lang/expr"},
	{pkg: "spec", pure: true, may: "cron dag dag/condition", libraries: "go.yaml.in/yaml/v3 github.com/invopop/jsonschema"},
	{pkg: "importer", pure: true, may: "spec dag", libraries: "go.yaml.in/yaml/v3"}, // definitions of other schedulers
	{pkg: "engine/wheel", pure: true},
	{pkg: "engine", pure: true, may: "spec"},
	{pkg: "audit", may: "engine", tests: "store/memory"},
	{pkg: "access", may: "engine spec", tests: "store/memory"},
	{pkg: "enrol", may: "engine spec", tests: "store/memory"}, // executors that have credentials of their own
	{pkg: "engine/plan", pure: true, may: "engine spec cron"},
	{pkg: "engine/attempt", pure: true, may: "engine spec"},
	{pkg: "engine/wave", pure: true, may: "engine spec cron dag dag/condition"},
	{pkg: "engine/incident", pure: true, may: "engine engine/wheel spec"},
	{pkg: "engine/core", pure: true, may: "engine engine/plan engine/attempt engine/wave engine/incident engine/wheel spec cron dag"},
	{pkg: "engine/lease", pure: true, may: "engine"},
	{pkg: "engine/shard", may: "engine engine/core engine/lease engine/wheel spec cron dag internal/logthrottle"},
	{pkg: "engine/sim", pure: true, may: "engine engine/attempt engine/core engine/wave engine/lease engine/shard engine/wheel spec cron dag store/memory"},

	{pkg: "secret", may: "engine", tests: "store/memory"}, // values that programs need: sealed by the web, opened by executors

	{pkg: "internal/outgoing"}, // connections to addresses that users name
	{pkg: "notify", may: "engine spec secret internal/outgoing", tests: "store/memory"},
	{pkg: "notify/send", may: "notify engine spec internal/outgoing", tests: "secret store/memory"}, // the wires of notifications
	{pkg: "notify/watch", may: "notify engine spec", tests: "store/memory secret"},                  // what concerns the whole installation

	{pkg: "trigger", may: "engine spec", tests: "store/memory"}, // events that start runs

	{pkg: "internal/tracing", may: "engine internal/logthrottle"}, // what runs did, for OpenTelemetry
	{pkg: "internal/certs"}, // certificates from files that are replaced
	{pkg: "internal/certs/certstest"},
	{pkg: "signing"}, // proofs that an engine made a message: made by engines, checked by executors

	{pkg: "internal/runtoken"},    // what a program shows to the API: made by executors, checked by the web
	{pkg: "internal/logthrottle"}, // one log line per second and subject

	{pkg: "executor", may: "engine spec executor/process executor/cache executor/output internal/runtoken internal/logthrottle"},
	{pkg: "executor/process"}, // starting, bounding and ending programs: knows nothing of runs
	{pkg: "executor/cache"},
	{pkg: "executor/output", may: "engine"},

	{pkg: "store/memory", adapter: true, may: "engine spec"},
	{pkg: "store/sqlite", adapter: true, may: "engine spec"},
	{pkg: "store/mongo", adapter: true, may: "engine spec"},
	{pkg: "store/storetest", may: "engine spec"},
	// The ports and the few types they speak of are declared by their consumers.
	{pkg: "queue/jetstream", adapter: true, may: "engine engine/core engine/lease engine/shard executor signing spec"},
	{pkg: "queue/jetstream/natstest"},
	{pkg: "queue/queuetest", may: "engine engine/core engine/lease engine/shard executor spec"},
	{pkg: "blob", adapter: true, may: "blob/gateway"},
	{pkg: "blob/gateway"},
	{pkg: "moving", may: "engine"}, // stores and buckets are its ports

	{pkg: "docs"}, // the documents as pages
	{pkg: "static"},
	{pkg: "templates"},
	{pkg: "web/service", may: "access audit engine engine/wave enrol notify spec cron dag secret trigger", tests: "web/webtest engine/core engine/shard"},
	{pkg: "web/auth", may: "access engine internal/runtoken web/service", tests: "store/memory"},
	{pkg: "web/issuer", may: "access"},
	{pkg: "web/webtest", may: "access engine notify spec secret web/service store/memory store/storetest"},
	{pkg: "web/api", may: "access audit engine enrol notify spec cron dag secret trigger web/service client/wire", tests: "web/webtest"},
	{pkg: "web/ui", may: "access audit engine engine/wave notify spec cron dag secret docs templates static web/service", tests: "web web/auth web/webtest"},
	{pkg: "web", may: "access audit engine spec client/wire web/api web/auth web/issuer web/ui web/service static", tests: "web/webtest"},
	// What the API says is said once, for both its ends.
	{pkg: "client/wire", may: "engine spec"},
	{pkg: "client", may: "engine spec client/wire", tests: "access web web/api web/auth web/service web/webtest"},

	{pkg: "cmd/tidewheel", may: "*"},
	{pkg: "bench", may: "*"},
	{pkg: "bench/..."}, // programs that it runs
	{pkg: "e2e", may: "engine client client/wire blob queue/jetstream/natstest"}, // what other programs send: objects and messages
	{pkg: "e2e/chaos", may: "engine engine/core client client/wire executor queue/jetstream", tests: "e2e"},
	{pkg: "e2e/upgrade", may: "e2e engine client client/wire"},
	{pkg: "e2e/chaos/witness"}, // a program that it runs
	{pkg: "examples", tests: "spec"},
	{pkg: "examples/..."}, // programs that Tidewheel runs, so they stand alone
	{pkg: "internal/archtest"},
	{pkg: "internal/mutants", may: "engine/sim"},
	{pkg: "internal/simcover"},
	{pkg: "internal/clientgen"},
}

// owners defines which packages, and no others, may import a module. Test files are held to it too. A path stands for
// all that begins with it.
var owners = []struct{ module, packages string }{
	{"go.mongodb.org/mongo-driver", "store/mongo"},
	{"modernc.org/sqlite", "store/sqlite bench"},
	{"github.com/tinylib/msgp", "store/sqlite"},
	{"github.com/nats-io", "queue/jetstream queue/jetstream/natstest"},
	{"github.com/mailru/easyjson", "queue/jetstream"},
	{"github.com/aws", "blob blob/gateway"},
	{"github.com/versity/versitygw", "blob blob/gateway"},
	{"github.com/gofiber", "blob blob/gateway"},
	{"github.com/adhocore/gronx", "cron"},
	{"github.com/expr-lang/expr", "dag/condition"},
	{"github.com/labstack/echo", "web web/api web/ui cmd/tidewheel"},
	{"github.com/danielgtaylor/huma", "web web/api"},
	{"github.com/golang-jwt", "internal/runtoken"},
	{"filippo.io/age", "secret"},
	{"github.com/wneessen/go-mail", "notify/send"},
	{"github.com/standard-webhooks", "notify/send trigger cmd/tidewheel e2e"}, // tests of e2e check signatures as receivers do
	{"github.com/emersion", "notify/send cmd/tidewheel e2e"},                  // their tests receive e-mail
	{"golang.org/x/crypto", "access"},
	{"golang.org/x/time", "access web web/service"},
	{"github.com/coreos/go-oidc", "web/issuer"},
	{"golang.org/x/oauth2", "web/issuer"},
	{"golang.org/x/term", "cmd/tidewheel"},
	{"golang.org/x/net", "web/ui internal/outgoing"}, // tests read the pages, and answer for DNS
	{"github.com/a-h/templ", "templates web/ui"},
	{"github.com/spf13", "cmd/tidewheel"},
	{"go.opentelemetry.io", "internal/tracing cmd/tidewheel"}, // a test of the command is the collector
	{"github.com/vbauerster/mpb", "cmd/tidewheel"},
	{"github.com/klauspost/compress", "moving e2e/upgrade"},
	{"github.com/aymanbagabas/go-udiff", "web/service web/ui"},
	{"github.com/yuin/goldmark", "docs"},
	{"golang.org/x/tools", "internal/simcover"},
}

// impureImports are the packages of the standard library through which a pure package would touch the world. A path
// stands for all below it, too.
var impureImports = []string{
	"crypto/rand", "database/sql", "io/ioutil", "log", "net", "os", "os/exec", "os/signal", "os/user", "plugin",
	"runtime/debug", "syscall", "testing", "unsafe",
}

// pureImports are exceptions below impureImports: packages of values, not of sockets.
var pureImports = []string{"net/mail", "net/netip", "net/url"}

// impureNames are what a pure package may not name in packages that it may import.
var impureNames = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"},
	// The functions that draw from the shared, randomly seeded source; a *rand.Rand is fine.
	"math/rand":    randomFunctions,
	"math/rand/v2": randomFunctions,
}

var randomFunctions = []string{
	"ExpFloat64", "Float32", "Float64", "Int", "Int31", "Int31n", "Int32", "Int32N", "Int63", "Int63n", "Int64",
	"Int64N", "IntN", "Intn", "N", "NormFloat64", "Perm", "Read", "Seed", "Shuffle", "Uint", "Uint32", "Uint32N",
	"Uint64", "Uint64N", "UintN",
}
