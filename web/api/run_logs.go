package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/web/service"
)

type logRequest struct {
	RunPath
	Attempt     int    `query:"attempt" minimum:"0" doc:"From 1; the latest if absent"`
	Offset      int64  `query:"offset" minimum:"0" doc:"The byte to begin with"`
	Tail        int64  `query:"tail" default:"-1" minimum:"-1" doc:"Only the last so many lines"`
	Follow      bool   `query:"follow" doc:"Go on as output comes, until the attempt ends"`
	Timestamps  bool   `query:"timestamps" doc:"Before each line its time and stream: 2026-11-27T11:57:21.150Z stderr; what is not known is -. Without ranges and events"`
	Range       string `header:"Range" doc:"One range of bytes: 206 with that part"`
	Accept      string `header:"Accept" doc:"text/event-stream follows as events: output {offset, text} and, last, end {status, size}"`
	LastEventID string `header:"Last-Event-ID" doc:"Where an interrupted stream of events continues"`
}

func (a *API) runLogs() {
	const path = "/runs/{id}/logs"
	register(a, huma.Operation{
		OperationID: "get-logs", Method: http.MethodGet, Path: path, Tags: []string{"runs"},
		Summary: "Read or follow a run's output",
		Description: "What an attempt printed, stdout and stderr in the order of their writing (with stderr: marked, in the order in which they were read), byte for byte. " +
			"Without follow it is what is stored now; with follow it continues until the attempt ends.",
	}, a.logs)
	headers := map[string]*huma.Param{
		"X-Log-Attempt":  {Description: "Which attempt's", Schema: &huma.Schema{Type: huma.TypeInteger}},
		"X-Log-Size":     {Description: "Of the whole output now, in bytes", Schema: &huma.Schema{Type: huma.TypeInteger}},
		"X-Log-Offset":   {Description: "Of the first byte of the body", Schema: &huma.Schema{Type: huma.TypeInteger}},
		"X-Log-Complete": {Description: "true: the attempt has ended and nothing follows", Schema: &huma.Schema{Type: huma.TypeBoolean}},
	}
	content := map[string]*huma.MediaType{"text/plain": {Schema: anyBytes}, "text/event-stream": {Schema: anyText}}
	a.gives(path, "200", "The output", content, headers)
	a.gives(path, "206", "The part of the output that was asked for", map[string]*huma.MediaType{"text/plain": {Schema: anyBytes}}, headers)
}

func (a *API) logs(ctx context.Context, in *logRequest) (*huma.StreamResponse, error) {
	log, err := a.service.OpenLog(ctx, in.Namespace, in.ID, in.Attempt)
	if err != nil {
		return nil, err
	}
	if log.Missing != "" {
		a.config.Log.Warn("output is missing", "run", in.ID, "attempt", log.Attempt, "reason", log.Missing)
	}
	offset := in.Offset
	if in.Tail >= 0 {
		if offset, err = log.LastLines(ctx, in.Tail); err != nil {
			return nil, err
		}
		offset = max(offset, in.Offset)
	}
	events := strings.Contains(in.Accept, "text/event-stream")
	if in.Timestamps && (events || in.Range != "") {
		return nil, NewProblem(http.StatusUnprocessableEntity, "no_timestamps", "timestamps are for the whole text: ask without Range, and for text/plain")
	}
	if events && in.LastEventID != "" {
		if at, err := strconv.ParseInt(in.LastEventID, 10, 64); err == nil && at >= 0 {
			offset = at
		}
	}
	switch {
	case events:
		return &huma.StreamResponse{Body: func(out huma.Context) {
			describeLog(out, log, offset)
			a.followEvents(ctx, log, offset, a.eventStream(out))
		}}, nil
	case in.Follow:
		return &huma.StreamResponse{Body: func(out huma.Context) { a.followText(ctx, out, log, offset, in.Timestamps) }}, nil
	}
	if in.Timestamps {
		return &huma.StreamResponse{Body: func(out huma.Context) {
			describeLog(out, log, min(offset, log.Size))
			if err := log.CopyStamped(ctx, a.patient(out), min(offset, log.Size)); err != nil {
				a.streamBroke(ctx, err)
			}
		}}, nil
	}
	return a.storedLog(ctx, in.Range, log, offset)
}

func describeLog(out huma.Context, log *service.Log, offset int64) {
	out.SetHeader("X-Log-Attempt", strconv.Itoa(log.Attempt))
	out.SetHeader("X-Log-Size", strconv.FormatInt(log.Size, 10))
	out.SetHeader("X-Log-Offset", strconv.FormatInt(offset, 10))
	out.SetHeader("X-Log-Complete", strconv.FormatBool(log.Complete))
	if log.Missing != "" {
		out.SetHeader("X-Log-Missing", log.Missing)
	}
	out.SetHeader("Content-Type", "text/plain; charset=utf-8")
	out.SetHeader("Cache-Control", "no-store")
}

// storedLog answers with what is stored now.
func (a *API) storedLog(ctx context.Context, ranges string, log *service.Log, offset int64) (*huma.StreamResponse, error) {
	offset = min(offset, log.Size)
	length, status := log.Size-offset, http.StatusOK
	if from, to, ok := oneRange(ranges, log.Size); ok && offset == 0 {
		if from >= log.Size {
			problem := NewProblem(http.StatusRequestedRangeNotSatisfiable, "range_not_satisfiable",
				"the output has "+strconv.FormatInt(log.Size, 10)+" bytes: the range lies beyond them")
			problem.Header.Set("Content-Range", "bytes */"+strconv.FormatInt(log.Size, 10))
			return nil, problem
		}
		offset, length, status = from, to-from+1, http.StatusPartialContent
	}
	return &huma.StreamResponse{Body: func(out huma.Context) {
		describeLog(out, log, offset)
		out.SetHeader("Accept-Ranges", "bytes")
		out.SetHeader("Content-Length", strconv.FormatInt(length, 10))
		if status == http.StatusPartialContent {
			out.SetHeader("Content-Range", "bytes "+strconv.FormatInt(offset, 10)+"-"+strconv.FormatInt(offset+length-1, 10)+"/"+strconv.FormatInt(log.Size, 10))
		}
		out.SetStatus(status)
		if written, err := log.CopyRange(ctx, a.patient(out), offset, length); err != nil || written < length {
			a.streamBroke(ctx, err)
		}
	}}, nil
}

// oneRange reads a Range header of one range, both ends included. Whatever else it says is passed over, as RFC 9110
// allows.
func oneRange(header string, size int64) (from, to int64, ok bool) {
	text, ok := strings.CutPrefix(header, "bytes=")
	if !ok || strings.Contains(text, ",") {
		return 0, 0, false
	}
	first, last, ok := strings.Cut(strings.TrimSpace(text), "-")
	if !ok {
		return 0, 0, false
	}
	if first == "" { // the last bytes
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil || n <= 0 {
			return 0, 0, false
		}
		return max(size-n, 0), size - 1, true
	}
	from, err := strconv.ParseInt(first, 10, 64)
	if err != nil || from < 0 {
		return 0, 0, false
	}
	to = size - 1
	if last != "" {
		given, err := strconv.ParseInt(last, 10, 64)
		if err != nil || given < from {
			return 0, 0, false
		}
		to = min(given, to)
	}
	return from, to, true
}
