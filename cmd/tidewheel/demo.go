package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/examples"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

// demoUser is who the examples belong to.
const demoUser = "demo"

// loadDemo uploads the examples and schedules their jobs, as a user would. What is there already stays as it is.
func (s *Server) loadDemo(ctx context.Context) error {
	files, err := fs.Glob(examples.FS, "*/job.yaml")
	if err != nil {
		return fmt.Errorf("list the examples: %w", err)
	}
	loaded := 0
	for _, file := range files {
		err := s.loadExample(ctx, file)
		for unavailable(err) && pause(ctx, time.Second) == nil {
			err = s.loadExample(ctx, file)
		}
		switch {
		case err == nil:
			loaded++
		case ctx.Err() == nil:
			s.log.Warn("an example is left out", "example", path.Dir(file), "why", err)
		}
	}
	s.log.Info("the examples are loaded", "jobs", loaded)
	return nil
}

// unavailable tells that a part is away, and that trying again may help.
func unavailable(err error) bool {
	var refused *service.Error
	return errors.As(err, &refused) && refused.Kind == service.KindUnavailable
}

// loadExample loads one job with its program.
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
		job := document.Job
		if _, err := s.service.Job(ctx, engine.DefaultNamespace, job.Name); err == nil {
			continue // it was loaded before, and is its owner's by now
		}
		ref, err := job.Binding()
		if err != nil {
			return err
		}
		program, err := openExample(path.Dir(file), ref.Name)
		if err != nil {
			return err
		}
		upload := service.Upload{By: demoUser}
		if ref.Alias != "" {
			upload.Aliases = []string{ref.Alias}
		}
		_, _, _, err = s.service.UploadBinary(ctx, engine.DefaultNamespace, ref.Name, program, upload)
		if err := errors.Join(err, program.Close()); err != nil {
			return err
		}
		if _, _, err := s.service.SaveJob(ctx, engine.DefaultNamespace, job, service.Save{By: demoUser, Message: "example"}); err != nil {
			return err
		}
	}
	return nil
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
