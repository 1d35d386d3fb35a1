package main

import (
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/notify"
	"github.com/tidewheel/tidewheel/queue/jetstream"
	"github.com/tidewheel/tidewheel/spec"
	oidc "github.com/tidewheel/tidewheel/web/issuer"
)

// The roles of a node.
const (
	roleEngine   = "engine"
	roleExecutor = "executor"
	roleWeb      = "web"
)

const (
	defaultHTTP      = "127.0.0.1:8080"
	defaultData      = "./data"
	defaultRetention = 30 * 24 * time.Hour
	defaultDrain     = 30 * time.Second
	defaultFetch     = 2 * time.Minute
	defaultLockTTL   = 10 * time.Second
	defaultMaxBinary = spec.Size(4 << 30)
	defaultCache     = spec.Size(10 << 30)
	// defaultConnections is enough for some dozens of people behind one address: a browser opens six at most.
	defaultConnections = 256
	// defaultRequests is more than a person or a script needs, and less than what slows the pages of others.
	defaultRequests = 100
	// defaultBacklog takes an engine some hundred megabytes.
	defaultBacklog = 200_000
	defaultResults = spec.Size(4 << 30)
	// slotsPerCPU: most jobs wait for something else than a processor.
	slotsPerCPU = 8
)

// ServerConfig is what the flags of `tidewheel server` say.
type ServerConfig struct {
	Data string // folder of everything that is embedded
	HTTP string // host:port of the pages and the API
	// TLSCert and TLSKey are the files of this server's certificate; "": it listens without TLS.
	TLSCert, TLSKey string
	// MetricsListen is where /metrics, /livez and /readyz are answered, too; "": nowhere.
	MetricsListen string
	// MetricsTokenFile is of a token that opens /metrics and nothing else; "": there is none.
	MetricsTokenFile string
	MetricsOpen      bool // /metrics needs no token
	// ConnectionsPerAddress bounds the connections of one address to the pages and the API; 0 does not. Loopback and
	// TrustedProxies are not bounded.
	ConnectionsPerAddress int
	// RequestsPerSecond bounds the requests of one identity, and of one address without valid credentials; 0 does not.
	RequestsPerSecond int
	// MaxBacklog is how many runs of a tier may wait before manual runs are refused; 0 is any number.
	MaxBacklog     int
	TrustedProxies []netip.Prefix
	Roles          []string

	MongoURI string

	NATSURL         string
	NATSCredentials string // user:password, a token, or the path of a .creds file
	NATSTLS         jetstream.TLS
	NATSListen      string // the embedded NATS listens here too
	Replicas        int

	S3Endpoint, S3Bucket, S3Region string
	S3AccessKey, S3SecretKey       string
	S3CAFile                       string // of the authorities to trust at S3Endpoint; "": the machine's
	S3Listen                       string // the embedded gateway listens here; by default a free port of loopback

	Tier string // light, medium, heavy or all
	// Labels are what jobs may ask for by runs_on, beside those that the executor has by itself.
	Labels    map[string]string
	Slots     int // how many jobs run at once; 0: slotsPerCPU for each processor
	CacheSize spec.Size
	Drain     time.Duration
	LockTTL   time.Duration // how long the lock of an executor that died is kept; the same on all nodes
	// FetchTimeout is how long an executor waits for a program's bytes before it hands the attempt back.
	FetchTimeout time.Duration
	AllowRoot    bool
	RunAs        string // user or uid[:gid] that jobs run as
	Sandbox      string // strict, standard or off: what keeps jobs from this server and from each other

	// APIURL is where programs reach the API; "" for the address of HTTP, where this node serves it.
	APIURL string

	// TriggerBuckets are the buckets of S3 whose objects may start runs, and of which namespaces.
	TriggerBuckets []triggerBucket

	// OIDC is the provider where users sign in, too; its Issuer is "" for none.
	OIDC oidc.Config

	// PublicURL is where people reach the pages, for links; "": see publicURL.
	PublicURL string
	// OTLPEndpoint is the collector of traces, "" for what the variables of OpenTelemetry say; TraceURL is where people see one.
	OTLPEndpoint, TraceURL string
	// SMTPURL is the server that e-mail is sent by, "" for none, and SMTPFrom whom it comes from.
	SMTPURL, SMTPFrom, SMTPPassword string

	Auth      bool
	TokenFile string // of the root token; "": one in the data folder, made when it is missing
	MaxBinary spec.Size
	// ResultsLimit is how many bytes of reports that no engine has dealt with the queue may hold before executors take nothing new.
	ResultsLimit spec.Size
	Demo         bool

	// How long things are kept; see retention.
	Retention, RetentionOutput, RetentionDeadLetters, RetentionOneOff, RetentionGenerations, RetentionBinaries, RetentionAudit, RetentionNotifications time.Duration

	LogLevel  slog.Level
	LogFormat string // text or json

	// Given are the names of the settings that a flag, the environment or the file made.
	Given []string

	// SecretsKey is the key of secrets, or where it comes from; at most one of them is given.
	SecretsKey, SecretsKeyFile, SecretsKeyCommand string

	// TaskKeysFile and TaskKeysCommand name where the keys of tasks come from; at most one is given.
	TaskKeysFile, TaskKeysCommand string

	// Enrolment is the folder of an executor that has credentials of its own; "": it uses NATSCredentials.
	Enrolment string
	// JoinTokenFile is of the token that an executor without an enrolment enrols itself with; JoinTokensFile is where web nodes know them.
	JoinTokenFile, JoinTokensFile string
	// NATSAccountKeyFile is of the seed of a key that signs credentials of executors, for the NATS account NATSAccount ("": the key's
	// own). CredentialsTTL is their life; 0 is enrol.DefaultLife.
	NATSAccountKeyFile, NATSAccount string
	CredentialsTTL                  time.Duration

	// SecretFiles are those that settings were read from, beside TokenFile and MetricsTokenFile.
	SecretFiles []string

	// StateFolder is where the command line of the same user finds the token; empty: nowhere.
	StateFolder string
}

