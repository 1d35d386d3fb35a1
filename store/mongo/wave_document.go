package mongo

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/tidewheel/tidewheel/engine"
)

// waveDocument is a document of waves.
type waveDocument struct {
	ID       string `bson:"_id"`
	Revision int64  `bson:"revision"`
	Open     bool   `bson:"open"` // follows from Status; it is there for the indexes

	Namespace  string `bson:"namespace"`
	DAGUID     string `bson:"dag_uid"`
	DAG        string `bson:"dag"`
	Shard      int    `bson:"shard"`
	Epoch      int64  `bson:"epoch"`
	Generation int64  `bson:"generation,omitempty"`

	Trigger string `bson:"trigger"`
	By      string `bson:"by,omitempty"`
	Status  string `bson:"status"`
	Reason  string `bson:"reason,omitempty"`

	Slot        *bson.DateTime `bson:"slot,omitempty"`
	Slots       bson.D         `bson:"slots,omitempty"` // root → slot
	Payload     bson.RawValue  `bson:"payload,omitempty"`
	PayloadJSON bson.RawValue  `bson:"payload_json,omitempty"` // instead of Payload, see type payload
	Args        bson.D         `bson:"args,omitempty"`

	CreatedAt  bson.DateTime  `bson:"created_at"`
	NotBefore  *bson.DateTime `bson:"not_before,omitempty"`
	StartedAt  *bson.DateTime `bson:"started_at,omitempty"`
	FinishedAt *bson.DateTime `bson:"finished_at,omitempty"`
	CancelBy   string         `bson:"cancel_by,omitempty"`
	Resumed    int            `bson:"resumed,omitempty"`
	Rests      []restDocument `bson:"rests,omitempty"`
	Kept       bson.D         `bson:"kept,omitempty"` // task → items
	Tally      *tallyDocument `bson:"tally,omitempty"`
	Position   int64          `bson:"position,omitempty"` // of the commit in its shard's journal
}

type restDocument struct {
	From bson.DateTime `bson:"from"`
	To   bson.DateTime `bson:"to"`
}

type tallyDocument struct {
	Tasks     int `bson:"tasks"`
	Succeeded int `bson:"succeeded"`
	Failed    int `bson:"failed"`
	Cancelled int `bson:"cancelled"`
	Skipped   int `bson:"skipped"`
}

func newWaveDocument(w *engine.Wave) (*waveDocument, error) {
	held, err := newPayload(w.Payload)
	if err != nil {
		return nil, err
	}
	d := &waveDocument{
		ID: w.ID, Revision: w.Revision, Open: !w.Status.Terminal(),
		Namespace: w.Namespace, DAGUID: w.DAGUID, DAG: w.DAG, Shard: w.Shard, Epoch: w.Epoch, Generation: w.Generation,
		Trigger: string(w.Trigger), By: w.By, Status: w.Status.String(), Reason: w.Reason,
		Slot: someDate(w.Slot), Payload: held.value, PayloadJSON: held.text, Args: sorted(w.Args),
		CreatedAt: date(w.CreatedAt), NotBefore: someDate(w.NotBefore), StartedAt: someDate(w.StartedAt), FinishedAt: someDate(w.FinishedAt),
		CancelBy: w.CancelBy, Resumed: w.Resumed, Kept: sorted(w.Kept),
	}
	for _, root := range slices.Sorted(maps.Keys(w.Slots)) {
		d.Slots = append(d.Slots, bson.E{Key: escapeKey(root), Value: date(w.Slots[root])})
	}
	for _, rest := range w.Rests {
		d.Rests = append(d.Rests, restDocument{From: date(rest.From), To: date(rest.To)})
	}
	if w.Tally != (engine.WaveTally{}) {
		tally := tallyDocument(w.Tally)
		d.Tally = &tally
	}
	return d, nil
}

func (d waveDocument) value() (engine.Wave, error) {
	w := engine.Wave{
		ID: d.ID, Revision: d.Revision,
		Namespace: d.Namespace, DAGUID: d.DAGUID, DAG: d.DAG, Shard: d.Shard, Epoch: d.Epoch, Generation: d.Generation,
		Trigger: engine.Trigger(d.Trigger), By: d.By, Reason: d.Reason, Slot: someInstant(d.Slot),
		CreatedAt: instant(d.CreatedAt), NotBefore: someInstant(d.NotBefore), StartedAt: someInstant(d.StartedAt), FinishedAt: someInstant(d.FinishedAt),
		CancelBy: d.CancelBy, Resumed: d.Resumed,
	}
	var err error
	if err = w.Status.UnmarshalText([]byte(d.Status)); err != nil {
		return w, err
	}
	if w.Payload, err = (payload{d.Payload, d.PayloadJSON}).json(); err != nil {
		return w, err
	}
	if w.Args, err = stringsOf(d.Args); err != nil {
		return w, err
	}
	for _, rest := range d.Rests {
		w.Rests = append(w.Rests, engine.WaveRest{From: instant(rest.From), To: instant(rest.To)})
	}
	if len(d.Slots) > 0 {
		w.Slots = make(map[string]time.Time, len(d.Slots))
	}
	for _, element := range d.Slots {
		at, ok := element.Value.(bson.DateTime)
		if !ok {
			return w, fmt.Errorf("slots.%s is a %T, not a date", element.Key, element.Value)
		}
		w.Slots[unescapeKey(element.Key)] = instant(at)
	}
	if len(d.Kept) > 0 {
		w.Kept = make(map[string]int, len(d.Kept))
	}
	for _, element := range d.Kept {
		items, ok := element.Value.(int32)
		if !ok {
			return w, fmt.Errorf("kept.%s is a %T, not a count", element.Key, element.Value)
		}
		w.Kept[unescapeKey(element.Key)] = int(items)
	}
	if d.Tally != nil {
		w.Tally = engine.WaveTally(*d.Tally)
	}
	return w, nil
}
