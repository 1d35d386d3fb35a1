package spec_test

import (
	"testing"

	"github.com/tidewheel/tidewheel/spec"
)

func TestMessageTriggerTakesItsSubjects(t *testing.T) {
	for _, c := range []struct {
		wanted, subject string
		takes           bool
	}{
		{"orders.paid", "orders.paid", true},
		{"orders.paid", "orders.paid.late", false},
		{"orders.paid", "orders", false},
		{"orders.*", "orders.paid", true},
		{"orders.*", "orders", false},
		{"orders.*", "orders.paid.late", false},
		{"*.paid", "orders.paid", true},
		{"*.paid", "orders.open", false},
		{"orders.>", "orders.paid.late", true},
		{"orders.>", "orders", false},
		{">", "orders", true},
	} {
		if got := (&spec.MessageTrigger{Subject: c.wanted}).Takes(c.subject); got != c.takes {
			t.Errorf("%s takes %s: %t", c.wanted, c.subject, got)
		}
	}
}
