package access

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// How long sessions last.
const (
	SessionIdle = 30 * 24 * time.Hour // without a request
	SessionLife = 90 * 24 * time.Hour // from the login
	// IssuedSessionLife is SessionLife for users of an issuer: their roles follow their groups there at the next login.
	IssuedSessionLife = 12 * time.Hour
)

// Session is one of a browser, from a login until it ends.
type Session struct {
	ID        string    `json:"-"`
	Owner     string    `json:"owner"` // a user's name, or RootName
	MadeAt    time.Time `json:"made_at"`
	SeenAt    time.Time `json:"seen_at"` // to the minute
	ExpiresAt time.Time `json:"expires_at"`
	Address   string    `json:"address,omitempty"`
	Agent     string    `json:"agent,omitempty"` // what the browser calls itself
}

// storedSession is the data of a record.
type storedSession struct {
	Session
	Stamp string `json:"stamp,omitempty"` // of the user, see storedUser
	Token string `json:"token,omitempty"` // the hash of the API token that the session was begun with: it may no more than that
	// Issued means that an issuer vouched for the user.
	Issued bool `json:"issued,omitempty"`
}

// used notes a request of the session.
func (s *storedSession) used(now time.Time) {
	life := SessionLife
	if s.Issued {
		life = IssuedSessionLife
	}
	s.SeenAt, s.ExpiresAt = now, now.Add(SessionIdle)
	if last := s.MadeAt.Add(life); s.ExpiresAt.After(last) {
		s.ExpiresAt = last
	}
}

// mostAgent is how much of the name of a browser is kept, in bytes.
const mostAgent = 200

// BeginSession begins a session of an identity that has just been proven, and returns the secret that the browser keeps in a
// cookie for SessionLife.
func (d *Directory) BeginSession(ctx context.Context, of Identity, address, agent string) (string, error) {
	now := d.moment()
	session := storedSession{
		Session: Session{
			Owner: of.User, MadeAt: now, Address: address,
			Agent: strings.ToValidUTF8(agent[:min(len(agent), mostAgent)], ""),
		},
		Stamp: of.stamp, Issued: of.issued,
	}
	session.used(now)
	if of.Kind == KindToken {
		record, _, err := d.tokenByID(ctx, of.Token)
		if err != nil {
			return "", err
		}
		session.Token = record.Key
	}
	secret := rand.Text()
	record := engine.Record{Kind: kindSession, Key: session.Owner + "/" + digest(secret), Revision: 1, ExpiresAt: session.ExpiresAt}
	return session.Owner + "." + secret, d.write(ctx, record, &session)
}

// BySession returns the identity that a session's secret stands for; ErrNoSession. Its use is noted.
func (d *Directory) BySession(ctx context.Context, cookie string) (Identity, error) {
	at := strings.LastIndexByte(cookie, '.')
	if at < 0 || !validName.MatchString(cookie[:at]) {
		return Identity{}, ErrNoSession
	}
	var session storedSession
	record, err := d.read(ctx, kindSession, cookie[:at]+"/"+digest(cookie[at+1:]), &session)
	if errors.Is(err, engine.ErrNotFound) {
		return Identity{}, ErrNoSession
	}
	if err != nil {
		return Identity{}, err
	}
	now := d.moment()
	if !now.Before(session.ExpiresAt) {
		return Identity{}, ErrNoSession
	}
	identity, err := d.sessionIdentity(ctx, &session)
	if err != nil {
		return Identity{}, err
	}
	identity.Session = sessionID(&record)
	if now.Sub(session.SeenAt) >= noteEvery {
		session.used(now)
		record.Revision++
		record.ExpiresAt = session.ExpiresAt
		_ = d.write(ctx, record, &session) // the next request tries again, if no other one has noted it
	}
	return identity, nil
}

func (d *Directory) sessionIdentity(ctx context.Context, session *storedSession) (Identity, error) {
	if session.Token != "" {
		identity, _, err := d.tokenIdentity(ctx, session.Token)
		if errors.Is(err, ErrNoToken) || errors.Is(err, ErrTokenExpired) {
			err = ErrNoSession
		}
		return identity, err
	}
	identity, err := d.owner(ctx, session.Owner)
	if errors.Is(err, engine.ErrNotFound) || err == nil && identity.stamp != session.Stamp {
		return Identity{}, ErrNoSession
	}
	return identity, err
}

// owner returns the identity of an enabled user or of the root token by its name; engine.ErrNotFound.
func (d *Directory) owner(ctx context.Context, name string) (Identity, error) {
	if name == RootName {
		return rootIdentity(d.rootStamp), nil
	}
	user, err := d.readUser(ctx, name)
	if err == nil && user.Disabled {
		err = engine.ErrNotFound
	}
	if err != nil {
		return Identity{}, err
	}
	return user.identity(), nil
}

func sessionID(record *engine.Record) string {
	_, hash, _ := strings.Cut(record.Key, "/")
	return hash[:min(len(hash), idLength)]
}

// Sessions lists the sessions of a user, or of RootName, that have not ended.
func (d *Directory) Sessions(ctx context.Context, owner string) (sessions []Session, err error) {
	err = d.each(ctx, kindSession, owner+"/", func(record *engine.Record) error {
		var session storedSession
		if err := json.Unmarshal(record.Data, &session); err != nil {
			return fmt.Errorf("access: read a session of %s: %w", owner, err)
		}
		if !d.now().Before(session.ExpiresAt) {
			return nil
		}
		switch _, err := d.sessionIdentity(ctx, &session); {
		case errors.Is(err, ErrNoSession):
			return nil
		case err != nil:
			return err
		}
		session.ID = sessionID(record)
		sessions = append(sessions, session.Session)
		return nil
	})
	return sessions, err
}

// EndSession ends a session of a user by its id; engine.ErrNotFound.
func (d *Directory) EndSession(ctx context.Context, owner, id string) error {
	if len(id) != idLength {
		return engine.ErrNotFound
	}
	found := false
	err := d.each(ctx, kindSession, owner+"/"+id, func(record *engine.Record) error {
		found = true
		return d.store.DeleteRecord(ctx, record.Kind, record.Key, 0)
	})
	if err == nil && !found {
		err = engine.ErrNotFound
	}
	return err
}
