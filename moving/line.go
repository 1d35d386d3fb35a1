package moving

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
)

// JSON inside of JSON would lose its spaces: what users and programs gave is kept byte by byte, as a text.
type (
	runLine struct {
		engine.Run
		Payload string `json:"payload,omitempty"`
		Outputs string `json:"outputs,omitempty"`
	}
	waveLine struct {
		engine.Wave
		Payload string `json:"payload,omitempty"`
	}
	effectLine struct {
		engine.RunEffect
		Result string `json:"result,omitempty"`
	}
)

// appendLine adds a document to b, as a line.
func appendLine(b *bytes.Buffer, document engine.Document) error {
	var line any = document
	switch d := document.(type) {
	case engine.Run:
		line = runLine{d, string(d.Payload), string(d.Outputs)}
	case engine.Wave:
		line = waveLine{d, string(d.Payload)}
	case engine.RunEffect:
		line = effectLine{d, string(d.Result)}
	}
	encoder := json.NewEncoder(b) // which ends it with a line break
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line); err != nil {
		of, id := document.Place()
		return fmt.Errorf("write %s of %s: %w", id, of, err)
	}
	return nil
}

// parsers read lines, by collection.
var parsers = map[engine.Collection]func(line []byte) (engine.Document, error){
	engine.CollectionBinaries:       parse[engine.Binary],
	engine.CollectionJobs:           parse[engine.Job],
	engine.CollectionGenerations:    parse[engine.Generation],
	engine.CollectionDAGs:           parse[engine.DAG],
	engine.CollectionDAGGenerations: parse[engine.DAGGeneration],
	engine.CollectionSlots:          parse[engine.SlotRange],
	engine.CollectionDeadLetters:    parse[engine.DeadLetter],
	engine.CollectionIncidents:      parse[engine.Incident],
	engine.CollectionScheduledTasks: parse[engine.ScheduledTask],
	engine.CollectionCommands:       parse[engine.Command],
	engine.CollectionSharedKeys:     parse[engine.SharedKey],
	engine.CollectionRecords:        parse[engine.Record],
	engine.CollectionRuns: func(line []byte) (engine.Document, error) {
		var read runLine
		err := json.Unmarshal(line, &read)
		read.Run.Payload, read.Run.Outputs = raw(read.Payload), raw(read.Outputs)
		return read.Run, err
	},
	engine.CollectionWaves: func(line []byte) (engine.Document, error) {
		var read waveLine
		err := json.Unmarshal(line, &read)
		read.Wave.Payload = raw(read.Payload)
		return read.Wave, err
	},
	engine.CollectionEffects: func(line []byte) (engine.Document, error) {
		var read effectLine
		err := json.Unmarshal(line, &read)
		read.RunEffect.Result = raw(read.Result)
		return read.RunEffect, err
	},
}

func parse[T engine.Document](line []byte) (engine.Document, error) {
	var document T
	err := json.Unmarshal(line, &document)
	return document, err
}

func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
