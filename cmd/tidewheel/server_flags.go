package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/tidewheel/tidewheel/enrol"
	"github.com/tidewheel/tidewheel/internal/tracing"
	"github.com/tidewheel/tidewheel/queue/jetstream"
	"github.com/tidewheel/tidewheel/spec"
)

// serverFlags declares the flags of `tidewheel server`. Each is a setting that the environment and a file may make,
// too: --nats-url is TIDEWHEEL_NATS_URL and nats-url.
func serverFlags(flags *pflag.FlagSet) {
	flags.String("data", defaultData, "folder of everything that is embedded, and of an executor's cache")
	flags.String("http", defaultHTTP, "address of the pages and the API")
	flags.String("api-url", "", "where jobs reach the API (default: the address of --http); needed on nodes with the engine or executors where the pages are served elsewhere")
	flags.StringSlice("roles", []string{roleEngine, roleExecutor, roleWeb}, "what this process does")
	flags.String("auth", "on", "on or off; off is allowed on loopback only")
	flags.String("token-file", "", "file of the root token, which opens everything, the same on all web nodes (default one that is made in the data folder)")
	flags.String("metrics-listen", "", "answer /metrics, /livez and /readyz here too, on nodes of any role, such as 0.0.0.0:9090")
	flags.String("metrics-auth", "on", "on: /metrics needs a token; off: anybody who reaches the server may read the metrics")
	flags.String("metrics-token-file", "", "file of a token that opens /metrics and nothing else, for the collector (the root token opens it too)")
	flags.Int("connections-per-address", defaultConnections, "how many connections to the pages and the API one address may have open; 0 is any number; loopback is not bounded")
	flags.Int("requests-per-second", defaultRequests, "how many requests one token, session or run may make, and one address without valid credentials; four times as many at once; 0 is any number")
	flags.Int("max-backlog", defaultBacklog, "how many runs of a tier may wait for executors before manual runs and backfills are refused; slots never are; 0 is any number")
	flags.StringSlice("trusted-proxies", nil, "addresses or networks of proxies, which --connections-per-address and the rate of an address do not bound, such as 10.0.0.0/8")
	flags.String("tls-cert", "", "certificate of this server in PEM, with its chain, for the pages and the API and for --nats-listen and --s3-listen; read again when it changes")
	flags.String("tls-key", "", "file of its key")
	oidcFlags(flags)
	notifyFlags(flags)
	traceFlags(flags)
	flags.Bool("demo", false, "load the examples and run them; one that was deleted stays deleted")

	flags.String("mongodb-uri", "", "keep jobs and history in this MongoDB instead of the embedded SQLite")
	flags.String("nats-url", "", "use this NATS with JetStream instead of the embedded one")
	flags.String("nats-credentials", "", "for NATS: user:password, a token, or the path of a .creds file")
	flags.String("nats-tls-ca", "", "certificates of the authorities to trust at --nats-url (default the machine's)")
	flags.String("nats-tls-cert", "", "certificate that this node shows to the NATS of --nats-url; read again for each connection")
	flags.String("nats-tls-key", "", "file of its key")
	flags.String("nats-listen", "", "let the embedded NATS listen for executors on other machines, such as 0.0.0.0:4222")
	flags.Int("nats-replicas", 1, "copies of each stream in a NATS cluster: 1, 3 or 5")
	flags.String("s3-endpoint", "", "use this S3 instead of the embedded one, such as http://127.0.0.1:9000")
	flags.String("s3-ca-file", "", "certificates of the authorities to trust at --s3-endpoint (default the machine's)")
	flags.String("s3-bucket", "", "bucket (default tidewheel)")
	flags.String("s3-region", "", "region (AWS_REGION; default us-east-1)")
	flags.String("s3-access-key", "", "access key (AWS_ACCESS_KEY_ID)")
	flags.String("s3-secret-key", "", "secret key (AWS_SECRET_ACCESS_KEY)")
	flags.String("s3-listen", "", "let the embedded S3 listen for executors on other machines, such as 0.0.0.0:9000")
	secretFlags(flags)
	flags.String("secrets-key", "", "key that secrets are sealed with: identities of age, the current one first (default one that is made in the data folder where a server has all roles)")
	flags.String("secrets-key-file", "", "file of that key; it is read again when it may have been rotated")
	flags.String("secrets-key-command", "", "command that prints that key, such as \"pass show tidewheel\"")

	flags.String("task-keys-file", "", "file of the keys that engines sign tasks with (PEM): private for engines, public for executors; it is read again when it may have been rotated (default a key that engines keep in their store)")
	flags.String("task-keys-command", "", "command that prints these keys")

	flags.String("enrolment", "", "folder that `tidewheel executor enrol` has made: credentials of this executor's own, in the place of --nats-credentials and --task-keys-file")
	flags.StringSlice("trigger-bucket", nil, "bucket whose objects may start runs, as NAMESPACE=BUCKET, or *=BUCKET for all namespaces; any number of times")
	flags.String("join-token-file", "", "file of a join token: an executor without an enrolment enrols itself with it at --api-url, and keeps what it is given in --enrolment")
	flags.String("join-tokens-file", "", "file of the join tokens that this server takes, one a line after its tier: each enrols any number of executors")
	flags.String("nats-account-key-file", "", "file of the seed of a key that signs for the account at --nats-url, so that executors can be enrolled")
	flags.String("nats-account", "", "public key of that account (A…), where the key is one of its signing keys")
	flags.String("executor-credentials-ttl", enrol.DefaultLife.String(), "how long the credentials of an enrolled executor are good; they are renewed at half of it")

	flags.String("tier", "all", "which jobs the executor takes: light, medium, heavy or all; heavier ones help the lighter when idle")
	flags.StringArray("label", nil, "what jobs may ask for by runs_on, as key=value, such as gpu=true; any number of times (os, arch and host it has by itself)")
	flags.Int("slots", 0, fmt.Sprintf("how many jobs run at once (default %d for each processor: most jobs wait for something else)", slotsPerCPU))
	flags.String("run-as", "", "user or uid[:gid] that jobs run as (default nobody where the server runs as root)")
	flags.Bool("allow-root", false, "let jobs run as root where the server does")
	flags.String("sandbox", sandboxStandard, "what keeps jobs from the server and from each other: strict (namespaces of its own for each attempt, or the server does not start), standard (the best that needs no setup), off")
	flags.String("cache-size", defaultCache.String(), "how much disk the executor's copies of programs may take")
	flags.String("fetch-timeout", defaultFetch.String(), "how long an executor waits for S3 to give a job's program before another may try")
	flags.String("drain", defaultDrain.String(), "how long running jobs may take to end when the server is stopped")

	flags.String("lock-ttl", defaultLockTTL.String(), "how long an executor may be silent before what it runs counts as lost; the same on all nodes")

	flags.String("max-binary", defaultMaxBinary.String(), "largest program that may be uploaded")
	flags.String("results-limit", defaultResults.String(), "how much of reports that no engine has dealt with the queue may hold before executors take nothing new; the same on all nodes")
	flags.String("retention", "30d", "how long history, output and dead letters are kept; 0 is for ever")
	flags.String("retention-output", "0", "how long the output and artifacts of a run are kept in S3, if less than the run; 0 is as long")
	flags.String("retention-dead-letters", "0", "how long dead letters are kept, if less than --retention; 0 is as long")
	flags.String("retention-one-off", "7d", "how long a job of POST /v1/jobs is kept after it has run; 0 is for ever")
	flags.String("retention-generations", "365d", "how long an earlier version of a job or DAG is kept after its edit, at least --retention; 0 is for ever")
	flags.String("retention-audit", "0", "how long entries of the audit log are kept; 0 is for ever")
	flags.String("retention-notifications", "30d", "how long notifications are kept that were delivered, failed or silenced, at least 1d; 0 is for ever; the same on all engines and web nodes")
	flags.String("retention-binaries", "7d", "how long the bytes of a binary are kept once nothing refers to them; 0 is for ever")
	flags.String("log-level", "info", "debug, info, warn or error")
	flags.String("log-format", "text", "text or json")
	flags.String("config", "", "YAML file with any of these settings, by the names of the flags")
}

