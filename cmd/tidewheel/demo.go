package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/examples"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

// demoUser is who the examples belong to.
const demoUser = "demo"

// demoFile names, inside the data folder, the examples that were loaded: their owner may have deleted them since.
const demoFile = "demo.json"

// loadDemo uploads the examples and schedules their jobs and DAGs, as a user would. What is there already stays as it is, and
// what was there before stays deleted.
func (s *Server) loadDemo(ctx context.Context) error {
	files, err := fs.Glob(examples.FS, "*/*.yaml")
	if err != nil {
		return fmt.Errorf("list the examples: %w", err)
	}
	before, err := readDemo(s.data)
	if err != nil {
		s.log.Warn("no examples are loaded", "why", err)
		return nil
	}
	loaded := 0
	for _, file := range files {
		example := path.Dir(file)
		if slices.Contains(before, example) {
			continue
		}
		err := s.loadExample(ctx, file)
		for unavailable(err) && pause(ctx, time.Second) == nil {
			err = s.loadExample(ctx, file)
		}
		switch {
		case err == nil:
			loaded++
			before = append(before, example)
			if err := writeDemo(s.data, before); err != nil {
				s.log.Warn("it cannot be noted that an example was loaded: the next start may load it again", "example", example, "error", err)
			}
		case ctx.Err() == nil:
			s.log.Warn("an example is left out", "example", example, "why", err)
		}
	}
	s.log.Info("the examples are loaded", "now", loaded, "before", len(before)-loaded)
	return nil
}

// demoNote is the content of demoFile.
type demoNote struct {
	Loaded []string `json:"loaded"` // folders of the examples
}

func readDemo(data *dataFolder) ([]string, error) {
	text, err := os.ReadFile(data.path(demoFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--demo: %w", err)
	}
	var note demoNote
	if err := json.Unmarshal(text, &note); err != nil {
		return nil, fmt.Errorf("--demo: %s is damaged: delete it to load all examples again: %w", data.path(demoFile), err)
	}
	return note.Loaded, nil
}

func writeDemo(data *dataFolder, loaded []string) error {
	text, err := json.Marshal(demoNote{loaded})
	if err != nil {
		return err
	}
	return writeFile(data.path(demoFile), append(text, '\n'), 0o600)
}

// unavailable reports whether a part is unreachable, so that trying again may help.
func unavailable(err error) bool {
	var refused *service.Error
	return errors.As(err, &refused) && refused.Kind == service.KindUnavailable
}

// loadExample loads the definitions of a file with their programs.
func (s *Server) loadExample(ctx context.Context, file string) error {
	text, err := fs.ReadFile(examples.FS, file)
	if err != nil {
		return fmt.Errorf("read the example: %w", err)
	}
	documents, problems := spec.Decode(file, text)
	if err := problems.Err(); err != nil {
		return err
	}
	for _, document := range documents {
		load := s.loadJob
		if document.DAG != nil {
			load = s.loadDAG
		}
		if err := load(ctx, path.Dir(file), document); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) loadJob(ctx context.Context, folder string, document spec.Document) error {
	job := document.Job
	if _, err := s.service.Jobs.Get(ctx, engine.DefaultNamespace, job.Name); err == nil {
		return nil // it was loaded before, and is its owner's by now
	}
	if err := s.loadProgram(ctx, folder, job.Binary); err != nil {
		return err
	}
	_, _, err := s.service.Jobs.Save(ctx, engine.DefaultNamespace, job, service.Save{By: demoUser, Message: "example", Source: document.Source})
	return err
}

func (s *Server) loadDAG(ctx context.Context, folder string, document spec.Document) error {
	dag := document.DAG
	if _, err := s.service.DAGs.Get(ctx, engine.DefaultNamespace, dag.Name); err == nil {
		return nil
	}
	loaded := map[string]bool{}
	for i := range dag.Tasks {
		binary := dag.TaskJob(i).Binary
		if loaded[binary] {
			continue
		}
		loaded[binary] = true
		if err := s.loadProgram(ctx, folder, binary); err != nil {
			return err
		}
	}
	_, _, err := s.service.DAGs.Save(ctx, engine.DefaultNamespace, dag, service.Save{By: demoUser, Message: "example", Source: document.Source})
	return err
}

// loadProgram uploads the program that a definition refers to.
func (s *Server) loadProgram(ctx context.Context, folder, reference string) error {
	ref, err := spec.ParseBinary(reference)
	if err != nil {
		return err
	}
	program, err := openExample(folder, ref.Name)
	if err != nil {
		return err
	}
	upload := service.Upload{By: demoUser}
	if ref.Alias != "" {
		upload.Aliases = []string{ref.Alias}
	}
	_, _, _, err = s.service.UploadBinary(ctx, engine.DefaultNamespace, ref.Name, program, upload)
	return errors.Join(err, program.Close())
}

// openExample finds an example's program: a script is in this program, one in Go lies beside it where it was built.
func openExample(folder, name string) (fs.File, error) {
	for _, kind := range []struct{ suffix, needs string }{{".sh", "sh"}, {".py", "python3"}} {
		file, err := examples.FS.Open(path.Join(folder, name+kind.suffix))
		if err != nil {
			continue
		}
		if _, err := exec.LookPath(kind.needs); err != nil {
			return nil, errors.Join(fmt.Errorf("it needs %s, which is not installed", kind.needs), file.Close())
		}
		return file, nil
	}
	own, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the programs of the examples: %w", err)
	}
	for _, place := range []string{filepath.Join(filepath.Dir(own), "examples", name), filepath.Join(filepath.Dir(own), name)} {
		if file, err := os.Open(place); err == nil {
			return file, nil
		}
	}
	return nil, errors.New("its program is not built: `make examples` builds it")
}
