// Package natstest starts a NATS as operators run it elsewhere, for tests.
package natstest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Server is a NATS in operator mode: its accounts and users are JWTs.
type Server struct {
	URL             string
	Account         string // the public key of the account that Tidewheel uses
	CredentialsFile string // of a user of the account who may do everything in it
	SigningKeyFile  string // holds the seed of a signing key of the account
}

// Start starts one on a free port of the loopback interface, with JetStream in a temporary folder, until the test ends. line bounds a line
// of the protocol, in bytes: credentials are one.
func Start(t testing.TB, line int32) *Server {
	t.Helper()
	keys := map[string]nkeys.KeyPair{}
	public := map[string]string{}
	for name, make := range map[string]func() (nkeys.KeyPair, error){
		"operator": nkeys.CreateOperator, "system": nkeys.CreateAccount, "account": nkeys.CreateAccount, "signing": nkeys.CreateAccount, "user": nkeys.CreateUser,
	} {
		pair, err := make()
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = pair
		if public[name], err = pair.PublicKey(); err != nil {
			t.Fatal(err)
		}
	}
	encode := func(claims jwt.Claims, by string) string {
		text, err := claims.Encode(keys[by])
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	operator := jwt.NewOperatorClaims(public["operator"])
	operator.SystemAccount = public["system"]
	encode(operator, "operator")
	account := jwt.NewAccountClaims(public["account"])
	account.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
	account.SigningKeys.Add(public["signing"])
	resolver := &natsserver.MemAccResolver{}
	for name, text := range map[string]string{
		"account": encode(account, "operator"), "system": encode(jwt.NewAccountClaims(public["system"]), "operator"),
	} {
		if err := resolver.Store(public[name], text); err != nil {
			t.Fatal(err)
		}
	}
	url := serve(t, &natsserver.Options{
		TrustedOperators: []*jwt.OperatorClaims{operator}, SystemAccount: public["system"], AccountResolver: resolver, MaxControlLine: line,
	})
	user := encode(jwt.NewUserClaims(public["user"]), "account")
	userSeed, err := keys["user"].Seed()
	if err != nil {
		t.Fatal(err)
	}
	creds, err := jwt.FormatUserConfig(user, userSeed)
	if err != nil {
		t.Fatal(err)
	}
	signing, err := keys["signing"].Seed()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	made := &Server{
		URL: url, Account: public["account"],
		CredentialsFile: filepath.Join(dir, "engine.creds"), SigningKeyFile: filepath.Join(dir, "account.nk"),
	}
	for path, text := range map[string][]byte{made.CredentialsFile: creds, made.SigningKeyFile: signing} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// Configured starts one that reads a configuration file, like Start.
func Configured(t testing.TB, path string) (url string) {
	t.Helper()
	options := &natsserver.Options{}
	if err := options.ProcessConfigFile(path); err != nil {
		t.Fatal(err)
	}
	return serve(t, options)
}

// serve starts one on a free port of the loopback interface, with JetStream in a temporary folder, until the test ends.
func serve(t testing.TB, options *natsserver.Options) (url string) {
	t.Helper()
	options.Host, options.Port, options.NoSigs, options.NoLog = "127.0.0.1", natsserver.RANDOM_PORT, true, true
	options.JetStream, options.StoreDir = true, t.TempDir()
	server, err := natsserver.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(func() { server.Shutdown(); server.WaitForShutdown() })
	if !server.ReadyForConnections(30 * time.Second) {
		t.Fatal("the NATS does not start")
	}
	return server.ClientURL()
}

// Publish stores a message in the stream that takes its subject.
func Publish(t testing.TB, url, user, password, subject, data string) {
	t.Helper()
	if err := PublishID(url, user, password, subject, "", data); err != nil {
		t.Fatal(err)
	}
}

// PublishID is Publish of a message with an id, "" for none. After an error it may be stored, too.
func PublishID(url, user, password, subject, id, data string) error {
	conn, err := nats.Connect(url, nats.UserInfo(user, password), nats.NoReconnect(), nats.Timeout(5*time.Second))
	if err != nil {
		return err
	}
	defer conn.Close()
	message := nats.NewMsg(subject)
	message.Data = []byte(data)
	if id != "" {
		message.Header.Set(nats.MsgIdHdr, id)
	}
	answer, err := conn.RequestMsg(message, 5*time.Second)
	if err == nil && !strings.Contains(string(answer.Data), `"seq"`) {
		err = errors.New(string(answer.Data))
	}
	if err != nil {
		return fmt.Errorf("publish to %s: %w", subject, err)
	}
	return nil
}
