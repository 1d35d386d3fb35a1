package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tidewheel/tidewheel/moving"
	"github.com/tidewheel/tidewheel/store/mongo"
)

// Where the embedded store lies in a data folder.
const (
	storeFolder = "store"
	storeFile   = "tidewheel.db"
)

// markName is the file beside the embedded store that says that something is being moved into it, or was moved away.
const markName = "moving.json"

// The kinds of a moveMark.
const (
	markRestore = "restore" // a backup is being restored to this place
	markMigrate = "migrate" // another place is being moved to this one
	markMoved   = "moved"   // this place was moved to another one
)

// moveMark stands at a place that no server may start on: it holds half of something, or what is elsewhere now.
type moveMark struct {
	Kind     string          `json:"kind"`
	Other    string          `json:"other"` // the place that it comes from, or went to; or the backup
	At       time.Time       `json:"at"`
	Position moving.Position `json:"position,omitzero"` // how far it is
}

func (m *moveMark) sameMove(other *moveMark) bool {
	return m.Kind == other.Kind && m.Other == other.Other
}

// refusal reports why no server may use what is marked; how says how the mark is taken away.
func (m *moveMark) refusal(where, how string) error {
	at := m.At.Local().Format(time.DateTime)
	switch m.Kind {
	case markRestore:
		return usage("%s holds a part of a backup that was not restored to its end (%s): run `tidewheel restore` with the same file again, or empty the target", where, at)
	case markMigrate:
		return usage("%s holds a part of what was to be moved there from %s, and not to its end (%s): run the same `tidewheel migrate` again, or empty the target", where, m.Other, at)
	}
	return usage("what %s held was moved to %s (%s): start the server there. To continue here with the data of that time, %s", where, m.Other, at, how)
}

// readMark reads the mark of a place, nil for none.
func readMark(ctx context.Context, mongo *mongo.Store, data *dataFolder) (*moveMark, error) {
	var text []byte
	if mongo != nil {
		kept, err := mongo.Moving(ctx)
		if err != nil || kept == "" {
			return nil, err
		}
		text = []byte(kept)
	} else {
		var err error
		text, err = os.ReadFile(filepath.Join(data.path(storeFolder), markName))
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("look whether something is being moved: %w", err)
		}
	}
	var mark moveMark
	if err := json.Unmarshal(text, &mark); err != nil {
		return nil, fmt.Errorf("the mark of what is being moved here cannot be read: %w", err)
	}
	return &mark, nil
}

func (p *place) mark(ctx context.Context) (*moveMark, error) { return readMark(ctx, p.mongo, p.data) }

// setMark marks the place; nil takes the mark away.
func (p *place) setMark(ctx context.Context, mark *moveMark) error {
	var text []byte
	if mark != nil {
		var err error
		if text, err = json.Marshal(mark); err != nil {
			return fmt.Errorf("mark the place: %w", err)
		}
	}
	if p.mongo != nil {
		return p.mongo.SetMoving(ctx, string(text))
	}
	folder, err := p.data.folder(storeFolder)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, markName)
	if mark == nil {
		err = os.Remove(path)
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	} else {
		err = writeFile(path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("mark the place: %w", err)
	}
	return nil
}

// refuseMoved keeps a server from what is half of something, or is elsewhere now.
func refuseMoved(ctx context.Context, mongo *mongo.Store, data *dataFolder) error {
	mark, err := readMark(ctx, mongo, data)
	if err != nil || mark == nil {
		return err
	}
	if mongo != nil {
		return mark.refusal("the database", "delete the document moving of its collection meta")
	}
	folder := data.path(storeFolder)
	return mark.refusal("the folder "+folder, "delete "+filepath.Join(folder, markName))
}
