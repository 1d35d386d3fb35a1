package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/tidewheel/tidewheel/web/auth"
)

// tokenFile holds the token inside the data folder.
const tokenFile = "token"

// shortestToken is how many characters a token has at least.
const shortestToken = 16

// openTokens reads the tokens that this node asks for.
func (s *Server) openTokens() error {
	var known []string
	if s.config.has(roleWeb) && s.config.Auth {
		var err error
		if s.token, s.tokenPath, s.tokenMade, err = s.serverToken(); err != nil {
			return err
		}
		known = append(known, s.token)
	}
	if s.config.MetricsTokenFile != "" {
		token, err := readToken("--metrics-token-file", s.config.MetricsTokenFile)
		if err != nil {
			return err
		}
		known = append(known, token)
	}
	s.readers = auth.NewReaders(known...)
	if s.config.MetricsOpen {
		s.readers = auth.AnyReader()
	}
	return nil
}

// serverToken reads the token of --token-file, or the data folder's, which is made when it is missing; created reports
// that it was, and path where the token is kept.
func (s *Server) serverToken() (token, path string, created bool, err error) {
	if path = s.config.TokenFile; path == "" {
		token, created, err = openToken(s.data)
		return token, s.data.path(tokenFile), created, err
	}
	token, err = readToken("--token-file", path)
	return token, path, false, err
}

// readToken reads a token from a file of the user's; flag is what it was named by.
func readToken(flag, path string) (string, error) {
	token, err := readSecret(flag, path)
	if err == nil && len(token) < shortestToken {
		err = usage("%s: %s holds no token: at least %d characters are needed, such as of `openssl rand -hex 24`", flag, path, shortestToken)
	}
	return token, err
}

// openToken reads the data folder's token, or makes one; created reports whether it made one.
func openToken(data *dataFolder) (token string, created bool, err error) {
	path := data.path(tokenFile)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		token = "tw_" + strings.ToLower(rand.Text())
		if err := writeFile(path, []byte(token+"\n"), 0o600); err != nil {
			return "", false, fmt.Errorf("keep the token: %w", err)
		}
		return token, true, nil
	case err != nil:
		return "", false, fmt.Errorf("read the token: %w", err)
	}
	token = strings.TrimSpace(string(text))
	if len(token) < shortestToken {
		return "", false, usage("%s holds no token: remove it to have a new one made", path)
	}
	// A backup or a copy may have widened the mode.
	if err := os.Chmod(path, 0o600); err != nil {
		return "", false, fmt.Errorf("protect the token: %w", err)
	}
	return token, false, nil
}

// stateFolder is where servers of this user leave their tokens for the command line; "" if there is no such place.
func (c *cli) stateFolder() string {
	if folder := c.getenv("XDG_STATE_HOME"); filepath.IsAbs(folder) {
		return filepath.Join(folder, "tidewheel")
	}
	if home := c.getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "tidewheel")
	}
	return ""
}

// shareToken leaves the token where only this user can read it, under the address of the server, so that the command
// line finds it without --token. It does so for loopback only: the client never sends a token to another machine unasked.
func shareToken(folder, address, token string) error {
	path := sharedToken(folder, address)
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return writeFile(path, []byte(token+"\n"), 0o600)
}

// unshareToken removes the shared token, so that the client does not send it to the next program at this address.
func unshareToken(folder, address, token string) {
	if path := sharedToken(folder, address); path != "" && readSharedToken(path) == token {
		_ = os.Remove(path) // the next server at this address rewrites it
	}
}

// sharedToken is the file for a server at host:port, "" if there is none.
func sharedToken(folder, address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil || folder == "" {
		return ""
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() || host == "" {
		host = "127.0.0.1" // it is reached there, too
	}
	if !loopback(host) {
		return ""
	}
	return filepath.Join(folder, "loopback-"+port+".token") // a port of loopback is one server's, by whatever name
}

// localToken finds the token of a server that this user runs on this machine.
func localToken(folder, serverURL string) string {
	parsed, err := url.Parse(serverURL)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Port() == "" {
		return ""
	}
	if path := sharedToken(folder, parsed.Host); path != "" {
		return readSharedToken(path)
	}
	return ""
}

func readSharedToken(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "" // the server says what to do without one
	}
	return strings.TrimSpace(string(text))
}
