package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/tidewheel/tidewheel/blob"
	"github.com/tidewheel/tidewheel/blob/gateway"
	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/internal/certs"
	"github.com/tidewheel/tidewheel/moving"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/sqlite"
)

// placeNames are the flags that name a place: where a server keeps what it keeps.
type placeNames struct{ data, mongo, s3 string }

// placeFlags declares the flags of a place; what says what it is.
func placeFlags(flags *pflag.FlagSet, names placeNames, what string) {
	flags.String(names.data, "", "data folder "+what)
	flags.String(names.mongo, "", "MongoDB "+what)
	flags.String(names.s3+"-endpoint", "", "S3 "+what+", such as http://127.0.0.1:9000")
	flags.String(names.s3+"-ca-file", "", "certificates of the authorities to trust there (default the machine's)")
	flags.String(names.s3+"-bucket", "", "its bucket (default tidewheel)")
	flags.String(names.s3+"-region", "", "its region (AWS_REGION; default us-east-1)")
	flags.String(names.s3+"-access-key", "", "its access key (AWS_ACCESS_KEY_ID)")
	flags.String(names.s3+"-secret-key", "", "its secret key (AWS_SECRET_ACCESS_KEY)")
	for _, secret := range []string{names.mongo, names.s3 + "-access-key", names.s3 + "-secret-key"} {
		flags.String(secret+secretFile, "", "file that holds what --"+secret+" would say")
	}
}

// placeConfig is what the flags say of a place.
type placeConfig struct {
	names    placeNames
	data     string
	mongoURI string
	s3       blob.Config
}

// placeOf reads the flags of a place. Secrets, too, may stand in the environment, or in files.
func placeOf(flags *pflag.FlagSet, names placeNames) (placeConfig, error) {
	v := viper.New()
	v.SetEnvPrefix("TIDEWHEEL")
	v.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	if err := v.BindPFlags(flags); err != nil {
		return placeConfig{}, fmt.Errorf("read the flags: %w", err)
	}
	place := placeConfig{names: names, data: v.GetString(names.data), s3: blob.Config{
		Endpoint: v.GetString(names.s3 + "-endpoint"), Bucket: v.GetString(names.s3 + "-bucket"), Region: v.GetString(names.s3 + "-region"), PathStyle: true,
	}}
	for _, one := range []struct {
		name string
		to   *string
	}{{names.mongo, &place.mongoURI}, {names.s3 + "-access-key", &place.s3.AccessKey}, {names.s3 + "-secret-key", &place.s3.SecretKey}} {
		// Whether there is a place at all is for the flags to say, where its secrets are may be said elsewhere.
		if one.to != &place.mongoURI {
			if err := v.BindEnv(one.name); err != nil {
				return placeConfig{}, fmt.Errorf("read the environment: %w", err)
			}
		}
		text, err := secretSetting(v, one.name)
		if err != nil {
			return placeConfig{}, err
		}
		*one.to = text
	}
	if file := v.GetString(names.s3 + "-ca-file"); file != "" {
		pool, err := certs.Authorities(file)
		if err != nil {
			return placeConfig{}, usage("--%s-ca-file: %w", names.s3, err)
		}
		place.s3.Trusted = func() *x509.CertPool { return pool }
	}
	for _, name := range []string{"-ca-file", "-bucket", "-region", "-access-key", "-secret-key", "-access-key" + secretFile, "-secret-key" + secretFile} {
		if place.s3.Endpoint == "" && flags.Changed(names.s3+name) {
			return placeConfig{}, usage("--%s%s: of an S3 that --%[1]s-endpoint names: give the endpoint, or leave it out", names.s3, name)
		}
	}
	if (place.s3.AccessKey == "") != (place.s3.SecretKey == "") {
		return placeConfig{}, usage("--%s-access-key and --%[1]s-secret-key belong together: give both, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", names.s3)
	}
	return place, nil
}

func (p *placeConfig) named() bool { return p.data != "" || p.mongoURI != "" || p.s3.Endpoint != "" }

// documents is what keeps a place's documents.
type documents interface {
	moving.Store
	engine.Records
	ActiveRuns(ctx context.Context, shards []int, after string, limit int) ([]engine.Run, error)
	Close(ctx context.Context) error
}

// place is where a server keeps what it keeps, while none runs on it.
type place struct {
	config    placeConfig
	data      *dataFolder      // nil where no folder is part of it
	documents documents        // nil where nothing names a store
	mongo     *mongo.Store     // documents, where they are in MongoDB
	objects   *blob.Store      // nil where nothing names a bucket
	gateway   *gateway.Gateway // of the folder's bucket
}

// openPlace opens what the flags name. A folder is made if it is missing. The caller closes the place.
func openPlace(ctx context.Context, config placeConfig, log *slog.Logger) (_ *place, err error) {
	p := &place{config: config}
	defer func() {
		if err != nil {
			_ = p.close(ctx) // why it cannot be opened is what counts
		}
	}()
	if config.data != "" {
		if p.data, err = openDataFolder(config.data); err != nil {
			return nil, err
		}
	}
	switch {
	case config.mongoURI != "":
		if p.mongo, err = mongo.Open(ctx, config.mongoURI, mongo.Config{Logger: log, PrimaryOnly: true}); err != nil {
			return nil, explainPlace("--"+config.names.mongo, err)
		}
		p.documents = p.mongo
	case p.data != nil:
		folder, err := p.data.folder(storeFolder)
		if err != nil {
			return nil, err
		}
		opened, err := sqlite.Open(ctx, filepath.Join(folder, storeFile), sqlite.Config{Logger: log})
		if err != nil {
			return nil, explainPlace("--"+config.names.data, err)
		}
		p.documents = opened
	}
	return p, p.openObjects(ctx, log)
}

