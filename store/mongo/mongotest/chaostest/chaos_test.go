package chaostest

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/e2e"
	"github.com/tidewheel/tidewheel/e2e/chaos"
)

// database is the server of MongoDB's protocol, as a process of this test's own program.
var database = chaos.Database{
	Command: func(folder, listen string) *exec.Cmd { return helper(helperMongo, folder, listen) },
	URI:     databaseURI,
	Faults: map[string]func(context.Context, string, time.Duration) error{
		"was slow": func(ctx context.Context, address string, lasts time.Duration) error {
			return breakDatabase(ctx, address, bson.D{{Key: "mongotestFault", Value: "slow"}, {Key: "milliseconds", Value: lasts.Milliseconds()}})
		},
		"was no primary": func(ctx context.Context, address string, _ time.Duration) error {
			return breakDatabase(ctx, address, bson.D{{Key: "mongotestFault", Value: "notPrimary"}, {Key: "times", Value: 20}})
		},
		"wrote and answered errors": func(ctx context.Context, address string, _ time.Duration) error {
			return breakDatabase(ctx, address, bson.D{{Key: "mongotestFault", Value: "errorAfterWrite"}, {Key: "times", Value: 5}})
		},
		"broke off in writes": func(ctx context.Context, address string, _ time.Duration) error {
			return breakDatabase(ctx, address, bson.D{{Key: "mongotestFault", Value: "cutInWrite"}, {Key: "times", Value: 5}})
		},
	},
}

// databaseURI leads to the address itself: a driver that looked for the replica set's members would get the address
// behind the way that it came by.
func databaseURI(address string) string {
	return "mongodb://" + address + "/tidewheel?directConnection=true"
}

// breakDatabase asks the database to do something wrong.
func breakDatabase(ctx context.Context, address string, fault bson.D) error {
	connection, err := mongo.Connect(options.Client().ApplyURI(databaseURI(address)).SetServerSelectionTimeout(time.Second))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Disconnect(context.WithoutCancel(ctx)) }()
	return connection.Database("admin").RunCommand(ctx, fault).Err()
}

// chosenSeed is the one that was asked for, or a new one; chaos prints it.
func chosenSeed() uint64 {
	if *seed != 0 {
		return *seed
	}
	return 1 + rand.Uint64N(1<<32)
}

// A short chaos, which needs no rights. Each run has another seed: -args -seed=N replays one.
func TestShortChaosOfSeveralEnginesLosesNothing(t *testing.T) {
	chaos.Run(t, program, witness, chaos.Config{
		Seed: chosenSeed(), Length: 20 * time.Second, Pace: 700 * time.Millisecond, Jobs: 40, Period: 3, DAGs: 2, Engines: 2, Database: &database,
		Executors: 3, Slots: 16, Lockers: 2, Drain: 2 * time.Second, Settle: 3 * time.Minute,
	})
}

// TestChaosOfSeveralEnginesLosesNothing is part of `make test-chaos`.
func TestChaosOfSeveralEnginesLosesNothing(t *testing.T) {
	if *length == 0 {
		t.Skip("it lasts long: make test-chaos")
	}
	skewed, err := e2e.BuildSkewed(t.Context(), t.TempDir(), 7*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	chaos.Run(t, program, witness, chaos.Config{
		Seed: chosenSeed(), Length: *length, Pace: 1500 * time.Millisecond, Jobs: 200, Period: 10, DAGs: 6, Engines: 3, Database: &database,
		Executors: 4, Slots: 32, Lockers: 3, Drain: 3 * time.Second, Namespaces: true, Disks: true, Settle: 5 * time.Minute, Keep: *keep, Skewed: skewed,
	})
}
