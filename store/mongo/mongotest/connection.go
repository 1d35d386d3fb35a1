package mongotest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/FerretDB/wire"
	"github.com/FerretDB/wire/wirebson"
	"go.mongodb.org/mongo-driver/bson"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest/internal/engine"
)

// connection serves one client socket, one request after the other.
type connection struct {
	server  *Server
	socket  net.Conn
	number  int32
	context context.Context
	cancel  context.CancelFunc
	request int32 // the last request id of our own
}

// errDropped ends a connection because a fault says so.
var errDropped = errors.New("connection dropped by a fault")

func newConnection(server *Server, socket net.Conn, number int32) *connection {
	c := &connection{server: server, socket: socket, number: number}
	c.context, c.cancel = context.WithCancel(server.context)
	return c
}

// end closes the socket, which ends run.
func (c *connection) end() {
	c.cancel()
	_ = c.socket.Close()
}

func (c *connection) run() {
	defer c.end()
	reader := bufio.NewReaderSize(c.socket, 64<<10)
	writer := bufio.NewWriterSize(c.socket, 64<<10)
	for {
		header, body, err := readMessage(reader)
		if err == nil {
			err = c.answer(header, body, writer)
		}
		switch {
		case err == nil:
		case errors.Is(err, wire.ErrZeroRead), errors.Is(err, net.ErrClosed), errors.Is(err, io.EOF), errors.Is(err, errDropped),
			errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), c.context.Err() != nil:
			return // the client has gone, or we let it go
		default:
			c.server.config.Logger.Error("connection", "number", c.number, "error", err)
			return
		}
	}
}

// readMessage reads a message; the codec panics on some malformed ones.
func readMessage(reader *bufio.Reader) (header *wire.MsgHeader, body wire.MsgBody, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("malformed message: %v", problem)
		}
	}()
	return wire.ReadMessage(reader)
}

func (c *connection) answer(header *wire.MsgHeader, body wire.MsgBody, writer *bufio.Writer) error {
	if err := c.server.faults.wait(c.context); err != nil {
		return err
	}
	switch message := body.(type) {
	case *wire.OpQuery:
		// Drivers say hello in this old form, since they do not know yet whom they talk to.
		raw, err := message.Query().Encode()
		if err != nil {
			return err
		}
		document, err := decode(raw)
		if err != nil {
			return err
		}
		request := newCommand(c, document, "admin")
		reply, err := c.server.dispatch(request)
		if err != nil {
			return err
		}
		response, err := wire.NewOpReply(wirebson.RawDocument(reply))
		if err != nil {
			return err
		}
		return c.write(writer, header, wire.OpCodeReply, response)
	case *wire.OpMsg:
		request, failure := commandOf(c, message)
		var reply bson.Raw
		var err error
		if failure != nil {
			reply, err = encode(failed(failure))
		} else {
			reply, err = c.server.dispatch(request)
		}
		if err != nil {
			return err
		}
		if request != nil && request.after != nil {
			defer request.after()
		}
		if message.Flags.FlagSet(wire.OpMsgMoreToCome) {
			return nil // an unacknowledged write
		}
		response, err := wire.NewOpMsg(wirebson.RawDocument(reply))
		if err != nil {
			return err
		}
		return c.write(writer, header, wire.OpCodeMsg, response)
	}
	return fmt.Errorf("message %s is not served", header.OpCode)
}

func (c *connection) write(writer *bufio.Writer, to *wire.MsgHeader, code wire.OpCode, body wire.MsgBody) error {
	data, err := body.MarshalBinary()
	if err != nil {
		return err
	}
	c.request++
	header := &wire.MsgHeader{
		MessageLength: int32(wire.MsgHeaderLen + len(data)),
		RequestID:     c.request,
		ResponseTo:    to.RequestID,
		OpCode:        code,
	}
	if err := wire.WriteMessage(writer, header, body); err != nil {
		return err
	}
	return writer.Flush()
}

// commandOf puts the sections of a message together: documents that travel outside the command become fields of it.
func commandOf(c *connection, message *wire.OpMsg) (*command, *engine.Error) {
	document, err := decode(message.RawSection0())
	if err != nil {
		return nil, engine.Errorf(engine.FailedToParse, "%s", err)
	}
	for _, section := range message.Sections() {
		if section.Kind != 1 {
			continue
		}
		documents := make(bson.A, 0, len(section.Documents()))
		for _, raw := range section.Documents() {
			// An update may carry a document of full size with something around it.
			if len(raw) > engine.MaxDocumentBytes+16*1024 {
				return nil, engine.Errorf(engine.BSONObjectTooLarge, "document of %d bytes is larger than %d", len(raw), engine.MaxDocumentBytes)
			}
			item, err := decode(raw)
			if err != nil {
				return nil, engine.Errorf(engine.FailedToParse, "%s", err)
			}
			documents = append(documents, item)
		}
		document = append(document, bson.E{Key: section.Identifier, Value: documents})
	}
	if failure := engine.Supported(document); failure != nil {
		return nil, failure
	}
	return newCommand(c, document, ""), nil
}

func decode(raw []byte) (bson.D, error) {
	var document bson.D
	if err := bson.Unmarshal(raw, &document); err != nil {
		return nil, fmt.Errorf("decode BSON: %w", err)
	}
	return document, nil
}

func encode(document bson.D) (bson.Raw, error) {
	raw, err := bson.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode BSON: %w", err)
	}
	return raw, nil
}
