package gateway

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/auth"
)

// credentialsFile is the name, inside the data folder, of the file that holds
// the credentials.
const credentialsFile = "s3.json"

// Credentials are the one account that may use the gateway.
type Credentials struct {
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
}

// String keeps the secret out of logs and error messages.
func (c Credentials) String() string { return c.AccessKey + ":(secret)" }

// accounts is the library's own store of the one account, but for a key it does
// not know: there the library answers 404 with a code of its own, on which no S3
// client knows what to do, instead of InvalidAccessKeyId.
type accounts struct{ auth.IAMService }

func newAccounts(c Credentials) accounts {
	return accounts{auth.NewIAMServiceSingle(auth.Account{Access: c.AccessKey, Secret: c.SecretKey, Role: auth.RoleAdmin})}
}

func (a accounts) GetUserAccount(accessKey string) (auth.Account, error) {
	account, err := a.IAMService.GetUserAccount(accessKey)
	if err != nil {
		return auth.Account{}, auth.ErrNoSuchUser
	}
	return account, nil
}

// loadCredentials reads the credentials of a data folder, making them when the
// folder has none.
func loadCredentials(dir string) (Credentials, error) {
	path := filepath.Join(dir, credentialsFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return createCredentials(path)
	}
	if err != nil {
		return Credentials{}, fmt.Errorf("gateway: read credentials: %w", err)
	}
	var made Credentials
	if err := json.Unmarshal(data, &made); err != nil || made.AccessKey == "" || made.SecretKey == "" {
		return Credentials{}, fmt.Errorf(
			"gateway: %s does not hold an access_key and a secret_key; restore it from a backup, or remove it to have new ones made", path)
	}
	// A backup or a copy may have widened the mode; the secret must not stay readable.
	if err := os.Chmod(path, 0o600); err != nil {
		return Credentials{}, fmt.Errorf("gateway: protect credentials: %w", err)
	}
	return made, nil
}

func createCredentials(path string) (Credentials, error) {
	made := Credentials{AccessKey: "tidewheel-" + rand.Text()[:8], SecretKey: rand.Text() + rand.Text()}
	data, err := json.MarshalIndent(made, "", "  ") //nolint:gosec // it goes to a file that only the server may read
	if err != nil {
		return Credentials{}, fmt.Errorf("gateway: encode credentials: %w", err)
	}
	if err := writeFileDurably(path, append(data, '\n')); err != nil {
		return Credentials{}, fmt.Errorf("gateway: store credentials: %w", err)
	}
	return made, nil
}

// writeFileDurably puts data at path with mode 0600, so that after a crash the
// file is either whole or absent.
func writeFileDurably(path string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // CreateTemp makes it 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the names inside a folder survive a power cut.
func syncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}