// validate refuses what cannot work, and fills in what was left open.
func (c *ServerConfig) validate() error {
	if err := c.validateRoles(); err != nil {
		return err
	}
	if c.Data == "" {
		return usage("--data: name the folder to keep everything in")
	}
	if err := c.validateAddresses(); err != nil {
		return err
	}
	if c.Slots < 0 || c.Slots > 10_000 {
		return usage("--slots %d: how many jobs may run at once, from 1 to 10000? (0 is %d for each processor)", c.Slots, slotsPerCPU)
	}
	if c.ConnectionsPerAddress < 0 {
		return usage("--connections-per-address %d: how many may there be? (0 is any number)", c.ConnectionsPerAddress)
	}
	if c.RequestsPerSecond < 0 {
		return usage("--requests-per-second %d: how many may there be? (0 is any number)", c.RequestsPerSecond)
	}
	if c.MaxBacklog < 0 {
		return usage("--max-backlog %d: how many may wait? (0 is any number)", c.MaxBacklog)
	}
	if c.Slots == 0 {
		c.Slots = slotsPerCPU * runtime.NumCPU()
	}
	switch c.Tier {
	case "":
		c.Tier = "all"
	case "all", string(spec.TierLight), string(spec.TierMedium), string(spec.TierHeavy):
	default:
		return usage("--tier: %q is no tier: use light, medium, heavy or all", c.Tier)
	}
	if err := c.validateSandbox(); err != nil {
		return err
	}
	if c.Drain <= 0 {
		c.Drain = defaultDrain
	}
	if c.FetchTimeout == 0 {
		c.FetchTimeout = defaultFetch
	}
	if c.FetchTimeout < time.Second || c.FetchTimeout > time.Hour {
		return usage("--fetch-timeout %s: use 1s to 1h", c.FetchTimeout)
	}
	if c.LockTTL == 0 {
		c.LockTTL = defaultLockTTL
	}
	if c.LockTTL < time.Second || c.LockTTL > 5*time.Minute {
		return usage("--lock-ttl %s: use 1s to 5m", c.LockTTL)
	}
	if c.MaxBinary <= 0 {
		c.MaxBinary = defaultMaxBinary
	}
	if c.ResultsLimit <= 0 {
		c.ResultsLimit = defaultResults
	}
	if c.CacheSize <= 0 {
		c.CacheSize = defaultCache
	}
	if c.RetentionNotifications != 0 && c.RetentionNotifications < notify.LeastKept {
		return usage("--retention-notifications: %s is less than a day: give 1d or more, or 0 for ever", c.RetentionNotifications)
	}
	if c.Retention < 0 {
		return usage("--retention: %s is negative: how long is history kept?", c.Retention)
	}
	if err := c.validateUsed(); err != nil {
		return err
	}
	if err := c.validateSecretsKey(); err != nil {
		return err
	}
	if err := c.validateTaskKeys(); err != nil {
		return err
	}
	if err := c.validateOIDC(); err != nil {
		return err
	}
	if err := c.validateTraces(); err != nil {
		return err
	}
	if err := c.validateNotify(); err != nil {
		return err
	}
	if err := c.validateEnrolment(); err != nil {
		return err
	}
	if (c.S3AccessKey == "") != (c.S3SecretKey == "") {
		return usage("--s3-access-key and --s3-secret-key belong together: give both, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	if !slices.Contains([]int{0, 1, 3, 5}, c.Replicas) {
		return usage("--nats-replicas %d: use 1, 3 or 5", c.Replicas)
	}
	switch c.LogFormat {
	case "":
		c.LogFormat = "text"
	case "text", "json":
	default:
		return usage("--log-format %q: use text or json", c.LogFormat)
	}
	return nil
}

func (c *ServerConfig) retention() retention {
	return retention{
		History: c.Retention, Output: c.RetentionOutput, DeadLetters: c.RetentionDeadLetters, OneOff: c.RetentionOneOff,
		Generations: c.RetentionGenerations, Binaries: c.RetentionBinaries, Audit: c.RetentionAudit,
	}
}

func (c *ServerConfig) validateRoles() error {
	if len(c.Roles) == 0 {
		c.Roles = []string{roleEngine, roleExecutor, roleWeb}
	}
	for i, role := range c.Roles {
		if !slices.Contains([]string{roleEngine, roleExecutor, roleWeb}, role) {
			return usage("--roles: %q is no role: use engine, executor and web, separated by commas", role)
		}
		if slices.Contains(c.Roles[:i], role) {
			return usage("--roles: %s stands there twice", role)
		}
	}
	roles := strings.Join(c.Roles, ",")
	if !c.has(roleEngine) {
		for _, missing := range []struct{ flag, value, what string }{
			{"--nats-url", c.NATSURL, "NATS"}, {"--s3-endpoint", c.S3Endpoint, "S3"},
		} {
			if missing.value == "" {
				return usage("--roles %s: a node without the engine uses the %s of the others: give %s", roles, missing.what, missing.flag)
			}
		}
	}
	if c.has(roleEngine) != c.has(roleWeb) && c.MongoURI == "" {
		return usage("--roles %s: engine and web in different processes share their store: give --mongodb-uri", roles)
	}
	if c.Demo && !(c.has(roleEngine) && c.has(roleWeb)) {
		return usage("--demo needs the roles engine and web, not %s", roles)
	}
	return nil
}

func (c *ServerConfig) validateAddresses() error {
	if c.HTTP == "" {
		c.HTTP = defaultHTTP
	}
	for _, address := range []struct{ flag, value, example string }{
		{"--http", c.HTTP, defaultHTTP}, {"--metrics-listen", c.MetricsListen, "0.0.0.0:9090"}, {"--nats-listen", c.NATSListen, "0.0.0.0:4222"}, {"--s3-listen", c.S3Listen, "0.0.0.0:9000"},
	} {
		if address.value == "" {
			continue
		}
		if _, port, err := net.SplitHostPort(address.value); err != nil || !validPort(port) {
			return usage("%s: %q is not host:port, such as %s", address.flag, address.value, address.example)
		}
	}
	host, _, _ := net.SplitHostPort(c.HTTP)
	if c.has(roleWeb) && !c.Auth && !loopback(host) {
		return usage("--auth off is allowed on loopback only: %s would let anyone on the network run programs here; "+
			"leave --auth on, or use --http %s", c.HTTP, defaultHTTP)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return usage("--tls-cert and --tls-key belong together: give the certificate's file and its key's, or none")
	}
	if (c.NATSTLS.Cert == "") != (c.NATSTLS.Key == "") {
		return usage("--nats-tls-cert and --nats-tls-key belong together: give the certificate's file and its key's, or none")
	}
	if c.MetricsListen != "" && !c.MetricsOpen && c.MetricsTokenFile == "" && !(c.has(roleWeb) && c.Auth) {
		return usage("--metrics-listen: /metrics needs a token, and this node has none: give it one by --metrics-token-file, " +
			"or let anybody who reaches that address read the metrics by --metrics-auth off")
	}
	switch {
	case c.NATSListen != "" && c.NATSURL != "":
		return usage("--nats-listen is for the embedded NATS, which --nats-url replaces: give one of them")
	case c.S3Listen != "" && c.S3Endpoint != "":
		return usage("--s3-listen is for the embedded S3, which --s3-endpoint replaces: give one of them")
	}
	if err := c.validateAPIURL(); err != nil {
		return err
	}
	if c.S3Endpoint != "" {
		endpoint, err := url.Parse(c.S3Endpoint)
		if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
			return usage("--s3-endpoint: %q is not a URL such as http://127.0.0.1:9000", c.S3Endpoint)
		}
	}
	if c.MongoURI != "" && !strings.HasPrefix(c.MongoURI, "mongodb://") && !strings.HasPrefix(c.MongoURI, "mongodb+srv://") {
		return usage("--mongodb-uri: a connection string begins with mongodb:// or mongodb+srv://")
	}
	return nil
}

func validPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

func (c *ServerConfig) has(role string) bool { return slices.Contains(c.Roles, role) }
func (c *ServerConfig) needsStore() bool     { return c.has(roleEngine) || c.has(roleWeb) }

// loopback reports whether only this machine can reach a host.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}