// secretSettings are masked wherever settings are shown.
var secretSettings = []string{"s3-secret-key", "nats-credentials", "secrets-key"}

// standardVariables make settings beside the ones of the settings' own names.
var standardVariables = map[string]string{otlpEndpoint: tracing.EndpointVariable}

// variableOf is the variable of a setting.
func variableOf(name string) string {
	return "TIDEWHEEL_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// settings reads all settings: flag before environment before file before default.
func settings(flags *pflag.FlagSet) (*viper.Viper, error) {
	v := viper.New()
	v.SetEnvPrefix("TIDEWHEEL")
	v.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	v.AutomaticEnv()
	for name, variable := range standardVariables {
		if err := v.BindEnv(name, variableOf(name), variable); err != nil {
			return nil, fmt.Errorf("read the environment: %w", err)
		}
	}
	if err := v.BindPFlags(flags); err != nil {
		return nil, fmt.Errorf("read the flags: %w", err)
	}
	file := v.GetString("config")
	if file == "" {
		return v, nil
	}
	v.SetConfigFile(file)
	v.SetConfigType("yaml")
	if err := v.ReadInConfig(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usage("--config: there is no file %s", file)
		}
		return nil, usage("--config: %s cannot be read: %w", file, err)
	}
	only := viper.New() // what stands in the file alone
	only.SetConfigFile(file)
	only.SetConfigType("yaml")
	if err := only.ReadInConfig(); err != nil {
		return nil, usage("--config: %s cannot be read: %w", file, err)
	}
	known := settingNames(flags)
	keys := only.AllKeys()
	slices.Sort(keys)
	for _, key := range keys {
		if !slices.Contains(known, key) {
			return nil, usage("--config: %s: %q is no setting; there are %s", file, key, strings.Join(known, ", "))
		}
	}
	return v, nil
}

