package jetstream

import (
	"fmt"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// Operator is what a NATS of one's own needs to know users by JWTs, and what nodes of Tidewheel need to be such users and to make others.
// See https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/jwt.
type Operator struct {
	Config      []byte // for the servers: the operator and its accounts, for a server's configuration file
	Account     string // the public key of the account that Tidewheel uses
	AccountSeed []byte // of its key, which signs credentials of executors
	Credentials []byte // of a user who may do everything in the account, as a .creds file
}

// NewOperator makes an operator with an account for Tidewheel and one for the system. The operator's own key is kept nowhere: the
// accounts stay as they are made here.
func NewOperator() (*Operator, error) {
	made, err := newOperator()
	return made, wrap("make a NATS operator", err)
}

func newOperator() (*Operator, error) {
	operator, err := newSigner(nkeys.CreateOperator)
	if err != nil {
		return nil, err
	}
	system, err := newSigner(nkeys.CreateAccount)
	if err != nil {
		return nil, err
	}
	account, err := newSigner(nkeys.CreateAccount)
	if err != nil {
		return nil, err
	}
	user, err := newSigner(nkeys.CreateUser)
	if err != nil {
		return nil, err
	}
	operatorClaims := jwt.NewOperatorClaims(operator.public)
	operatorClaims.Name, operatorClaims.SystemAccount = "tidewheel", system.public
	accountClaims := jwt.NewAccountClaims(account.public)
	accountClaims.Name = "tidewheel"
	accountClaims.Limits.JetStreamLimits = jwt.JetStreamLimits{
		MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit,
	}
	systemClaims := jwt.NewAccountClaims(system.public)
	systemClaims.Name = "system"
	userClaims := jwt.NewUserClaims(user.public)
	userClaims.Name = "engine"
	var texts [4]string
	for i, made := range []struct {
		claims jwt.Claims
		by     *signer
	}{{operatorClaims, operator}, {accountClaims, operator}, {systemClaims, operator}, {userClaims, account}} {
		if texts[i], err = made.claims.Encode(made.by.pair); err != nil {
			return nil, err
		}
	}
	credentials, err := jwt.FormatUserConfig(texts[3], user.seed)
	if err != nil {
		return nil, err
	}
	const config = "operator: %q\nsystem_account: %q\nresolver: MEMORY\nresolver_preload: {\n  %s: %q\n  %s: %q\n}\n"
	return &Operator{
		Config:  fmt.Appendf(nil, config, texts[0], system.public, account.public, texts[1], system.public, texts[2]),
		Account: account.public, AccountSeed: account.seed, Credentials: credentials,
	}, nil
}

// signer is a key that signs claims.
type signer struct {
	pair   nkeys.KeyPair
	public string
	seed   []byte
}

func newSigner(create func() (nkeys.KeyPair, error)) (*signer, error) {
	pair, err := create()
	if err != nil {
		return nil, err
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	seed, err := pair.Seed()
	return &signer{pair, public, seed}, err
}
