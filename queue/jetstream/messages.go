package jetstream

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Headers that JetStream reads.
const (
	headerExpectedSequence = "Nats-Expected-Last-Subject-Sequence"
	headerTTL              = "Nats-TTL"
	headerMarker           = "Nats-Marker-Reason"
)

// headerAgain marks a message that may have been sent before: of a task a copy may have been claimed already.
const headerAgain = "Tidewheel-Again"

// headerRepeated marks a question that is asked again because no answer came. It is not signed, as what it marks is: it was signed
// with the first copy, so that its age is known, and without the mark it is that copy.
const headerRepeated = "Tidewheel-Repeated"

// headerSignature holds what proves that an engine made the message.
const headerSignature = "Tidewheel-Signature"

// stored is a message as a stream holds it.
type stored struct {
	subject  string
	sequence uint64
	at       time.Time
	header   nats.Header
	data     []byte
}

// outgoing is a message that is about to be sent. Its memory is used again.
type outgoing struct {
	nats.Msg
	values [3]string // of the headers
	used   int
}

var outgoings = sync.Pool{New: func() any { return &outgoing{Msg: nats.Msg{Header: make(nats.Header, 3)}} }}

func newOutgoing(subject string) *outgoing {
	o := outgoings.Get().(*outgoing)
	o.Subject = subject
	return o
}

// set adds a header; there is room for three.
func (o *outgoing) set(header, value string) {
	o.values[o.used] = value
	o.Header[header] = o.values[o.used : o.used+1 : o.used+1]
	o.used++
}

// free gives the memory back; the caller must not use the message any more.
func (o *outgoing) free() {
	if cap(o.Data) > 64<<10 {
		o.Data = nil
	}
	o.Data = o.Data[:0]
	clear(o.Header)
	o.used = 0
	outgoings.Put(o)
}

// publish stores a message, and frees it; with expected, on condition that the subject's last message has that
// sequence (0: none).
func (q *Queue) publish(ctx context.Context, message *outgoing, expected *uint64) (sequence uint64, err error) {
	if expected != nil {
		message.set(headerExpectedSequence, strconv.FormatUint(*expected, 10))
	}
	answer, err := q.requests.do(ctx, &message.Msg)
	message.free()
	if err != nil {
		return 0, err
	}
	return acknowledged(answer)
}

