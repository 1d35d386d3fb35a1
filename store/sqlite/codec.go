package sqlite

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Runs are written several times each and read by the thousand, so they have a form of their own: a fifth of JSON's
// time and a third of its size. The numbers of fields are part of the stored data: never change or reuse one.

// fieldGivenUp was what the ledger is to say of the slot of a run that is about to be removed: see upgrade_commits.go.
const fieldGivenUp = 44

// encodeRun appends the document of a run to b. Equal runs have equal documents.
func encodeRun(b []byte, r *engine.Run) []byte {
	b = appendText(b, 1, r.ID)
	b = appendInt(b, 2, r.Revision)
	b = appendText(b, 3, r.Namespace)
	b = appendText(b, 4, r.JobUID)
	b = appendText(b, 5, r.Job)
	b = appendInt(b, 6, int64(r.Shard))
	b = appendInt(b, 7, r.Generation)
	b = appendText(b, 8, r.Trigger)
	b = appendText(b, 9, r.By)
	b = appendTime(b, 10, r.Slot)
	b = appendUint(b, 11, uint64(r.Status))
	b = appendText(b, 12, r.Reason)
	b = appendText(b, 13, r.Tier)
	b = appendText(b, 14, r.Class)
	b = appendText(b, 15, r.Binary)
	b = appendInt(b, 16, int64(r.Version))
	b = appendText(b, 17, r.Digest)
	b = appendText(b, 18, r.Kind)
	b = appendInt(b, 19, r.Size)
	b = appendText(b, 20, r.Payload)
	if len(r.Args) > 0 { // few have any, and to sort nothing costs something
		for _, key := range slices.Sorted(maps.Keys(r.Args)) {
			b = appendNested(b, 21, func(b []byte) []byte { return appendText(appendText(b, 1, key), 2, r.Args[key]) })
		}
	}
	b = appendTime(b, 22, r.CreatedAt)
	b = appendTime(b, 23, r.QueuedAt)
	b = appendTime(b, 24, r.StartedAt)
	b = appendTime(b, 25, r.FinishedAt)
	b = appendTime(b, 26, r.RetryAt)
	b = appendTime(b, 27, r.NotBefore)
	b = appendInt(b, 28, int64(r.Attempt))
	b = appendInt(b, 29, int64(r.Failures))
	b = appendInt(b, 30, int64(r.Losses))
	for i := range r.Attempts {
		b = appendNested(b, 31, func(b []byte) []byte { return encodeAttempt(b, &r.Attempts[i]) })
	}
	if p := r.Progress; p != nil {
		b = appendNested(b, 32, func(b []byte) []byte {
			return appendTime(appendText(appendFloat(b, 1, p.Fraction), 2, p.Message), 3, p.At)
		})
	}
	b = appendText(b, 33, r.CancelBy)
	b = appendBool(b, 34, r.Waiting)
	b = appendText(b, 35, r.DAG)
	b = appendText(b, 36, r.Wave)
	b = appendInt(b, 37, r.Epoch)
	b = appendText(b, 38, r.Task)
	if r.Item != nil {
		b = appendNested(b, 39, func(b []byte) []byte { return appendInt(b, 1, int64(*r.Item)) })
	}
	b = appendText(b, 40, r.Outputs)
	for i := range r.Artifacts {
		b = appendNested(b, 41, func(b []byte) []byte {
			a := &r.Artifacts[i]
			return appendText(appendInt(appendText(b, 1, a.Name), 2, a.Size), 3, a.SHA256)
		})
	}
	b = appendBool(b, 42, r.Upstream)
	b = appendText(b, 43, spec.RunsOnText(r.RunsOn))
	return b
}

func encodeAttempt(b []byte, a *engine.Attempt) []byte {
	b = appendInt(b, 1, int64(a.N))
	b = appendUint(b, 2, uint64(a.Status))
	b = appendText(b, 3, a.Executor)
	b = appendUint(b, 4, a.Token)
	b = appendTime(b, 5, a.QueuedAt)
	b = appendTime(b, 6, a.ClaimedAt)
	b = appendTime(b, 7, a.FetchedAt)
	b = appendTime(b, 8, a.StartedAt)
	b = appendTime(b, 9, a.FinishedAt)
	if a.ExitCode != nil {
		b = appendNested(b, 10, func(b []byte) []byte { return appendInt(b, 1, int64(*a.ExitCode)) })
	}
	b = appendText(b, 11, a.Signal)
	b = appendText(b, 12, a.Error)
	if u := a.Usage; u != nil {
		b = appendNested(b, 13, func(b []byte) []byte { return appendInt(appendInt(b, 1, int64(u.CPU)), 2, u.MaxRSS) })
	}
	if o := a.Output; o != nil {
		b = appendNested(b, 14, func(b []byte) []byte {
			b = appendInt(appendInt(b, 1, o.Size), 2, o.Lines)
			return appendInt(appendInt(appendInt(appendText(b, 3, o.Tail), 4, int64(o.Chunks)), 5, o.Truncated), 6, o.Lost)
		})
	}
	return b
}

// appendNested writes a document inside a document: first the document, which then makes room for its length.
func appendNested(b []byte, field uint64, encode func([]byte) []byte) []byte {
	from := len(b)
	b = encode(b)
	length := len(b) - from
	var room [2 * binary.MaxVarintLen64]byte
	head := appendLength(room[:0], field, length)
	b = append(b, head...)
	copy(b[from+len(head):], b[from:from+length])
	copy(b[from:], head)
	return b
}

