package mongotest

import (
	"container/list"
	"sync"

	"go.mongodb.org/mongo-driver/bson"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest/internal/engine"
)

// maxSessions bounds what is remembered of retryable writes; the session that was used longest ago is forgotten.
const maxSessions = 20_000

// retries remembers each session's last retryable write with its answer, so that a repeated one is not done twice.
type retries struct {
	mutex    sync.Mutex
	sessions map[string]*list.Element // of *session
	order    *list.List               // the most recently used first
}

type session struct {
	id     string
	mutex  sync.Mutex // held while a write runs: a repeat that comes early waits for the first
	number int64
	reply  bson.Raw
}

func newRetries() *retries {
	return &retries{sessions: map[string]*list.Element{}, order: list.New()}
}

func (r *retries) session(id string) *session {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if element, ok := r.sessions[id]; ok {
		r.order.MoveToFront(element)
		return element.Value.(*session)
	}
	made := &session{id: id, number: -1}
	r.sessions[id] = r.order.PushFront(made)
	if r.order.Len() > maxSessions {
		delete(r.sessions, r.order.Remove(r.order.Back()).(*session).id)
	}
	return made
}

// forget drops a session that its client has ended.
func (r *retries) forget(id string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if element, ok := r.sessions[id]; ok {
		r.order.Remove(element)
		delete(r.sessions, id)
	}
}

// once does a write, or returns the answer it got when it was done before.
func (r *retries) once(request *command, do func() (bson.Raw, error)) (bson.Raw, error) {
	id, number, ok := request.session()
	if !ok {
		return do()
	}
	s := r.session(id)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case number == s.number:
		return s.reply, nil
	case number < s.number:
		return encode(failed(engine.Errorf(engine.TransactionTooOld,
			"retryable write with txnNumber %d is prohibited on this session because a newer one with txnNumber %d has started", number, s.number)))
	}
	reply, err := do()
	if err == nil {
		s.number, s.reply = number, reply
	}
	return reply, err
}
