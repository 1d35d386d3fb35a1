package mongotest

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest/internal/engine"
)

// command is one request.
type command struct {
	connection *connection
	server     *Server
	name       string // the first field's
	database   string
	body       bson.D
	after      func()              // done when the answer is on its way
	moment     primitive.Timestamp // that it read, with the read concern snapshot
}

// handler answers a command with its reply, to which ok is added, or with an error.
type handler func(*command) (bson.D, *engine.Error)

// handlers are all commands, filled by the files that implement them.
var handlers = map[string]handler{}

// writes are the commands that a driver may repeat and that faults apply to.
var writes = map[string]bool{"insert": true, "update": true, "delete": true, "findAndModify": true}

func init() {
	for _, group := range []map[string]handler{handshakeHandlers, writeHandlers, readHandlers, catalogHandlers, faultHandlers} {
		for name, handle := range group {
			handlers[name] = handle
		}
	}
}

func newCommand(c *connection, body bson.D, database string) *command {
	request := requestOf(c.server, body, database)
	request.connection = c
	return request
}

// requestOf makes a command that came over no connection.
func requestOf(s *Server, body bson.D, database string) *command {
	request := &command{server: s, body: body, database: database}
	if len(body) > 0 {
		request.name = body[0].Key
	}
	if name, ok := engine.Field(body, "$db"); ok {
		request.database, _ = name.(string)
	}
	return request
}

// refused are options that would change the meaning of a command if they were ignored.
var refused = map[string]string{
	"collation":        "collations are",
	"let":              "variables are",
	"startTransaction": "multi-document transactions are",
	"autocommit":       "multi-document transactions are",
	"tailable":         "tailable cursors are",
}

// dispatch answers a command. An error ends the connection.
func (s *Server) dispatch(request *command) (bson.Raw, error) {
	handle := handlers[request.name]
	if handle == nil {
		return encode(failed(engine.Errorf(engine.CommandNotFound, "no such command: '%s'", request.name)))
	}
	for _, element := range request.body {
		if what := refused[element.Key]; what != "" && element.Value != false && !empty(element.Value) {
			return encode(failed(engine.Errorf(engine.CommandNotSupported, "%s not supported by this server", what)))
		}
	}
	s.observe(request)
	if (writes[request.name] || request.name == "find") && s.faults.take(&s.faults.notPrimary) {
		return encode(append(failed(engine.Errorf(engine.NotWritablePrimary, "not primary")),
			bson.E{Key: "errorLabels", Value: bson.A{"RetryableWriteError"}}))
	}
	work := func() (bson.Raw, error) { return encode(s.do(handle, request)) }
	if changes[request.name] {
		return s.journal.do(request.body, work)
	}
	if !writes[request.name] {
		return work()
	}
	if halted, torn := s.faults.halted(); halted {
		done := request
		switch torn {
		case TornHalf:
			done = request.half()
			fallthrough
		case TornAll:
			if _, err := s.journal.do(done.body, func() (bson.Raw, error) { return encode(s.do(handle, done)) }); err != nil {
				return nil, err
			}
		case TornNone:
		}
		return encode(failed(engine.Errorf(engine.InternalError, "a fault halts all writes")))
	}
	if s.faults.take(&s.faults.dropBefore) {
		return nil, errDropped
	}
	if s.faults.take(&s.faults.cutInWrite) {
		half := request.half()
		_, err := s.journal.do(half.body, func() (bson.Raw, error) { return encode(s.do(handle, half)) })
		return nil, errors.Join(errDropped, err)
	}
	reply, err := s.retries.once(request, func() (bson.Raw, error) { return s.journal.do(request.body, work) })
	if err != nil {
		return nil, err
	}
	if s.faults.take(&s.faults.dropAfter) {
		return nil, errDropped
	}
	if s.faults.take(&s.faults.errorAfter) {
		return encode(failed(engine.Errorf(engine.InternalError, "a fault reports this write as failed")))
	}
	if s.faults.take(&s.faults.concernAfter) {
		return encode(append(bson.D{{Key: "writeConcernError", Value: bson.D{
			{Key: "code", Value: int32(engine.WriteConcernFailed)}, {Key: "codeName", Value: engine.WriteConcernFailed.String()},
			{Key: "errmsg", Value: "waiting for replication timed out"},
		}}}, fields(reply)...))
	}
	return reply, nil
}

// observed are the commands that Config.Observe is given.
var observed = []string{"find", "aggregate", "count", "distinct", "insert", "update", "delete", "findAndModify"}

func (s *Server) observe(request *command) {
	if s.config.Observe == nil || !slices.Contains(observed, request.name) {
		return
	}
	raw, err := bson.Marshal(request.body)
	if err != nil {
		s.config.Logger.Error("observe", "name", request.name, "error", err)
		return
	}
	s.config.Observe(request.database, raw)
}

// fields reads an answer again.
func fields(reply bson.Raw) (document bson.D) {
	_ = bson.Unmarshal(reply, &document) // it was encoded a moment ago
	return document
}

