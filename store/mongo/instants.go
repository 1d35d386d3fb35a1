package mongo

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// date is an instant as a BSON date: milliseconds.
func date(instant time.Time) bson.DateTime { return bson.NewDateTimeFromTime(instant) }

// someDate is date, and nil for no instant: the field is left out.
func someDate(instant time.Time) *bson.DateTime {
	if instant.IsZero() {
		return nil
	}
	value := date(instant)
	return &value
}

func instant(value bson.DateTime) time.Time { return time.UnixMilli(int64(value)).UTC() }

func someInstant(value *bson.DateTime) time.Time {
	if value == nil {
		return time.Time{}
	}
	return instant(*value)
}

// micros is an instant in microseconds, 0 for none.
func micros(instant time.Time) int64 {
	if instant.IsZero() {
		return 0
	}
	return instant.UnixMicro()
}

func fromMicros(value int64) time.Time {
	if value == 0 {
		return time.Time{}
	}
	return time.UnixMicro(value).UTC()
}

// remainders holds what instants have beyond the milliseconds of their dates, in microseconds by the name of the
// field. Most documents have none or few.
type remainders bson.D

func (r remainders) restore(field string, instant *time.Time) {
	for _, element := range r {
		if rest, ok := element.Value.(int32); ok && element.Key == field {
			*instant = instant.Add(time.Duration(rest) * time.Microsecond)
		}
	}
}