// settingNames lists the settings, in order.
func settingNames(flags *pflag.FlagSet) []string {
	var names []string
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	serverFlags(own)
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "config" && own.Lookup(flag.Name) != nil {
			names = append(names, flag.Name)
		}
	})
	slices.Sort(names)
	return names
}

// serverConfig reads the settings into the configuration of a server.
func (c *cli) serverConfig(cmd *cobra.Command) (ServerConfig, error) {
	v, err := settings(cmd.Flags())
	if err != nil {
		return ServerConfig{}, err
	}
	config := ServerConfig{
		Data: v.GetString("data"), HTTP: v.GetString("http"), APIURL: v.GetString("api-url"), Demo: v.GetBool("demo"),
		TLSCert: v.GetString("tls-cert"), TLSKey: v.GetString("tls-key"),
		TokenFile: v.GetString("token-file"), MetricsListen: v.GetString("metrics-listen"), MetricsTokenFile: v.GetString("metrics-token-file"),
		NATSTLS: jetstream.TLS{CAs: v.GetString("nats-tls-ca"), Cert: v.GetString("nats-tls-cert"), Key: v.GetString("nats-tls-key")},
		NATSURL: v.GetString("nats-url"), NATSListen: v.GetString("nats-listen"),
		Replicas:   v.GetInt("nats-replicas"),
		S3Endpoint: v.GetString("s3-endpoint"), S3Bucket: v.GetString("s3-bucket"), S3Region: v.GetString("s3-region"),
		S3CAFile: v.GetString("s3-ca-file"), S3Listen: v.GetString("s3-listen"),
		Tier: v.GetString("tier"), RunAs: v.GetString("run-as"), AllowRoot: v.GetBool("allow-root"), Sandbox: v.GetString("sandbox"),
		LogFormat:  v.GetString("log-format"),
		SecretsKey: v.GetString("secrets-key"), SecretsKeyFile: v.GetString("secrets-key-file"), SecretsKeyCommand: v.GetString("secrets-key-command"),
		TaskKeysFile: v.GetString("task-keys-file"), TaskKeysCommand: v.GetString("task-keys-command"),
		OTLPEndpoint: v.GetString(otlpEndpoint), TraceURL: v.GetString("trace-url"),
		Enrolment: v.GetString("enrolment"), JoinTokenFile: v.GetString("join-token-file"), JoinTokensFile: v.GetString("join-tokens-file"),
		NATSAccountKeyFile: v.GetString("nats-account-key-file"), NATSAccount: v.GetString("nats-account"),
		StateFolder: c.stateFolder(),
	}
	if config.OIDC, err = oidcSetting(v); err != nil {
		return ServerConfig{}, err
	}
	if err := notifySetting(v, &config); err != nil {
		return ServerConfig{}, err
	}
	config.SecretFiles = secretFiles(v)
	for _, name := range settingNames(cmd.Flags()) {
		if sourceOf(v, cmd.Flags(), name) != sourceDefault {
			config.Given = append(config.Given, name)
		}
	}
	for _, role := range v.GetStringSlice("roles") {
		for word := range strings.SplitSeq(role, ",") { // the environment gives one text
			config.Roles = append(config.Roles, strings.TrimSpace(word))
		}
	}
	if config.Labels, err = labelSetting(v.GetStringSlice("label")); err != nil {
		return ServerConfig{}, usage("--label: %w", err)
	}
	for _, number := range []struct {
		name string
		to   *int
	}{{"slots", &config.Slots}, {"nats-replicas", &config.Replicas}, {"connections-per-address", &config.ConnectionsPerAddress}, {"requests-per-second", &config.RequestsPerSecond}, {"max-backlog", &config.MaxBacklog}} {
		if _, err := fmt.Sscanf(v.GetString(number.name)+"\n", "%d\n", number.to); err != nil {
			return ServerConfig{}, usage("--%s: %q is no whole number", number.name, v.GetString(number.name))
		}
	}
	for _, hidden := range []struct {
		name string
		to   *string
	}{
		{"mongodb-uri", &config.MongoURI}, {"nats-credentials", &config.NATSCredentials},
		{"s3-access-key", &config.S3AccessKey}, {"s3-secret-key", &config.S3SecretKey},
	} {
		if *hidden.to, err = secretSetting(v, hidden.name); err != nil {
			return ServerConfig{}, err
		}
	}
	if config.TriggerBuckets, err = triggerBuckets(v.GetStringSlice("trigger-bucket")); err != nil {
		return ServerConfig{}, err
	}
	if config.Auth, err = onOff(v, "auth"); err != nil {
		return ServerConfig{}, err
	}
	metricsAuth, err := onOff(v, "metrics-auth")
	if err != nil {
		return ServerConfig{}, err
	}
	config.MetricsOpen = !metricsAuth
	if config.TrustedProxies, err = proxySetting(v.GetStringSlice("trusted-proxies")); err != nil {
		return ServerConfig{}, err
	}
	if config.Drain, err = parseSpan(v.GetString("drain")); err != nil {
		return ServerConfig{}, usage("--drain: %w", err)
	}
	if config.FetchTimeout, err = parseSpan(v.GetString("fetch-timeout")); err != nil {
		return ServerConfig{}, usage("--fetch-timeout: %w", err)
	}
	for _, span := range []struct {
		name string
		to   *time.Duration
	}{
		{"retention", &config.Retention}, {"retention-output", &config.RetentionOutput}, {"retention-dead-letters", &config.RetentionDeadLetters}, {"retention-one-off", &config.RetentionOneOff},
		{"retention-generations", &config.RetentionGenerations}, {"retention-binaries", &config.RetentionBinaries}, {"retention-audit", &config.RetentionAudit},
		{"retention-notifications", &config.RetentionNotifications},
	} {
		if *span.to, err = parseSpan(v.GetString(span.name)); err != nil {
			return ServerConfig{}, usage("--%s: %w", span.name, err)
		}
	}
	if config.CredentialsTTL, err = parseSpan(v.GetString("executor-credentials-ttl")); err != nil || config.CredentialsTTL < time.Minute {
		return ServerConfig{}, usage("--executor-credentials-ttl %q: use 1m or more", v.GetString("executor-credentials-ttl"))
	}
	if config.LockTTL, err = parseSpan(v.GetString("lock-ttl")); err != nil {
		return ServerConfig{}, usage("--lock-ttl: %w", err)
	}
	for _, size := range []struct {
		name string
		to   *spec.Size
	}{{"max-binary", &config.MaxBinary}, {"cache-size", &config.CacheSize}, {"results-limit", &config.ResultsLimit}} {
		if err := size.to.UnmarshalText([]byte(v.GetString(size.name))); err != nil {
			return ServerConfig{}, usage("--%s %q: %w", size.name, v.GetString(size.name), err)
		}
	}
	if err := config.LogLevel.UnmarshalText([]byte(v.GetString("log-level"))); err != nil {
		return ServerConfig{}, usage("--log-level %q: use debug, info, warn or error", v.GetString("log-level"))
	}
	return config, nil
}