// half is a request for the first half of its writes; for none of them if there is one. It is not remembered as done.
func (c *command) half() *command {
	part := *c
	part.body = slices.DeleteFunc(slices.Clone(c.body), func(element bson.E) bool { return element.Key == "txnNumber" })
	for i, element := range part.body {
		if list, is := element.Value.(bson.A); is && (element.Key == "documents" || element.Key == "updates" || element.Key == "deletes") {
			part.body[i].Value = list[:len(list)/2]
		}
	}
	return &part
}

// do runs a handler; what the engine's libraries panic about becomes an InternalError.
func (s *Server) do(handle handler, request *command) (reply bson.D) {
	defer func() {
		if problem := recover(); problem != nil {
			s.config.Logger.Error("command", "name", request.name, "panic", problem, "stack", string(debug.Stack()))
			reply = failed(engine.Errorf(engine.InternalError, "%s: %v", request.name, problem))
		}
	}()
	reply, failure := handle(request)
	if failure != nil {
		return failed(failure)
	}
	return append(reply, bson.E{Key: "ok", Value: float64(1)})
}

func failed(failure *engine.Error) bson.D {
	reply := bson.D{
		{Key: "ok", Value: float64(0)},
		{Key: "errmsg", Value: failure.Message},
		{Key: "code", Value: int32(failure.Code)},
		{Key: "codeName", Value: failure.Code.String()},
	}
	if failure.KeyPattern != nil {
		reply = append(reply, bson.E{Key: "keyPattern", Value: failure.KeyPattern}, bson.E{Key: "keyValue", Value: failure.KeyValue})
	}
	return reply
}

func empty(value any) bool {
	document, ok := value.(bson.D)
	return value == nil || (ok && len(document) == 0)
}

// reader takes typed fields out of a document and keeps the first thing that is wrong.
type reader struct {
	document bson.D
	failure  *engine.Error
}

func (r *reader) wrong(name, wanted string, value any) {
	if r.failure == nil {
		r.failure = engine.Errorf(engine.TypeMismatch, "field '%s' should be %s but is %T", name, wanted, value)
	}
}

func (r *reader) value(name string) any {
	value, _ := engine.Field(r.document, name)
	return value
}

func (r *reader) text(name string) string {
	value := r.value(name)
	text, ok := value.(string)
	if !ok && value != nil {
		r.wrong(name, "a string", value)
	}
	return text
}

func (r *reader) object(name string) bson.D {
	value := r.value(name)
	document, ok := value.(bson.D)
	if !ok && value != nil {
		r.wrong(name, "an object", value)
	}
	return document
}

func (r *reader) array(name string) bson.A {
	value := r.value(name)
	array, ok := value.(bson.A)
	if !ok && value != nil {
		r.wrong(name, "an array", value)
	}
	return array
}

func (r *reader) flag(name string, otherwise bool) bool {
	switch value := r.value(name).(type) {
	case nil:
		return otherwise
	case bool:
		return value
	case int32:
		return value != 0
	case int64:
		return value != 0
	case float64:
		return value != 0
	default:
		r.wrong(name, "a boolean", value)
		return otherwise
	}
}

func (r *reader) number(name string, otherwise int64) int64 {
	switch value := r.value(name).(type) {
	case nil:
		return otherwise
	case int32:
		return int64(value)
	case int64:
		return value
	case float64:
		return int64(value)
	default:
		r.wrong(name, "a number", value)
		return otherwise
	}
}

// filter reads a query.
func (r *reader) filter(name string) *engine.Filter {
	query := r.object(name)
	if query == nil {
		query = bson.D{}
	}
	filter, failure := engine.NewFilter(query)
	if failure != nil && r.failure == nil {
		r.failure = failure
	}
	return filter
}

// collection returns the name that the command's first field gives.
func (c *command) collection() (string, *engine.Error) {
	name, ok := c.body[0].Value.(string)
	if !ok || name == "" {
		return "", engine.Errorf(engine.InvalidNamespace, "collection name has invalid type or is empty")
	}
	return name, nil
}

// existing returns the collection to read, an empty one if there is none.
func (c *command) existing() (*engine.Collection, string, *engine.Error) {
	name, failure := c.collection()
	if failure != nil {
		return nil, "", failure
	}
	namespace := fmt.Sprintf("%s.%s", c.database, name)
	catalog, failure := c.source()
	if failure != nil {
		return nil, "", failure
	}
	if found := catalog.Lookup(c.database, name); found != nil {
		return found, namespace, nil
	}
	return engine.NewCollection(namespace), namespace, nil
}

// session returns the logical session of a retryable write; ok is false for any other command.
func (c *command) session() (id string, number int64, ok bool) {
	lsid, _ := engine.Field(c.body, "lsid")
	document, _ := lsid.(bson.D)
	value, _ := engine.Field(document, "id")
	binary, isBinary := value.(primitive.Binary)
	transaction, _ := engine.Field(c.body, "txnNumber")
	number, isNumber := transaction.(int64)
	return string(binary.Data), number, isBinary && isNumber
}
