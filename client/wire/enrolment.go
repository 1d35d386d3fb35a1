package wire

import "time"

// NewExecutorToken makes an enrolment token.
type NewExecutorToken struct {
	Tier string `json:"tier" enum:"light,medium,heavy,all" doc:"Which tasks the executor may take; heavier ones help the lighter when idle"`
	TTL  string `json:"ttl,omitempty" maxLength:"32" doc:"For how long it can be used, such as 1h, which is the default; at most 168h" example:"1h"`
}

// ExecutorToken is an enrolment token.
type ExecutorToken struct {
	Token     string    `json:"token" doc:"Shown once, and kept nowhere; it enrols one executor"`
	Tier      string    `json:"tier"`
	ExpiresAt time.Time `json:"expires_at"`
}

// ExecutorProof is signed with an executor's key.
type ExecutorProof struct {
	Name      string            `json:"name" maxLength:"64" doc:"Unique among executors that are enrolled: letters, digits, - and _" example:"quay-7"`
	PublicKey string            `json:"public_key" maxLength:"64" doc:"The public part of its NATS user key"`
	At        time.Time         `json:"at" doc:"When it was signed; at most five minutes ago"`
	Labels    map[string]string `json:"labels,omitempty" maxProperties:"64" doc:"What jobs may ask for by runs_on"`
	Signature []byte            `json:"signature" maxLength:"128" doc:"Ed25519, with that key"`
}

// ExecutorEnrolment enrols an executor.
type ExecutorEnrolment struct {
	Token string        `json:"token" maxLength:"64" doc:"An enrolment token"`
	Proof ExecutorProof `json:"proof"`
}

// ExecutorCredentials are what an enrolled executor is given.
type ExecutorCredentials struct {
	Name      string    `json:"name"`
	Tier      string    `json:"tier"`
	JWT       string    `json:"jwt" doc:"Credentials of NATS, for the subjects of its tier; of no use without its key"`
	ExpiresAt time.Time `json:"expires_at" doc:"When they open nothing any more; renew them at half of that time"`
	TaskKeys  string    `json:"task_keys" doc:"Public keys of the engines that sign tasks, in PEM"`
	Embedded  bool      `json:"embedded_nats" doc:"The NATS is embedded in a node of Tidewheel and takes the credentials as a token"`
	NATSCA    string    `json:"nats_ca,omitempty" doc:"Certificates of the authorities to trust at the NATS, in PEM; absent: the machine's"`
}

// EnrolledExecutor is one that may renew its credentials.
type EnrolledExecutor struct {
	Name       string    `json:"name"`
	Tier       string    `json:"tier"`
	PublicKey  string    `json:"public_key"`
	InvitedBy  string    `json:"invited_by" doc:"Who made the token that it came with"`
	EnrolledAt time.Time `json:"enrolled_at"`
}
