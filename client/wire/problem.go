package wire

import "encoding/json"

// Problem is the body of every answer that is not a success: RFC 9457, with a stable code.
type Problem struct {
	Type      string       `json:"type" doc:"Always about:blank: code says which problem it is" example:"about:blank"`
	Title     string       `json:"title" doc:"The HTTP status in words" example:"Not Found"`
	Status    int          `json:"status" doc:"The HTTP status" example:"404"`
	Code      string       `json:"code" doc:"Which problem it is: a stable word that programs may look at" example:"job_not_found"`
	Detail    string       `json:"detail" doc:"What is wrong and what to do about it, for people" example:"there is no job \"nightly-report\""`
	Errors    []FieldError `json:"errors,omitempty" doc:"The faulty fields, where there are such"`
	RequestID string       `json:"request_id,omitempty" doc:"Under which the server has logged a fault of its own"`
	// Result is there with the code effect_done.
	Result json.RawMessage `json:"result,omitempty" doc:"With the code effect_done: what the effect was closed with"`
}

// FieldError is one faulty field.
type FieldError struct {
	Location string `json:"location" doc:"Where: path.NAME, query.NAME, header.NAME, or body and the path of the field" example:"body.retry.max_attempts"`
	Message  string `json:"message" doc:"What is wrong with it and what to do" example:"retry.max_attempts must be at least 1"`
	File     string `json:"file,omitempty" doc:"The file, where a request holds files"`
	Line     int    `json:"line,omitempty" doc:"Counted from 1"`
	Column   int    `json:"column,omitempty" doc:"Counted from 1, in characters"`
}
