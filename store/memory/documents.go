package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

// View calls read with pages of all that the store holds, in the order of the documents' ids, as it is at one moment.
// No writer can write until read returns.
func (s *Store) View(ctx context.Context, read func(engine.DocumentPages) error) error {
	if err := s.read(ctx); err != nil {
		return err
	}
	defer s.mu.RUnlock()
	return read(func(of engine.Collection, from string, limit int) (page []engine.Document, next string, err error) {
		all, err := s.documents(of)
		if err != nil {
			return nil, "", err
		}
		for _, id := range slices.Sorted(maps.Keys(all)) {
			switch {
			case id <= from:
				continue
			case len(page) == limit:
				_, next = page[limit-1].Place()
				return page, next, nil
			}
			page = append(page, all[id])
		}
		return page, "", nil
	})
}

// documents returns copies of a whole collection by their ids.
func (s *Store) documents(of engine.Collection) (map[string]engine.Document, error) {
	all := map[string]engine.Document{}
	add := func(document engine.Document) {
		_, id := document.Place()
		all[id] = document
	}
	switch of {
	case engine.CollectionBinaries:
		for _, binary := range s.binaries {
			add(copyBinary(binary))
		}
	case engine.CollectionJobs:
		s.jobs.eachDefinition(add)
	case engine.CollectionDAGs:
		s.dags.eachDefinition(add)
	case engine.CollectionGenerations:
		s.jobs.eachVersion(add)
	case engine.CollectionDAGGenerations:
		s.dags.eachVersion(add)
	case engine.CollectionWaves:
		for _, wave := range s.waves {
			add(copyWave(wave))
		}
	case engine.CollectionRuns:
		for _, run := range s.runs {
			add(copyRun(run))
		}
	case engine.CollectionEffects:
		for _, effect := range s.effects {
			add(copyEffect(effect))
		}
	case engine.CollectionSlots:
		for _, slots := range s.slots {
			add(slots)
		}
	case engine.CollectionDeadLetters:
		for _, letter := range s.letters {
			add(letter)
		}
	case engine.CollectionIncidents:
		for _, incident := range s.incidents {
			add(incident.Clone())
		}
	case engine.CollectionScheduledTasks:
		for _, task := range s.tasks {
			add(copyTask(&task))
		}
	case engine.CollectionCommands:
		for _, command := range s.commands {
			add(copyCommand(command))
		}
	case engine.CollectionSharedKeys:
		for name, key := range s.keys {
			add(engine.SharedKey{Name: name, Key: bytes.Clone(key)})
		}
	case engine.CollectionRecords:
		for _, record := range s.records {
			add(record.Clone())
		}
	default:
		return nil, fmt.Errorf("memory: there is no collection %q", of)
	}
	return all, nil
}

// PutDocuments puts documents into their places as they are, over whatever stands there.
func (s *Store) PutDocuments(ctx context.Context, documents []engine.Document) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, document := range documents {
		switch d := document.(type) {
		case engine.Binary:
			s.binaries[d.Key()] = copyBinary(d)
		case engine.Job:
			s.jobs.put(&d)
		case engine.DAG:
			s.dags.put(&d)
		case engine.Generation:
			s.jobs.putVersion(&d)
		case engine.DAGGeneration:
			s.dags.putVersion(&d)
		case engine.Wave:
			s.putWave(&d)
		case engine.Run:
			s.putRun(&d)
		case engine.RunEffect:
			s.effects[effectKey{d.Run, d.Key}] = copyEffect(d)
		case engine.SlotRange:
			s.slots[d.ID] = d
		case engine.DeadLetter:
			s.letters[d.RunID] = d
		case engine.Incident:
			s.incidents[d.ID] = d.Clone()
		case engine.ScheduledTask:
			s.tasks[d.ID] = copyTask(&d)
		case engine.Command:
			s.commands[d.ID] = copyCommand(d)
		case engine.SharedKey:
			s.keys[d.Name] = bytes.Clone(d.Key)
		case engine.Record:
			s.records[recordKey{d.Kind, d.Key}] = d.Clone()
		default:
			return fmt.Errorf("memory: put: a %T is no document", document)
		}
	}
	return nil
}

func (d *definitions[S]) eachDefinition(add func(engine.Document)) {
	for _, definition := range d.byUID {
		add(definition.Clone())
	}
}

func (d *definitions[S]) eachVersion(add func(engine.Document)) {
	for _, versions := range d.versions {
		for _, version := range versions {
			kept := version.Clone()
			add(kept.Present())
		}
	}
}

// putVersion keeps a version over one of the same generation.
func (d *definitions[S]) putVersion(given *engine.GenerationOf[S]) {
	version := engine.Definition[S]{
		UID: given.UID, Generation: given.Generation, Spec: given.Spec, Source: given.Source, UpdatedBy: given.By, UpdatedAt: given.At, Message: given.Message,
	}
	version = version.Clone()
	versions := slices.DeleteFunc(d.versions[given.UID], func(kept *engine.Definition[S]) bool { return kept.Generation == given.Generation })
	d.versions[given.UID] = append(versions, &version)
}

// DropDocuments removes a whole collection.
func (s *Store) DropDocuments(ctx context.Context, of engine.Collection) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	switch of {
	case engine.CollectionBinaries:
		clear(s.binaries)
	case engine.CollectionJobs:
		versions := s.jobs.versions
		s.jobs = newJobs(s)
		s.jobs.versions = versions
	case engine.CollectionDAGs:
		versions := s.dags.versions
		s.dags = newDAGs(s)
		s.dags.versions = versions
	case engine.CollectionGenerations:
		clear(s.jobs.versions)
	case engine.CollectionDAGGenerations:
		clear(s.dags.versions)
	case engine.CollectionWaves:
		clear(s.waves)
	case engine.CollectionRuns:
		clear(s.runs)
		clear(s.active)
	case engine.CollectionEffects:
		clear(s.effects)
	case engine.CollectionSlots:
		clear(s.slots)
	case engine.CollectionDeadLetters:
		clear(s.letters)
	case engine.CollectionIncidents:
		clear(s.incidents)
	case engine.CollectionScheduledTasks:
		clear(s.tasks)
	case engine.CollectionCommands:
		clear(s.commands)
	case engine.CollectionSharedKeys:
		clear(s.keys)
	case engine.CollectionRecords:
		clear(s.records)
	default:
		return fmt.Errorf("memory: drop: there is no collection %q", of)
	}
	return nil
}
