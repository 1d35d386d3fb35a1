package templates

import (
	"context"
	"time"
)

// ZoneChoice is whose clock the reader wants times shown and typed by.
type ZoneChoice string

// The choices.
const (
	ZoneReader ZoneChoice = "" // the reader's own
	ZoneUTC    ZoneChoice = "utc"
	ZoneJob    ZoneChoice = "job" // that of the job or DAG that a page is about, and the reader's own elsewhere
)

// ParseZoneChoice reads a choice's name; another word is the reader's own zone.
func ParseZoneChoice(name string) ZoneChoice {
	switch choice := ZoneChoice(name); choice {
	case ZoneUTC, ZoneJob:
		return choice
	case ZoneReader:
	}
	return ZoneReader
}

// Zone is the time zone in which a page shows and reads times.
type Zone struct {
	Choice ZoneChoice
	Reader *time.Location // of the reader's profile, or of the browser; nil until its script has said so
	Job    *time.Location // of the job or DAG that the page is about; nil elsewhere
}

// Location is the zone itself.
func (z Zone) Location() *time.Location {
	switch {
	case z.Choice == ZoneJob && z.Job != nil:
		return z.Job
	case z.Choice == ZoneUTC || z.Reader == nil:
		return time.UTC
	}
	return z.Reader
}

// Name is what the page calls the zone: "Europe/Berlin", "UTC".
func (z Zone) Name() string { return z.Location().String() }

// known reports whether the script has nothing better to show times in: it knows the browser's zone, which the server has
// not heard of yet.
func (z Zone) known() bool {
	return z.Choice == ZoneUTC || z.Reader != nil || z.Choice == ZoneJob && z.Job != nil
}

const (
	momentForm = "2006-01-02 15:04:05"
	// InputForm is what a field of kind datetime-local holds.
	InputForm = "2006-01-02T15:04"
)

// Words writes an instant with the name of the zone, for sentences.
func (z Zone) Words(t time.Time) string {
	return t.In(z.Location()).Format(momentForm) + " " + z.Name()
}

// Input writes an instant as a field for a date and a time holds it; "" for none.
func (z Zone) Input(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.Second() != 0:
		return t.In(z.Location()).Format(InputForm + ":05")
	}
	return t.In(z.Location()).Format(InputForm)
}

type zoneKey struct{}

// WithZone returns the context in which a page is rendered with times of a zone.
func WithZone(ctx context.Context, zone Zone) context.Context {
	return context.WithValue(ctx, zoneKey{}, zone)
}

// zone returns the zone of a page: UTC, until the script says better, where nothing says otherwise.
func zone(ctx context.Context) Zone {
	given, _ := ctx.Value(zoneKey{}).(Zone)
	return given
}

// moment writes an instant: in the zone of the page, whose name stands elsewhere, or in UTC, which it names.
func (z Zone) moment(t time.Time) string {
	if z.known() {
		return t.In(z.Location()).Format(momentForm)
	}
	return utcTime(t)
}

// title is what pointing at an instant says.
func (z Zone) title(t time.Time) string {
	if z.known() && z.Location() != time.UTC {
		return t.In(z.Location()).Format(momentForm+" MST") + " · " + utcTime(t)
	}
	return utcTime(t)
}

// Span writes a span of time: "24 Nov 09:30 to 10:00".
func (z Zone) Span(from, until time.Time) string {
	from, until = from.In(z.Location()), until.In(z.Location())
	clock := "15:04"
	if from.Second() != 0 || until.Second() != 0 {
		clock = "15:04:05"
	}
	words := from.Format("2 Jan "+clock) + " to "
	if from.YearDay() != until.YearDay() || from.Year() != until.Year() {
		words += until.Format("2 Jan ")
	}
	words += until.Format(clock)
	if !z.known() {
		words += " UTC"
	}
	return words
}
