package mongo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/tidewheel/tidewheel/spec"
)

// Store is a connection to a MongoDB database; it is safe for concurrent use.
type Store struct {
	config   Config
	client   *mongo.Client
	database *mongo.Database
	hosts    string // for messages

	jobs *definitions[spec.Job]
	dags *definitions[spec.DAG]

	waves, runs, slots, deadLetters, incidents, tasks, commands, binaries, effects, records, meta, journal, shards *mongo.Collection
	// The same, for reads that may be a little old.
	oldWaves, oldRuns, oldSlots, oldDeadLetters, oldIncidents, oldTasks *mongo.Collection

	terms     terms
	projector *projector
}

// Open connects to the server that uri names, makes the collections and indexes that are not there, and returns when
// the store is ready. Its errors are ErrURI, ErrUnreachable, ErrCredentials, ErrPermission, *SchemaError and
// *IndexError, each with what to do about it. The caller ends the store with Close.
func Open(ctx context.Context, uri string, config Config) (*Store, error) {
	config, err := config.validate()
	if err != nil {
		return nil, fmt.Errorf("mongo: config: %w", err)
	}
	s, err := connect(uri, config)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = s.client.Disconnect(closing) // what went wrong before is what counts
		return nil, err
	}
	return s, nil
}

func connect(uri string, config Config) (*Store, error) {
	client := options.Client().ApplyURI(uri)
	if err := client.Validate(); err != nil {
		var lookup *net.DNSError
		if errors.As(err, &lookup) {
			return nil, fmt.Errorf("mongo: %w: no DNS records for %s: check the host name of the connection string, "+
				"and that this machine resolves names", ErrUnreachable, lookup.Name)
		}
		return nil, fmt.Errorf("mongo: %w: %s: write mongodb://user:password@host:27017/database?replicaSet=name or "+
			"mongodb+srv://…, with : / ? # [ ] @ in user and password percent-encoded", ErrURI, redact(uri, err.Error()))
	}
	client.SetAppName(config.AppName).
		SetServerSelectionTimeout(config.ServerSelectionTimeout).
		SetConnectTimeout(config.ServerSelectionTimeout).
		SetRetryWrites(true).SetRetryReads(true)
	logCommands(client, config.Logger)
	if config.Monitor != nil {
		client.SetMonitor(monitor(config.Monitor))
	}
	connected, err := mongo.Connect(client)
	if err != nil {
		return nil, fmt.Errorf("mongo: %w: %s", ErrURI, redact(uri, err.Error()))
	}
	name := config.Database
	if name == "" {
		name = databaseOf(uri)
	}
	s := &Store{config: config, client: connected, database: connected.Database(name), hosts: strings.Join(client.Hosts, ", ")}
	s.collections()
	s.projector = newProjector(s)
	return s, nil
}

// collections makes the handles, each with the concern that its use needs; see the package's documentation.
func (s *Store) collections() {
	journal := true
	durable := &writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: &journal}
	owner := options.Collection().SetWriteConcern(durable).
		SetReadPreference(readpref.Primary()).SetReadConcern(readconcern.Majority())
	history := options.Collection().SetWriteConcern(durable).
		SetReadPreference(readpref.SecondaryPreferred()).SetReadConcern(readconcern.Local())
	if s.config.PrimaryOnly {
		history = owner
	}
	s.runs, s.oldRuns = s.database.Collection("runs", owner), s.database.Collection("runs", history)
	s.slots, s.oldSlots = s.database.Collection("slots", owner), s.database.Collection("slots", history)
	s.deadLetters, s.oldDeadLetters = s.database.Collection("dead_letters", owner), s.database.Collection("dead_letters", history)
	s.incidents, s.oldIncidents = s.database.Collection("incidents", owner), s.database.Collection("incidents", history)
	s.tasks, s.oldTasks = s.database.Collection("scheduled_tasks", owner), s.database.Collection("scheduled_tasks", history)
	s.waves, s.oldWaves = s.database.Collection("waves", owner), s.database.Collection("waves", history)
	s.jobs = &definitions[spec.Job]{
		Store: s, what: "job", write: newDefinition, read: readDefinition,
		living: s.database.Collection("jobs", owner), tombstones: s.database.Collection("tombstones", owner),
		generations: s.database.Collection("generations", owner), oldGenerations: s.database.Collection("generations", history),
	}
	s.dags = &definitions[spec.DAG]{
		Store: s, what: "DAG", write: newDAGDefinition, read: readDAGDefinition,
		living: s.database.Collection("dags", owner), tombstones: s.database.Collection("dag_tombstones", owner),
		generations: s.database.Collection("dag_generations", owner), oldGenerations: s.database.Collection("dag_generations", history),
	}
	s.commands = s.database.Collection("commands", owner)
	s.binaries = s.database.Collection("binaries", owner)
	s.effects = s.database.Collection("effects", owner)
	s.records = s.database.Collection("records", owner)
	s.meta = s.database.Collection("meta", owner)
	s.journal = s.database.Collection("journal", owner)
	s.shards = s.database.Collection("shards", owner)
}

