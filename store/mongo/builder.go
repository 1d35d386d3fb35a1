package mongo

import (
	"math"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// builder puts BSON together field by field, for what is written with each run: reflection takes ten times as long. Numbers have the
// types that bson.Marshal gives them. Its zero value is ready.
type builder struct {
	bytes []byte
	open  []int32 // where the documents and arrays begin that have not ended
}

// begin starts a document that is no field: the whole, or an item of a list.
func (b *builder) begin() {
	var at int32
	at, b.bytes = bsoncore.AppendDocumentStart(b.bytes)
	b.open = append(b.open, at)
}

// document starts one as a field.
func (b *builder) document(key string) {
	var at int32
	at, b.bytes = bsoncore.AppendDocumentElementStart(b.bytes, key)
	b.open = append(b.open, at)
}

// array starts one as a field. The keys of its items are their numbers.
func (b *builder) array(key string) {
	var at int32
	at, b.bytes = bsoncore.AppendArrayElementStart(b.bytes, key)
	b.open = append(b.open, at)
}

// item starts a document as an item of an array.
func (b *builder) item(n int) { b.document(strconv.Itoa(n)) }

// end ends what was started last.
func (b *builder) end() {
	last := len(b.open) - 1
	b.bytes = append(b.bytes, 0)
	b.bytes = bsoncore.UpdateLength(b.bytes, b.open[last], int32(len(b.bytes))-b.open[last])
	b.open = b.open[:last]
}

func (b *builder) text(key, value string) {
	b.bytes = bsoncore.AppendStringElement(b.bytes, key, value)
}

func (b *builder) flag(key string, value bool) {
	b.bytes = bsoncore.AppendBooleanElement(b.bytes, key, value)
}

func (b *builder) long(key string, value int64) {
	b.bytes = bsoncore.AppendInt64Element(b.bytes, key, value)
}

// number writes an int, which is a long only where it must be.
func (b *builder) number(key string, value int) {
	if value < math.MinInt32 || value > math.MaxInt32 {
		b.long(key, int64(value))
		return
	}
	b.bytes = bsoncore.AppendInt32Element(b.bytes, key, int32(value))
}

func (b *builder) double(key string, value float64) {
	b.bytes = bsoncore.AppendDoubleElement(b.bytes, key, value)
}

func (b *builder) date(key string, value time.Time) {
	b.bytes = bsoncore.AppendDateTimeElement(b.bytes, key, value.UnixMilli())
}

func (b *builder) raw(key string, document []byte) {
	b.bytes = bsoncore.AppendDocumentElement(b.bytes, key, document)
}

// The same for fields that are left out where they say nothing.

func (b *builder) someText(key, value string) {
	if value != "" {
		b.text(key, value)
	}
}

func (b *builder) someFlag(key string, value bool) {
	if value {
		b.flag(key, value)
	}
}

func (b *builder) someLong(key string, value int64) {
	if value != 0 {
		b.long(key, value)
	}
}

func (b *builder) someNumber(key string, value int) {
	if value != 0 {
		b.number(key, value)
	}
}

func (b *builder) someDate(key string, value time.Time) {
	if !value.IsZero() {
		b.date(key, value)
	}
}

func (b *builder) someDates(key string, values []time.Time) {
	if len(values) == 0 {
		return
	}
	b.array(key)
	for i, value := range values {
		b.date(strconv.Itoa(i), value)
	}
	b.end()
}

func (b *builder) someBytes(key string, value []byte) {
	if len(value) > 0 {
		b.bytes = bsoncore.AppendBinaryElement(b.bytes, key, bson.TypeBinaryGeneric, value)
	}
}

// someMap writes a map in the order of its keys, so that the same map is always the same bytes.
func (b *builder) someMap(key string, values map[string]string) error {
	if len(values) == 0 {
		return nil
	}
	document, err := bson.Marshal(sorted(values))
	b.raw(key, document)
	return err
}

func (b *builder) someValue(key string, value bson.RawValue) {
	if !value.IsZero() {
		b.bytes = bsoncore.AppendValueElement(b.bytes, key, bsoncore.Value{Type: bsoncore.Type(value.Type), Data: value.Value})
	}
}

// texts writes a list of texts, unless it is empty.
func (b *builder) texts(key string, values []string) {
	if len(values) == 0 {
		return
	}
	b.array(key)
	for i, value := range values {
		b.text(strconv.Itoa(i), value)
	}
	b.end()
}

// documents writes a list of documents, unless it is empty.
func (b *builder) documents(key string, documents []bson.Raw) {
	if len(documents) == 0 {
		return
	}
	b.array(key)
	for i, document := range documents {
		b.raw(strconv.Itoa(i), document)
	}
	b.end()
}