// decodeRun reads what encodeRun writes. The run shares nothing with the document.
func decodeRun(document []byte) (r engine.Run, err error) {
	err = fields(document, func(field uint64, v value) error {
		switch field {
		case 1:
			r.ID = v.text()
		case 2:
			r.Revision = v.int()
		case 3:
			r.Namespace = v.text()
		case 4:
			r.JobUID = v.text()
		case 5:
			r.Job = v.text()
		case 6:
			r.Shard = int(v.int())
		case 7:
			r.Generation = v.int()
		case 8:
			r.Trigger = engine.Trigger(v.text())
		case 9:
			r.By = v.text()
		case 10:
			r.Slot = v.time()
		case 11:
			r.Status = engine.Status(v.number)
		case 12:
			r.Reason = v.text()
		case 13:
			r.Tier = spec.Tier(v.text())
		case 14:
			r.Class = spec.Class(v.text())
		case 15:
			r.Binary = v.text()
		case 16:
			r.Version = int(v.int())
		case 17:
			r.Digest = v.text()
		case 18:
			r.Kind = v.text()
		case 19:
			r.Size = v.int()
		case 20:
			r.Payload = v.clone()
		case 21:
			return decodeArgument(&r, v.bytes)
		case 22:
			r.CreatedAt = v.time()
		case 23:
			r.QueuedAt = v.time()
		case 24:
			r.StartedAt = v.time()
		case 25:
			r.FinishedAt = v.time()
		case 26:
			r.RetryAt = v.time()
		case 27:
			r.NotBefore = v.time()
		case 28:
			r.Attempt = int(v.int())
		case 29:
			r.Failures = int(v.int())
		case 30:
			r.Losses = int(v.int())
		case 31:
			a, err := decodeAttempt(v.bytes)
			r.Attempts = append(r.Attempts, a)
			return err
		case 32:
			p, err := decodeProgress(v.bytes)
			r.Progress = &p
			return err
		case 33:
			r.CancelBy = v.text()
		case 34:
			r.Waiting = v.number != 0
		case 35:
			r.DAG = v.text()
		case 36:
			r.Wave = v.text()
		case 37:
			r.Epoch = v.int()
		case 38:
			r.Task = v.text()
		case 39:
			item, err := decodeNumber(v.bytes)
			r.Item = &item
			return err
		case 40:
			r.Outputs = v.clone()
		case 41:
			a, err := decodeArtifact(v.bytes)
			r.Artifacts = append(r.Artifacts, a)
			return err
		case 42:
			r.Upstream = v.number != 0
		case 43:
			r.RunsOn = spec.ParseRunsOn(v.text())
		}
		return nil
	})
	if err != nil {
		return engine.Run{}, fmt.Errorf("run %q: %w", r.ID, err)
	}
	return r, nil
}

// decodeNumber reads a number that may be zero and yet there.
func decodeNumber(document []byte) (n int, err error) {
	err = fields(document, func(_ uint64, v value) error {
		n = int(v.int())
		return nil
	})
	return n, err
}

func decodeArtifact(document []byte) (a engine.Artifact, err error) {
	err = fields(document, func(field uint64, v value) error {
		switch field {
		case 1:
			a.Name = v.text()
		case 2:
			a.Size = v.int()
		case 3:
			a.SHA256 = v.text()
		}
		return nil
	})
	return a, err
}

func decodeArgument(r *engine.Run, document []byte) error {
	var key, text string
	err := fields(document, func(field uint64, v value) error {
		switch field {
		case 1:
			key = v.text()
		case 2:
			text = v.text()
		}
		return nil
	})
	if r.Args == nil {
		r.Args = map[string]string{}
	}
	r.Args[key] = text
	return err
}

func decodeProgress(document []byte) (p engine.Progress, err error) {
	err = fields(document, func(field uint64, v value) error {
		switch field {
		case 1:
			p.Fraction = v.float()
		case 2:
			p.Message = v.text()
		case 3:
			p.At = v.time()
		}
		return nil
	})
	return p, err
}

func decodeAttempt(document []byte) (a engine.Attempt, err error) {
	err = fields(document, func(field uint64, v value) error {
		switch field {
		case 1:
			a.N = int(v.int())
		case 2:
			a.Status = engine.Status(v.number)
		case 3:
			a.Executor = v.text()
		case 4:
			a.Token = v.number
		case 5:
			a.QueuedAt = v.time()
		case 6:
			a.ClaimedAt = v.time()
		case 7:
			a.FetchedAt = v.time()
		case 8:
			a.StartedAt = v.time()
		case 9:
			a.FinishedAt = v.time()
		case 10:
			code, err := decodeNumber(v.bytes)
			a.ExitCode = &code
			return err
		case 11:
			a.Signal = v.text()
		case 12:
			a.Error = v.text()
		case 13:
			a.Usage = new(engine.Usage)
			return decodeUsage(a.Usage, v.bytes)
		case 14:
			a.Output = new(engine.Output)
			return decodeOutput(a.Output, v.bytes)
		}
		return nil
	})
	return a, err
}

func decodeUsage(u *engine.Usage, document []byte) error {
	return fields(document, func(field uint64, v value) error {
		switch field {
		case 1:
			u.CPU = time.Duration(v.int())
		case 2:
			u.MaxRSS = v.int()
		}
		return nil
	})
}

func decodeOutput(o *engine.Output, document []byte) error {
	return fields(document, func(field uint64, v value) error {
		switch field {
		case 1:
			o.Size = v.int()
		case 2:
			o.Lines = v.int()
		case 3:
			o.Tail = v.clone()
		case 4:
			o.Chunks = int(v.int())
		case 5:
			o.Truncated = v.int()
		case 6:
			o.Lost = v.int()
		}
		return nil
	})
}
