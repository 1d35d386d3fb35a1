package service_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// An edit of a definition leaves what was seen in its bucket; removing its trigger and putting it back restarts, however soon.
func TestRecreatedObjectsTriggerStartsFromNow(t *testing.T) {
	w := webtest.New(t, service.Config{MayWatch: func(string, string) bool { return true }})
	w.PutBinary(t, "report")
	since := func(text string) time.Time {
		t.Helper()
		w.Now = w.Now.Add(time.Minute)
		if _, _, err := w.Jobs.Save(t.Context(), "default", definition(t, text), service.Save{}); err != nil {
			t.Fatal(err)
		}
		record, err := w.Store.Record(t.Context(), "trigger-inbox", "default/load")
		var data struct{ Since time.Time }
		if err == nil {
			err = json.Unmarshal(record.Data, &data)
		}
		if err != nil {
			t.Fatal(err)
		}
		return data.Since
	}
	const with = `{"name":"load","binary":"report","triggers":{"objects":{"bucket":"incoming"}}`
	first := since(with + `}`)
	if edited := since(with + `,"timeout":"1m"}`); !edited.Equal(first) {
		t.Errorf("an edit restarts at %s", edited)
	}
	since(`{"name":"load","binary":"report"}`)
	if back := since(with + `}`); !back.Equal(w.Now) {
		t.Errorf("it continues from %s, and was put back at %s", back, w.Now)
	}
}