func onOff(v *viper.Viper, name string) (bool, error) {
	switch v.GetString(name) {
	case "on", "true": // YAML reads on as true
		return true, nil
	case "off", "false":
		return false, nil
	}
	return false, usage("--%s %q: use on or off", name, v.GetString(name))
}

// proxySetting reads addresses and networks, of which the environment gives any number in one text.
func proxySetting(given []string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, text := range given {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
			if address, err := netip.ParseAddr(word); err == nil {
				networks = append(networks, netip.PrefixFrom(address, address.BitLen()))
				continue
			}
			network, err := netip.ParsePrefix(word)
			if err != nil {
				return nil, usage("--trusted-proxies: %q is no address and no network such as 10.0.0.0/8", word)
			}
			networks = append(networks, network.Masked())
		}
	}
	return networks, nil
}

// labelSetting reads labels, of which the environment gives any number in one text, with commas or spaces between them.
func labelSetting(given []string) (map[string]string, error) {
	labels := make(map[string]string)
	for _, text := range given {
		for word := range strings.SplitSeq(text, ",") {
			if strings.TrimSpace(word) == "" {
				continue
			}
			key, value, err := spec.ParseExecutorLabel(word)
			if err != nil {
				return nil, fmt.Errorf("%q %w", strings.TrimSpace(word), err)
			}
			if before, twice := labels[key]; twice && before != value {
				return nil, fmt.Errorf("%s is both %s and %s: an executor has one value of each label", key, before, value)
			}
			labels[key] = value
		}
	}
	return labels, nil
}

// logger makes the server's log.
func (c *cli) logger(config *ServerConfig) *slog.Logger {
	options := &slog.HandlerOptions{Level: config.LogLevel}
	if config.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(c.err, options))
	}
	return slog.New(slog.NewTextHandler(c.err, options))
}
