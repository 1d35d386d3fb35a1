package sqlite

import (
	"encoding/json"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// These are the engine's types once more, with the names that their fields have in stored documents: a field that one of
// the engine's types has and its twin has not, or elsewhere, does not compile in codec.go. `make generate` writes their
// methods to codec_types_gen.go. The names are part of the stored data: never change or reuse one. They are numbers
// because programs up to schema 10 wrote these: codec_schema10.go.

//msgp:shim time.Time as:int64 using:stamp/fromStamp
//msgp:shim engine.Status as:uint8 using:uint8/engine.Status
//msgp:replace engine.Trigger with:string
//msgp:replace engine.SlotReason with:string
//msgp:replace spec.Tier with:string
//msgp:replace spec.Class with:string
//msgp:replace json.RawMessage with:[]byte
//msgp:replace engine.Attempt with:attempt
//msgp:replace engine.Usage with:usage
//msgp:replace engine.Output with:output
//msgp:replace engine.Progress with:progress
//msgp:replace engine.Artifact with:artifact
//msgp:replace engine.WaveRest with:waveRest
//msgp:replace engine.WaveTally with:waveTally

// run is [engine.Run]. A list or map of more than its limit is damage, for which no memory is taken. 43 was RunsOn as a
// text; 44 said what the ledger was to say of the slot of a run that was about to be removed (upgrade_commits.go).
type run struct {
	ID          string            `msg:"1,omitempty"`
	Revision    int64             `msg:"2,omitempty"`
	Namespace   string            `msg:"3,omitempty"`
	JobUID      string            `msg:"4,omitempty"`
	Job         string            `msg:"5,omitempty"`
	Shard       int               `msg:"6,omitempty"`
	Generation  int64             `msg:"7,omitempty"`
	DAG         string            `msg:"35,omitempty"`
	Wave        string            `msg:"36,omitempty"`
	Epoch       int64             `msg:"37,omitempty"`
	Task        string            `msg:"38,omitempty"`
	Item        *int              `msg:"39,omitempty"`
	Upstream    bool              `msg:"42,omitempty"`
	Trigger     engine.Trigger    `msg:"8,omitempty"`
	By          string            `msg:"9,omitempty"`
	Slot        time.Time         `msg:"10,omitzero"`
	Status      engine.Status     `msg:"11,omitempty"`
	Reason      string            `msg:"12,omitempty"`
	Waiting     bool              `msg:"34,omitempty"`
	Tier        spec.Tier         `msg:"13,omitempty"`
	Class       spec.Class        `msg:"14,omitempty"`
	RunsOn      map[string]string `msg:"45,omitempty,limit=65536"`
	Binary      string            `msg:"15,omitempty"`
	Version     int               `msg:"16,omitempty"`
	Digest      string            `msg:"17,omitempty"`
	Kind        string            `msg:"18,omitempty"`
	Size        int64             `msg:"19,omitempty"`
	Payload     json.RawMessage   `msg:"20,omitempty"`
	Args        map[string]string `msg:"21,omitempty,limit=65536"`
	CreatedAt   time.Time         `msg:"22,omitzero"`
	NotBefore   time.Time         `msg:"27,omitzero"`
	QueuedAt    time.Time         `msg:"23,omitzero"`
	StartedAt   time.Time         `msg:"24,omitzero"`
	FinishedAt  time.Time         `msg:"25,omitzero"`
	RetryAt     time.Time         `msg:"26,omitzero"`
	Attempt     int               `msg:"28,omitempty"`
	Failures    int               `msg:"29,omitempty"`
	Losses      int               `msg:"30,omitempty"`
	Attempts    []engine.Attempt  `msg:"31,omitempty,limit=65536"`
	Progress    *engine.Progress  `msg:"32,omitempty"`
	CancelBy    string            `msg:"33,omitempty"`
	PendingSkip engine.SlotReason `msg:"46,omitempty"`
	Outputs     json.RawMessage   `msg:"40,omitempty"`
	Artifacts   []engine.Artifact `msg:"41,omitempty,limit=65536"`
}

// attempt is [engine.Attempt].
type attempt struct {
	N          int            `msg:"1,omitempty"`
	Status     engine.Status  `msg:"2,omitempty"`
	Executor   string         `msg:"3,omitempty"`
	Token      uint64         `msg:"4,omitempty"`
	QueuedAt   time.Time      `msg:"5,omitzero"`
	ClaimedAt  time.Time      `msg:"6,omitzero"`
	FetchedAt  time.Time      `msg:"7,omitzero"`
	StartedAt  time.Time      `msg:"8,omitzero"`
	FinishedAt time.Time      `msg:"9,omitzero"`
	ExitCode   *int           `msg:"10,omitempty"`
	Signal     string         `msg:"11,omitempty"`
	Error      string         `msg:"12,omitempty"`
	Usage      *engine.Usage  `msg:"13,omitempty"`
	Output     *engine.Output `msg:"14,omitempty"`
}

// usage is [engine.Usage].
type usage struct {
	CPU    time.Duration `msg:"1,omitempty"`
	MaxRSS int64         `msg:"2,omitempty"`
}

// output is [engine.Output].
type output struct {
	Size      int64  `msg:"1,omitempty"`
	Lines     int64  `msg:"2,omitempty"`
	Tail      []byte `msg:"3,omitempty"`
	Chunks    int    `msg:"4,omitempty"`
	Truncated int64  `msg:"5,omitempty"`
	Lost      int64  `msg:"6,omitempty"`
	Marks     []byte `msg:"7,omitempty"`
}

// progress is [engine.Progress].
type progress struct {
	Fraction float64   `msg:"1,omitempty"`
	Message  string    `msg:"2,omitempty"`
	At       time.Time `msg:"3,omitzero"`
}

// artifact is [engine.Artifact].
type artifact struct {
	Name   string `msg:"1,omitempty"`
	Size   int64  `msg:"2,omitempty"`
	SHA256 string `msg:"3,omitempty"`
}

// wave is [engine.Wave].
type wave struct {
	ID         string               `msg:"1,omitempty"`
	Revision   int64                `msg:"2,omitempty"`
	Namespace  string               `msg:"3,omitempty"`
	DAGUID     string               `msg:"4,omitempty"`
	DAG        string               `msg:"5,omitempty"`
	Shard      int                  `msg:"6,omitempty"`
	Epoch      int64                `msg:"7,omitempty"`
	Generation int64                `msg:"8,omitempty"`
	Trigger    engine.Trigger       `msg:"9,omitempty"`
	By         string               `msg:"10,omitempty"`
	Status     engine.Status        `msg:"11,omitempty"`
	Reason     string               `msg:"12,omitempty"`
	Slot       time.Time            `msg:"13,omitzero"`
	Slots      map[string]time.Time `msg:"14,omitempty,limit=65536"`
	Payload    json.RawMessage      `msg:"15,omitempty"`
	Args       map[string]string    `msg:"16,omitempty,limit=65536"`
	CreatedAt  time.Time            `msg:"17,omitzero"`
	NotBefore  time.Time            `msg:"24,omitzero"`
	StartedAt  time.Time            `msg:"18,omitzero"`
	FinishedAt time.Time            `msg:"19,omitzero"`
	CancelBy   string               `msg:"20,omitempty"`
	Resumed    int                  `msg:"21,omitempty"`
	Rests      []engine.WaveRest    `msg:"23,omitempty,limit=65536"`
	Kept       map[string]int       `msg:"25,omitempty,limit=65536"`
	Tally      engine.WaveTally     `msg:"22,omitempty"`
}

// waveRest is [engine.WaveRest].
type waveRest struct {
	From time.Time `msg:"1,omitzero"`
	To   time.Time `msg:"2,omitzero"`
}

// waveTally is [engine.WaveTally].
type waveTally struct {
	Tasks     int `msg:"1,omitempty"`
	Succeeded int `msg:"2,omitempty"`
	Failed    int `msg:"3,omitempty"`
	Cancelled int `msg:"4,omitempty"`
	Skipped   int `msg:"5,omitempty"`
}

// stamp is how a time is stored: microseconds since 1970 and, for 1970 is no zero time, a 1 in the lowest bit.
func stamp(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMicro()<<1 | 1
}

func fromStamp(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n >> 1).UTC()
}