// ask calls JetStream's API.
func (q *Queue) ask(ctx context.Context, subject string, question, answer any) error {
	payload, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	message, err := q.requests.do(ctx, &nats.Msg{Subject: "$JS.API." + subject, Data: payload})
	if err != nil {
		return err
	}
	var failed struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(message.Data, &failed); err != nil {
		return fmt.Errorf("read answer to %s: %w", subject, err)
	}
	if failed.Error != nil {
		return failed.Error
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(message.Data, answer); err != nil {
		return fmt.Errorf("read answer to %s: %w", subject, err)
	}
	return nil
}

// last returns a subject's last message, nil if it has none. The stream's leader answers, so what was acknowledged
// before is seen. The subject may have wildcards.
func (q *Queue) last(ctx context.Context, stream, subject string) (*stored, error) {
	if q.config.Enrolled != nil && stream == "KV_"+q.names.leases {
		return q.lastEntry(ctx, subject)
	}
	var answer struct {
		Message struct {
			Subject  string    `json:"subject"`
			Sequence uint64    `json:"seq"`
			Header   string    `json:"hdrs"`
			Data     string    `json:"data"`
			Time     time.Time `json:"time"`
		} `json:"message"`
	}
	err := q.ask(ctx, "STREAM.MSG.GET."+stream, map[string]string{"last_by_subj": subject}, &answer)
	if refused := (*apiError)(nil); errors.As(err, &refused) && refused.ErrCode == codeNoMessage {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := &stored{subject: answer.Message.Subject, sequence: answer.Message.Sequence, at: answer.Message.Time}
	if found.data, err = base64.StdEncoding.DecodeString(answer.Message.Data); err != nil {
		return nil, fmt.Errorf("read message %d of %s: %w", found.sequence, stream, err)
	}
	if answer.Message.Header != "" {
		raw, err := base64.StdEncoding.DecodeString(answer.Message.Header)
		if err != nil {
			return nil, fmt.Errorf("read headers of message %d of %s: %w", found.sequence, stream, err)
		}
		if found.header, err = nats.DecodeHeadersMsg(raw); err != nil {
			return nil, fmt.Errorf("read headers of message %d of %s: %w", found.sequence, stream, err)
		}
	}
	return found, nil
}

// nextQuestion asks for the first message of a subject from a sequence on, or since an instant.
type nextQuestion struct {
	Subject  string     `json:"next_by_subj"`
	Sequence uint64     `json:"seq,omitempty"`
	Since    *time.Time `json:"start_time,omitempty"`
}

// firstFrom returns the place of the first message of a subject from a sequence on, 0 if there is none. The stream's leader
// answers: what was acknowledged before is seen, and no replica is asked that is suspended.
func (q *Queue) firstFrom(ctx context.Context, stream, subject string, from uint64) (sequence uint64, at time.Time, err error) {
	var answer struct {
		Message struct {
			Sequence uint64    `json:"seq"`
			Time     time.Time `json:"time"`
		} `json:"message"`
	}
	err = q.ask(ctx, "STREAM.MSG.GET."+stream, nextQuestion{Subject: subject, Sequence: from}, &answer)
	if refused := (*apiError)(nil); errors.As(err, &refused) && refused.ErrCode == codeNoMessage {
		return 0, at, nil
	}
	return answer.Message.Sequence, answer.Message.Time, err
}

// following returns the place of a message; the highest number if there is none. Any replica may answer, so that what
// was acknowledged just now may be missing.
func (q *Queue) following(ctx context.Context, stream string, question nextQuestion) (sequence uint64, at time.Time, err error) {
	payload, err := json.Marshal(question)
	if err != nil {
		return 0, at, fmt.Errorf("encode request: %w", err)
	}
	answer, err := q.requests.do(ctx, &nats.Msg{Subject: "$JS.API.DIRECT.GET." + stream, Data: payload})
	if err != nil {
		return 0, at, err
	}
	sequence, at, err = readDirect(answer)
	return sequence, at, wrap("look into "+stream, err)
}

// readDirect reads the place of a message that a replica has answered with; the highest number if there is none.
func readDirect(answer *nats.Msg) (sequence uint64, at time.Time, err error) {
	switch status := answer.Header.Get("Status"); status {
	case "":
	case "404":
		return math.MaxUint64, at, nil
	default:
		return 0, at, fmt.Errorf("%s %s", status, answer.Header.Get("Description"))
	}
	if sequence, err = strconv.ParseUint(answer.Header.Get("Nats-Sequence"), 10, 64); err != nil {
		return 0, at, err
	}
	at, err = time.Parse(time.RFC3339Nano, answer.Header.Get("Nats-Time-Stamp"))
	return sequence, at, err
}

// remove deletes one message. One that is gone already is no error.
func (q *Queue) remove(ctx context.Context, stream string, sequence uint64) error {
	err := q.ask(ctx, "STREAM.MSG.DELETE."+stream, struct {
		Sequence uint64 `json:"seq"`
		NoErase  bool   `json:"no_erase"`
	}{sequence, true}, nil)
	if err != nil && gone(err) {
		return nil
	}
	return err
}

// gone reports whether JetStream says that there is no such message.
func gone(err error) bool {
	var refused *apiError
	return errors.As(err, &refused) && (refused.ErrCode == codeNoMessage || strings.Contains(refused.Description, "no message found"))
}

// purge deletes the messages of a subject, or those of the stream below a sequence.
func (q *Queue) purge(ctx context.Context, stream, subject string, below uint64) (purged uint64, err error) {
	var answer struct {
		Purged uint64 `json:"purged"`
	}
	err = q.ask(ctx, "STREAM.PURGE."+stream, struct {
		Subject string `json:"filter,omitempty"`
		Below   uint64 `json:"seq,omitempty"`
	}{subject, below}, &answer)
	return answer.Purged, err
}

// ttlHeader is a message's life in whole seconds, the unit of JetStream's; a part of a second counts as one. Without
// the unit the server would read it too, but only after it has made an error of it.
func ttlHeader(ttl time.Duration) string {
	seconds := max(int64((ttl+time.Second-1)/time.Second), 1)
	return strconv.FormatInt(seconds, 10) + "s"
}