func (p *place) openObjects(ctx context.Context, log *slog.Logger) (err error) {
	config, flag := p.config.s3, "--"+p.config.names.s3+"-endpoint"
	config.Logger = log
	if config.Endpoint == "" {
		if p.data == nil {
			return nil
		}
		flag = "--" + p.config.names.data
		if p.gateway, err = gateway.Start(ctx, gateway.Config{Dir: p.data.dir, Logger: log}); err != nil {
			return err
		}
		keys := p.gateway.Credentials()
		config = blob.Config{
			Endpoint: p.gateway.Endpoint(), Region: p.gateway.Region(), AccessKey: keys.AccessKey, SecretKey: keys.SecretKey, PathStyle: true, Logger: log,
		}
	}
	if p.objects, err = blob.Open(ctx, config); err != nil {
		return explainPlace(flag, err)
	}
	return nil
}

func (p *place) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	var errs []error
	if p.documents != nil {
		errs = append(errs, p.documents.Close(ctx))
	}
	if p.objects != nil {
		p.objects.Close()
	}
	if p.gateway != nil {
		errs = append(errs, p.gateway.Close())
	}
	if p.data != nil {
		errs = append(errs, p.data.close())
	}
	return errors.Join(errs...)
}

// name returns the place as users read it, without passwords.
func (p *placeConfig) name() string {
	var words []string
	if p.mongoURI != "" {
		words = append(words, withoutPassword(p.mongoURI))
	}
	if p.s3.Endpoint != "" {
		words = append(words, p.s3.Endpoint)
	}
	if p.data != "" && (p.mongoURI == "" || p.s3.Endpoint == "") {
		if dir, err := filepath.Abs(p.data); err == nil {
			words = append(words, dir)
		}
	}
	return strings.Join(words, " and ")
}

// running counts the runs that an executor may be executing.
func (p *place) running(ctx context.Context) (n int, err error) {
	shards := make([]int, engine.Shards)
	for i := range shards {
		shards[i] = i
	}
	const page = 1000
	for after := ""; ; {
		runs, err := p.documents.ActiveRuns(ctx, shards, after, page)
		if err != nil {
			return n, err
		}
		for i := range runs {
			if runs[i].Status == engine.StatusRunning {
				n++
			}
			after = runs[i].ID
		}
		if len(runs) < page {
			return n, nil
		}
	}
}

// unreachableError reports that no server answered: it has an exit status of its own.
type unreachableError struct{ err error }

func (e *unreachableError) Error() string   { return e.err.Error() }
func (e *unreachableError) Unwrap() []error { return []error{client.ErrUnreachable, e.err} }

// explainPlace reports which flag is to blame, and with which exit status.
func explainPlace(flag string, err error) error {
	var newer *sqlite.NewerError
	var schema *mongo.SchemaError
	switch {
	case errors.Is(err, mongo.ErrUnreachable), errors.Is(err, blob.ErrUnreachable):
		return &unreachableError{fmt.Errorf("%s: %w", flag, err)}
	case errors.Is(err, mongo.ErrURI), errors.Is(err, mongo.ErrCredentials), errors.Is(err, mongo.ErrPermission), errors.As(err, &schema), errors.As(err, &newer),
		errors.Is(err, blob.ErrCredentials), errors.Is(err, blob.ErrForbidden), errors.Is(err, blob.ErrForeignBucket),
		strings.Contains(err.Error(), "is not a URL"):
		return usage("%s: %w", flag, err)
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// keyFiles are the secrets of a data folder that move with it.
var keyFiles = []string{tokenFile, natsTokenFile, "s3.json", secretsKeyFile}

// movable is a bucket as package moving wants it: with its errors and types.
type movable struct{ store *blob.Store }

var _ moving.Objects = movable{}

// Objects lists a folder.
func (m movable) Objects(ctx context.Context, folder string, each func(moving.Object) error) error {
	return m.store.Objects(ctx, blob.Folder(folder), func(o blob.Object) error { return each(moving.Object(o)) })
}

// OpenObject opens an object.
func (m movable) OpenObject(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	content, size, err := m.store.OpenObject(ctx, key)
	return content, size, notFound(err)
}

// PutObject stores an object.
func (m movable) PutObject(ctx context.Context, key string, content io.Reader, size int64) error {
	return m.store.PutObject(ctx, key, content, size)
}

// readKeys reads those that there are.
func (d *dataFolder) readKeys() (map[string][]byte, error) {
	keys := map[string][]byte{}
	for _, name := range keyFiles {
		text, err := os.ReadFile(d.path(name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, usage("--data: %w", err)
		}
		keys[name] = text
	}
	return keys, nil
}
