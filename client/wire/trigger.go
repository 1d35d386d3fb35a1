package wire

// HookAnswer is what a request to a webhook has started. Both are empty where it only tried the webhook out.
type HookAnswer struct {
	Run  string `json:"run,omitempty" doc:"The run, of a job"`
	Wave string `json:"wave,omitempty" doc:"The wave, of a DAG"`
}
