package sqlite

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Waves have the form that runs have, because a payload must come back as it was given, byte by byte. The numbers of
// fields are part of the stored data: never change or reuse one.

// encodeWave gives the document of a wave. Equal waves have equal documents.
func encodeWave(w *engine.Wave) (b []byte) {
	b = appendText(b, 1, w.ID)
	b = appendInt(b, 2, w.Revision)
	b = appendText(b, 3, w.Namespace)
	b = appendText(b, 4, w.DAGUID)
	b = appendText(b, 5, w.DAG)
	b = appendInt(b, 6, int64(w.Shard))
	b = appendInt(b, 7, w.Epoch)
	b = appendInt(b, 8, w.Generation)
	b = appendText(b, 9, w.Trigger)
	b = appendText(b, 10, w.By)
	b = appendUint(b, 11, uint64(w.Status))
	b = appendText(b, 12, w.Reason)
	b = appendTime(b, 13, w.Slot)
	for _, root := range slices.Sorted(maps.Keys(w.Slots)) {
		b = appendNested(b, 14, func(b []byte) []byte { return appendTime(appendText(b, 1, root), 2, w.Slots[root]) })
	}
	b = appendText(b, 15, w.Payload)
	for _, key := range slices.Sorted(maps.Keys(w.Args)) {
		b = appendNested(b, 16, func(b []byte) []byte { return appendText(appendText(b, 1, key), 2, w.Args[key]) })
	}
	b = appendTime(b, 17, w.CreatedAt)
	b = appendTime(b, 18, w.StartedAt)
	b = appendTime(b, 19, w.FinishedAt)
	b = appendText(b, 20, w.CancelBy)
	b = appendInt(b, 21, int64(w.Resumed))
	for _, rest := range w.Rests {
		b = appendNested(b, 23, func(b []byte) []byte { return appendTime(appendTime(b, 1, rest.From), 2, rest.To) })
	}
	return appendNested(b, 22, func(b []byte) []byte {
		t := &w.Tally
		b = appendInt(appendInt(b, 1, int64(t.Tasks)), 2, int64(t.Succeeded))
		return appendInt(appendInt(appendInt(b, 3, int64(t.Failed)), 4, int64(t.Cancelled)), 5, int64(t.Skipped))
	})
}

// decodeWave reads what encodeWave writes. The wave shares nothing with the document.
func decodeWave(document []byte) (w engine.Wave, err error) {
	err = fields(document, func(field uint64, v value) error {
		switch field {
		case 1:
			w.ID = v.text()
		case 2:
			w.Revision = v.int()
		case 3:
			w.Namespace = v.text()
		case 4:
			w.DAGUID = v.text()
		case 5:
			w.DAG = v.text()
		case 6:
			w.Shard = int(v.int())
		case 7:
			w.Epoch = v.int()
		case 8:
			w.Generation = v.int()
		case 9:
			w.Trigger = engine.Trigger(v.text())
		case 10:
			w.By = v.text()
		case 11:
			w.Status = engine.Status(v.number)
		case 12:
			w.Reason = v.text()
		case 13:
			w.Slot = v.time()
		case 14:
			if w.Slots == nil {
				w.Slots = map[string]time.Time{}
			}
			return decodePair(v.bytes, func(root string, v value) { w.Slots[root] = v.someTime() })
		case 15:
			w.Payload = v.clone()
		case 16:
			if w.Args == nil {
				w.Args = map[string]string{}
			}
			return decodePair(v.bytes, func(key string, v value) { w.Args[key] = v.text() })
		case 17:
			w.CreatedAt = v.time()
		case 18:
			w.StartedAt = v.time()
		case 19:
			w.FinishedAt = v.time()
		case 20:
			w.CancelBy = v.text()
		case 21:
			w.Resumed = int(v.int())
		case 22:
			return decodeTally(&w.Tally, v.bytes)
		case 23:
			var rest engine.WaveRest
			err := fields(v.bytes, func(field uint64, v value) error {
				switch field {
				case 1:
					rest.From = v.time()
				case 2:
					rest.To = v.time()
				}
				return nil
			})
			w.Rests = append(w.Rests, rest)
			return err
		}
		return nil
	})
	if err != nil {
		return engine.Wave{}, fmt.Errorf("wave %q: %w", w.ID, err)
	}
	return w, nil
}

// decodePair reads a key and a value, and calls put with both: the value may have been left out, for zero.
func decodePair(document []byte, put func(key string, v value)) error {
	var key string
	var second value
	err := fields(document, func(field uint64, v value) error {
		switch field {
		case 1:
			key = v.text()
		case 2:
			second = v
		}
		return nil
	})
	put(key, second)
	return err
}

func decodeTally(t *engine.WaveTally, document []byte) error {
	return fields(document, func(field uint64, v value) error {
		switch field {
		case 1:
			t.Tasks = int(v.int())
		case 2:
			t.Succeeded = int(v.int())
		case 3:
			t.Failed = int(v.int())
		case 4:
			t.Cancelled = int(v.int())
		case 5:
			t.Skipped = int(v.int())
		}
		return nil
	})
}
