package jetstream

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// users lets clients in to an embedded server that listens: with its own credentials, which open everything, or with those that an
// account made for an executor.
type users struct {
	credentials Credentials

	mu      sync.Mutex
	account *Account                          // nil: no executor has credentials of its own
	allowed func(name, publicKey string) bool // reports whether an executor is still enrolled
	clients map[uint64]enrolledClient         // by their number; some of them have gone
}

// enrolledClient is a connection of an executor with credentials of its own.
type enrolledClient struct{ name, key string }

// Check implements the server's authentication.
func (u *users) Check(c natsserver.ClientAuthentication) bool {
	given := c.GetOpts()
	if given.Nkey != "" {
		return u.checkExecutor(c, given)
	}
	if same(given.Username, u.credentials.User) && same(given.Password, u.credentials.Password) && same(given.Token, u.credentials.Token) {
		c.RegisterUser(&natsserver.User{Username: given.Username})
		return true
	}
	return false
}

func same(a, b string) bool {
	one, other := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(one[:], other[:]) == 1
}

// checkExecutor lets an executor in that shows credentials of the account and proves that they are its own.
func (u *users) checkExecutor(c natsserver.ClientAuthentication, given *natsserver.ClientOpts) bool {
	u.mu.Lock()
	account, allowed := u.account, u.allowed
	u.mu.Unlock()
	claims, err := jwt.DecodeUserClaims(given.Token) // its signature is good, by the key that it names
	if err != nil || account == nil || claims.Issuer != account.issuer || claims.Expires <= time.Now().Unix() {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(given.Sig)
	if err != nil {
		return false
	}
	key, err := nkeys.FromPublicKey(claims.Subject)
	if err != nil || given.Nkey != claims.Subject || key.Verify(c.GetNonce(), signature) != nil || !allowed(claims.Name, claims.Subject) {
		return false
	}
	u.mu.Lock()
	u.clients[c.GetID()] = enrolledClient{claims.Name, claims.Subject}
	u.mu.Unlock()
	c.RegisterUser(&natsserver.User{
		Username: claims.Name, ConnectionDeadline: time.Unix(claims.Expires, 0),
		Permissions: &natsserver.Permissions{
			Publish: &natsserver.SubjectPermission{Allow: claims.Pub.Allow}, Subscribe: &natsserver.SubjectPermission{Allow: claims.Sub.Allow},
		},
	})
	return true
}

// LetExecutorsIn lets executors connect with credentials of an account, as long as allowed says that they are enrolled. allowed is
// called for each connection, and must answer within a second.
func (s *Server) LetExecutorsIn(account *Account, allowed func(name, publicKey string) bool) {
	s.users.mu.Lock()
	defer s.users.mu.Unlock()
	s.users.account, s.users.allowed = account, allowed
}

// ThrowOut ends the connections of executors that are not allowed any more, and returns their names.
func (s *Server) ThrowOut(allowed func(name, publicKey string) bool) (names []string) {
	s.users.mu.Lock()
	clients := make(map[uint64]enrolledClient, len(s.users.clients))
	for id, client := range s.users.clients {
		if s.nats.GetClient(id) == nil {
			delete(s.users.clients, id) // it has gone
			continue
		}
		clients[id] = client
	}
	s.users.mu.Unlock()
	for id, client := range clients {
		if !allowed(client.name, client.key) && s.nats.DisconnectClientByID(id) == nil {
			names = append(names, client.name)
		}
	}
	return names
}
