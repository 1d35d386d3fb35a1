package main

import (
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/queue/jetstream"
)

// settingsOf are the settings that only nodes with one of some roles use. A node without them starts all the same, since
// nodes may share a file and an environment, and says in its log which settings do nothing.
var settingsOf = []struct {
	roles    []string
	settings []string
}{
	{[]string{roleWeb}, []string{"http", "auth", "token-file", "connections-per-address", "requests-per-second", "max-backlog", "trusted-proxies", "max-binary"}},
	{[]string{roleWeb}, oidcSettings},
	{[]string{roleEngine, roleWeb}, notifySettings},
	{[]string{roleEngine, roleWeb}, []string{otlpEndpoint}},
	{[]string{roleWeb}, []string{"trace-url"}},
	{[]string{roleExecutor}, []string{"tier", "label", "slots", "run-as", "allow-root", "sandbox", "cache-size", "fetch-timeout", "drain", "enrolment", "join-token-file"}},
	{[]string{roleEngine}, []string{"retention-output", "retention-dead-letters", "retention-one-off", "retention-generations", "retention-binaries", "retention-audit"}},
	{[]string{roleEngine, roleWeb}, []string{"tls-cert", "tls-key", "retention", "nats-account-key-file", "nats-account", "executor-credentials-ttl", "join-tokens-file", "trigger-bucket", "retention-notifications"}},
	{[]string{roleEngine, roleWeb}, []string{"mongodb-uri", "mongodb-uri" + secretFile}},
	{[]string{roleEngine, roleExecutor}, []string{"api-url", "task-keys-file", "task-keys-command"}},
}

// unusedSettings returns the settings that were given and that no role of this node uses, in order.
func (c *ServerConfig) unusedSettings() []string {
	var unused []string
	for _, of := range settingsOf {
		if slices.ContainsFunc(of.roles, c.has) {
			continue
		}
		for _, name := range of.settings {
			if slices.Contains(c.Given, name) {
				unused = append(unused, name)
			}
		}
	}
	if c.MetricsListen == "" && !c.has(roleWeb) {
		for _, name := range []string{"metrics-auth", "metrics-token-file"} {
			if slices.Contains(c.Given, name) {
				unused = append(unused, name)
			}
		}
	}
	slices.Sort(unused)
	return unused
}

// validateUsed refuses settings that do nothing beside others, on nodes of any role.
func (c *ServerConfig) validateUsed() error {
	if c.S3Endpoint == "" {
		for _, given := range []struct{ flag, value string }{
			{"--s3-access-key and --s3-secret-key", c.S3AccessKey}, {"--s3-bucket", c.S3Bucket},
		} {
			if given.value != "" {
				return usage("%s: for an S3 of yours, which --s3-endpoint names; the embedded S3 has its own: give the endpoint, or leave them out", given.flag)
			}
		}
	}
	switch {
	case c.NATSURL == "" && c.NATSTLS != (jetstream.TLS{}):
		return usage("--nats-tls-ca, --nats-tls-cert and --nats-tls-key: for a NATS of yours, which --nats-url names: give it, or leave them out " +
			"(the embedded NATS listens with --tls-cert)")
	case c.S3CAFile != "" && !strings.HasPrefix(c.S3Endpoint, "https://"):
		return usage("--s3-ca-file: for an S3 with TLS: give --s3-endpoint https://…, or leave it out")
	}
	longer := func(name string) bool { return slices.Contains(c.Given, name) && c.Retention > 0 }
	switch {
	case c.NATSURL == "" && c.Replicas > 1:
		return usage("--nats-replicas %d: the embedded NATS is one server and keeps one copy: give --nats-url, or leave it out", c.Replicas)
	case c.NATSURL == "" && c.NATSListen == "" && c.NATSCredentials != "":
		return usage("--nats-credentials: an embedded NATS that does not listen has no logins: set --nats-url or --nats-listen, or leave the credentials out")
	case !c.Auth && c.TokenFile != "":
		return usage("--token-file: with --auth off no token is needed: leave one of them out")
	case c.MetricsOpen && c.MetricsTokenFile != "":
		return usage("--metrics-token-file: with --metrics-auth off /metrics needs no token: leave one of them out")
	case c.ConnectionsPerAddress == 0 && c.RequestsPerSecond == 0 && len(c.TrustedProxies) > 0:
		return usage("--trusted-proxies: with --connections-per-address 0 and --requests-per-second 0 no address is bounded: leave one of them out")
	case longer("retention-output") && c.RetentionOutput > c.Retention:
		return usage("--retention-output %s: no output outlives its run, which --retention keeps for %s: give less, or more there",
			c.RetentionOutput, c.Retention)
	case longer("retention-dead-letters") && c.RetentionDeadLetters > c.Retention:
		return usage("--retention-dead-letters %s: no dead letter outlives its run, which --retention keeps for %s: give less, or more there",
			c.RetentionDeadLetters, c.Retention)
	case longer("retention-generations") && c.RetentionGenerations > 0 && c.RetentionGenerations < c.Retention:
		return usage("--retention-generations %s: runs refer to what they ran as long as --retention keeps them, which is %s: give as much, or less there",
			c.RetentionGenerations, c.Retention)
	}
	return nil
}
