package main

import (
	"io"
	"os"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
	"github.com/vbauerster/mpb/v8/decor"
)

// progressFrom is how large something must be to be worth a bar, in bytes.
const progressFrom = 1 << 20

// progressBar shows how far a transfer is; without a terminal it shows nothing.
type progressBar struct {
	container *mpb.Progress
	bar       *mpb.Bar
}

// progress begins a bar for size bytes; a negative size is not known.
func (c *cli) progress(what string, size int64) *progressBar {
	file, ok := c.err.(*os.File)
	if !ok || !isTerminal(file) || (size >= 0 && size < progressFrom) {
		return &progressBar{}
	}
	container := mpb.New(mpb.WithOutput(file), mpb.WithWidth(40), mpb.WithRefreshRate(120*time.Millisecond))
	bar := container.AddBar(max(size, 0), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(what+"  "), decor.CountersKibiByte("% .1f / % .1f")),
		mpb.AppendDecorators(decor.Percentage(), decor.Name("  "), decor.AverageSpeed(decor.SizeB1024(0), "% .1f"),
			decor.Name("  "), decor.AverageETA(decor.ET_STYLE_GO)))
	return &progressBar{container, bar}
}

// reader counts what is read through it.
func (p *progressBar) reader(content io.Reader) io.Reader {
	if p.bar == nil {
		return content
	}
	return p.bar.ProxyReader(content)
}

// finish takes the bar away.
func (p *progressBar) finish(err error) {
	if p.bar == nil {
		return
	}
	if err != nil {
		p.bar.Abort(true)
	} else {
		p.bar.SetTotal(-1, true)
	}
	p.container.Wait()
}

// isTerminal reports whether a person looks at a file.
func isTerminal(file *os.File) bool {
	return cwriter.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
}
