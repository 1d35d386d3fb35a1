package mongotest

import (
	"runtime"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest/internal/engine"
)

// Version is the MongoDB version whose protocol the server speaks.
const Version = "7.0.0"

const (
	maxWireVersion     = 21 // MongoDB 7.0
	maxMessageBytes    = 48_000_000
	maxWriteBatchSize  = 100_000
	sessionTimeoutMins = 30
)

var handshakeHandlers = map[string]handler{
	"hello":            hello,
	"isMaster":         hello,
	"ismaster":         hello,
	"ping":             nothing,
	"buildInfo":        buildInfo,
	"buildinfo":        buildInfo,
	"getParameter":     getParameter,
	"connectionStatus": connectionStatus,
	"endSessions":      endSessions,
	"refreshSessions":  nothing,
	"startSession":     nothing,
}

func nothing(*command) (bson.D, *engine.Error) { return bson.D{}, nil }

// hello answers that this is the primary of a replica set of one: drivers use retryable writes, sessions and
// secondaryPreferred with it. The member's address is the one that the client used, so it can always be reached.
func hello(request *command) (bson.D, *engine.Error) {
	address := request.connection.socket.LocalAddr().String()
	primary := "ismaster"
	if request.name == "hello" {
		primary = "isWritablePrimary"
	}
	return bson.D{
		{Key: "helloOk", Value: true},
		{Key: primary, Value: true},
		{Key: "secondary", Value: false},
		{Key: "setName", Value: ReplicaSet},
		{Key: "setVersion", Value: int32(1)},
		{Key: "hosts", Value: bson.A{address}},
		{Key: "primary", Value: address},
		{Key: "me", Value: address},
		{Key: "maxBsonObjectSize", Value: int32(engine.MaxDocumentBytes)},
		{Key: "maxMessageSizeBytes", Value: int32(maxMessageBytes)},
		{Key: "maxWriteBatchSize", Value: int32(maxWriteBatchSize)},
		{Key: "localTime", Value: primitive.NewDateTimeFromTime(request.server.config.Now())},
		{Key: "logicalSessionTimeoutMinutes", Value: int32(sessionTimeoutMins)},
		{Key: "connectionId", Value: request.connection.number},
		{Key: "minWireVersion", Value: int32(0)},
		{Key: "maxWireVersion", Value: int32(maxWireVersion)},
		{Key: "readOnly", Value: false},
	}, nil
}

func buildInfo(*command) (bson.D, *engine.Error) {
	return bson.D{
		{Key: "version", Value: Version},
		{Key: "versionArray", Value: bson.A{int32(7), int32(0), int32(0), int32(0)}},
		{Key: "gitVersion", Value: "mongotest"},
		{Key: "modules", Value: bson.A{}},
		{Key: "sysInfo", Value: runtime.Version()},
		{Key: "bits", Value: int32(64)},
		{Key: "debug", Value: false},
		{Key: "maxBsonObjectSize", Value: int32(engine.MaxDocumentBytes)},
		{Key: "storageEngines", Value: bson.A{"ephemeral"}},
	}, nil
}

func getParameter(request *command) (bson.D, *engine.Error) {
	known := bson.D{
		{Key: "featureCompatibilityVersion", Value: bson.D{{Key: "version", Value: Version[:3]}}},
		{Key: "authenticationMechanisms", Value: bson.A{}},
	}
	if request.body[0].Value == "*" {
		return known, nil
	}
	reply := bson.D{}
	for _, element := range known {
		if _, asked := engine.Field(request.body, element.Key); asked {
			reply = append(reply, element)
		}
	}
	if len(reply) == 0 {
		return nil, engine.Errorf(engine.InvalidOptions, "no option found to get")
	}
	return reply, nil
}

func connectionStatus(*command) (bson.D, *engine.Error) {
	return bson.D{{Key: "authInfo", Value: bson.D{
		{Key: "authenticatedUsers", Value: bson.A{}},
		{Key: "authenticatedUserRoles", Value: bson.A{}},
	}}}, nil
}

func endSessions(request *command) (bson.D, *engine.Error) {
	fields := reader{document: request.body}
	for _, item := range fields.array("endSessions") {
		document, _ := item.(bson.D)
		id, _ := engine.Field(document, "id")
		if binary, ok := id.(primitive.Binary); ok {
			request.server.retries.forget(string(binary.Data))
		}
	}
	return bson.D{}, fields.failure
}
