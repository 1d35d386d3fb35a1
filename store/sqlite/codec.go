package sqlite

import (
	"fmt"

	"github.com/tinylib/msgp/msgp"

	"github.com/tidewheel/tidewheel/engine"
)

// Runs and waves are written several times each and read by the thousand, and a payload must come back as it was given,
// byte by byte. So their documents are MessagePack, by generated code: a fifth of JSON's time and less than half of its
// size (ADR 42). A zero value is left out, so absence is zero; an unknown field is skipped, so that a document of a later
// version of the program can be read.

// encodeRun appends the document of a run to b. It begins with the run's id.
func encodeRun(b []byte, r *engine.Run) []byte {
	b, _ = (*run)(r).MarshalMsg(b) // no field has a method that could fail
	return b
}

// encodeWave returns the document of a wave.
func encodeWave(w *engine.Wave) []byte {
	b, _ := (*wave)(w).MarshalMsg(nil) // no field has a method that could fail
	return b
}

// decodeRun reads what encodeRun writes, and documents of schema 10. The run shares nothing with the document.
func decodeRun(document []byte) (engine.Run, error) {
	if isSchema10(document) {
		return decodeRunSchema10(document)
	}
	var r engine.Run
	rest, err := (*run)(&r).UnmarshalMsg(document)
	if err := whole(rest, err); err != nil {
		return engine.Run{}, fmt.Errorf("run %q: %w", r.ID, err)
	}
	return r, nil
}

// decodeWave is to waves what decodeRun is to runs.
func decodeWave(document []byte) (engine.Wave, error) {
	if isSchema10(document) {
		return decodeWaveSchema10(document)
	}
	var w engine.Wave
	rest, err := (*wave)(&w).UnmarshalMsg(document)
	if err := whole(rest, err); err != nil {
		return engine.Wave{}, fmt.Errorf("wave %q: %w", w.ID, err)
	}
	return w, nil
}

// whole is the error of a document that was read up to rest.
func whole(rest []byte, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errDocument, err)
	case len(rest) > 0:
		return fmt.Errorf("%w: %d bytes follow it", errDocument, len(rest))
	}
	return nil
}

// documentID returns the id of a run's document, which stands at its beginning.
func documentID(document []byte) (string, error) {
	if isSchema10(document) {
		return documentIDSchema10(document)
	}
	_, rest, err := msgp.ReadMapHeaderBytes(document)
	if err != nil {
		return "", errDocument
	}
	key, rest, err := msgp.ReadMapKeyZC(rest)
	if err != nil || string(key) != "1" {
		return "", errDocument
	}
	id, _, err := msgp.ReadStringBytes(rest)
	if err != nil {
		return "", errDocument
	}
	return id, nil
}