// prepare looks who is there and makes the database ready. The schema comes first: a database of a newer version is
// not touched.
func (s *Store) prepare(ctx context.Context) error {
	if err := s.Ping(ctx); err != nil {
		return err
	}
	if err := s.checkSchema(ctx); err != nil {
		return err
	}
	// Without a bound of our own: on a large database a new index takes its time.
	if err := s.createIndexes(ctx); err != nil {
		return err
	}
	if err := s.writeSchema(ctx); err != nil {
		return err
	}
	s.config.Logger.Info("mongodb is ready", "hosts", s.hosts, "database", s.database.Name())
	return nil
}

// Ping reports whether the primary answers.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return s.failed("ping", s.database.RunCommand(ctx, bson.D{{Key: "ping", Value: 1}}).Err())
}

// Close projects what was committed, which it gives up after five seconds, and ends all connections. Operations that are
// under way fail.
func (s *Store) Close(ctx context.Context) error {
	s.projector.close(ctx)
	if err := s.client.Disconnect(ctx); err != nil && !errors.Is(err, mongo.ErrClientDisconnected) {
		return fmt.Errorf("mongo: close: %w", err)
	}
	return nil
}

// Drop removes the whole database. It is for tests and for starting over.
func (s *Store) Drop(ctx context.Context) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	return s.failed("drop database", s.database.Drop(ctx))
}

// bound returns a context that ends some time.
func (s *Store) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.config.OperationTimeout)
}

// command returns a context for one command to the server. What takes many commands is not bounded as a whole: it would
// restart each time where the server is slow, and never end.
func (s *Store) command(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.config.OperationTimeout)
}

// commandTime is the key of the time that each command of a read may take.
type commandTime struct{}

// paced lets a read take as long as it takes, as long as each of its commands is answered in time.
func (s *Store) paced(ctx context.Context) context.Context {
	return context.WithValue(ctx, commandTime{}, s.config.OperationTimeout)
}

// pace returns a context for one command of a read.
func pace(ctx context.Context) (context.Context, context.CancelFunc) {
	if limit, ok := ctx.Value(commandTime{}).(time.Duration); ok {
		return context.WithTimeout(ctx, limit)
	}
	return ctx, func() {}
}

// backoff is how long to wait before try number n (from 1): random, up to a bound that doubles from 20 ms to 2 s, so
// that writers who met do not meet again.
func backoff(n int) time.Duration {
	most := min(20*time.Millisecond<<min(n-1, 10), 2*time.Second)
	return time.Duration(rand.Int64N(int64(most))) + time.Millisecond //nolint:gosec // it spreads tries
}

// wait returns when the time has passed or ctx has ended, then with its cause.
func wait(ctx context.Context, span time.Duration) error {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// databaseOf returns the database that a connection string names.
func databaseOf(uri string) string {
	_, rest, _ := strings.Cut(uri, "://")
	rest, _, _ = strings.Cut(rest, "?")
	_, path, _ := strings.Cut(rest, "/")
	if name, err := url.PathUnescape(path); err == nil && name != "" {
		return name
	}
	return DefaultDatabase
}

// leastSecret is how many bytes a password has that is looked for anywhere in a text. Shorter ones stand in ordinary
// words: to take them out there would spoil the text, and tell the password by what is missing.
const leastSecret = 4

// redact takes the password of a connection string out of a text.
func redact(uri, text string) string {
	_, rest, _ := strings.Cut(uri, "://")
	at := strings.LastIndex(rest, "@")
	if at < 0 {
		return text
	}
	text = strings.ReplaceAll(text, uri, "(the connection string)")
	if before, _, found := strings.Cut(text, "invalid password:"); found { // and then a piece of it
		text = before + "invalid password: write a % in it as %25"
	}
	_, written, _ := strings.Cut(rest[:at], ":")
	meant, err := url.PathUnescape(written)
	if err != nil {
		meant = written
	}
	for _, password := range []string{written, meant} {
		switch {
		case password == "":
		case len(password) >= leastSecret:
			text = strings.ReplaceAll(text, password, "***")
		default:
			text = strings.NewReplacer(":"+password+"@", ":***@", strconv.Quote(password), `"***"`).Replace(text)
		}
	}
	return text
}
