package jetstream

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
)

func TestAcknowledged(t *testing.T) {
	for _, test := range []struct {
		answer   string
		sequence uint64
		is       error // of the error, if the sequence is 0
	}{
		{`{"stream":"TASKS","seq":7}`, 7, nil},
		{`{"stream":"TASKS","seq":18446744073709551615}`, 18446744073709551615, nil},
		{`{"stream":"TASKS", "seq": 7}`, 7, nil},
		{`{"stream":"TASKS","domain":"d","seq":70,"duplicate":true}`, 70, nil},
		{`{"stream":"TASKS","seq":0}`, 0, nil},
		{`{"stream":"TASKS","seq":`, 0, nil},
		{`{"stream":"TASKS","seq":7`, 0, nil},
		{``, 0, nil},
		{`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 5"},"stream":"RESULTS","seq":0}`, 0, errConflict},
		{`{"error":{"code":400,"err_code":10164,"description":"wrong last sequence"},"stream":"RESULTS","seq":5}`, 0, errConflict},
		{`{"error":{"code":503,"err_code":10077,"description":"maximum messages per subject exceeded"},"stream":"TASKS","seq":0}`, 0, errCopyWaits},
	} {
		sequence, err := acknowledged(&nats.Msg{Data: []byte(test.answer)})
		if sequence != test.sequence || (err == nil) != (test.sequence > 0) {
			t.Errorf("%s: %d, %v, want %d", test.answer, sequence, err, test.sequence)
		}
		if test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: %v, want %v", test.answer, err, test.is)
		}
	}
	var refused *apiError
	full := `{"error":{"code":503,"err_code":10077,"description":"no space left on device"},"stream":"TASKS","seq":0}`
	if _, err := acknowledged(&nats.Msg{Data: []byte(full)}); !errors.As(err, &refused) || errors.Is(err, errCopyWaits) {
		t.Errorf("a full disk: %v, want JetStream's own error", err)
	}
}
