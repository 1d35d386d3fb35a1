package wave

import (
	"encoding/json"

	"github.com/tidewheel/tidewheel/dag"
)

// fan is a mapped task under way.
type fan struct {
	*dag.Fan
	items []json.RawMessage
}

type itemState struct {
	item  int
	state dag.State
	by    string // who has cancelled it
}

// newFan begins a mapped task over its list. known are items of it that have a run already, as the wave was resumed or is
// read again: what has ended stays so. Of items that the list has no more, those that were executed still count, and hand on what they left.
func newFan(list []json.RawMessage, known []itemState, maxParallel int) (*fan, error) {
	items := len(list)
	for _, k := range known {
		if k.state.Ended() && k.state != dag.Skipped {
			items = max(items, k.item+1)
		}
	}
	made, err := dag.NewFan(items, maxParallel)
	if err != nil {
		return nil, err
	}
	f := &fan{Fan: made, items: list}
	for _, k := range known {
		if k.item < items {
			f.Ended(k.item, k.state)
		}
	}
	for item := len(list); item < items; item++ {
		f.Ended(item, dag.Skipped) // but for those above
	}
	return f, nil
}
