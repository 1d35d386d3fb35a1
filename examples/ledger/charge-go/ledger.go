package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// ledger asks Tidewheel's effect ledger.
type ledger struct {
	api, token string
	http       *http.Client
}

func newLedger() *ledger {
	return &ledger{api: os.Getenv("TIDEWHEEL_API"), token: os.Getenv("TIDEWHEEL_RUN_TOKEN"), http: &http.Client{Timeout: 10 * time.Second}}
}

// errFenced means that another attempt has taken over: stop, and change nothing.
var errFenced = errors.New("another attempt has taken over")

// once returns what do returns, which is called once in the life of the run. look returns its result, nil where it was not
// done; it is asked where an attempt before may have come so far. Both results are JSON.
func (l *ledger) once(key string, look, do func() (json.RawMessage, error)) (json.RawMessage, error) {
	status, answer, err := l.ask(http.MethodPost, key, nil)
	if err != nil {
		return nil, err
	}
	var result json.RawMessage
	switch {
	case status == http.StatusConflict && answer.Code == "effect_done":
		return answer.Result, nil
	case status == http.StatusCreated: // no attempt has begun: do it
		result, err = do()
	case status == http.StatusOK: // an earlier attempt may have done it: look
		if result, err = look(); err == nil && result == nil {
			result, err = do()
		}
	default:
		return nil, errors.New(answer.Detail)
	}
	if err != nil {
		return nil, err
	}
	pause()
	switch status, answer, err := l.ask(http.MethodPut, key, result); {
	case err != nil:
		return nil, err
	case status != http.StatusOK:
		return nil, errors.New(answer.Detail)
	}
	return result, nil
}

// answer is what of the ledger's answers is of use here.
type answer struct {
	Code   string          `json:"code"`
	Detail string          `json:"detail"`
	Result json.RawMessage `json:"result"`
}

// ask asks, through some seconds without a server.
func (l *ledger) ask(method, key string, result json.RawMessage) (status int, a answer, err error) {
	for _, wait := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 0} {
		status, a, err = l.try(method, key, result)
		if err == nil && status < http.StatusInternalServerError || wait == 0 {
			break
		}
		time.Sleep(wait)
	}
	if err == nil && status == http.StatusPreconditionFailed {
		err = fmt.Errorf("%w: %s", errFenced, a.Detail)
	}
	return status, a, err
}

func (l *ledger) try(method, key string, result json.RawMessage) (status int, a answer, err error) {
	request, err := http.NewRequestWithContext(context.Background(), method, l.api+"/effects/"+key, bytes.NewReader(result))
	if err != nil {
		return 0, a, err
	}
	request.Header.Set("Authorization", "Bearer "+l.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := l.http.Do(request)
	if err != nil {
		return 0, a, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, a, err
	}
	return response.StatusCode, a, json.Unmarshal(text, &a)
}
