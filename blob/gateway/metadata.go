package gateway

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/versity/versitygw/backend/meta"
)

// metadataFolder is the name, inside the data folder, of the folder that takes
// object metadata where the file system has no extended attributes.
const metadataFolder = "s3-meta"

// openMetadata chooses where object metadata lives: in extended attributes
// where the file system has them, else in files beside the objects. A folder
// that began with files keeps to them, so that a data folder moved to another
// file system stays readable.
func openMetadata(dir, objects string, avoidAttributes bool) (meta.MetadataStorer, error) {
	sidecar := filepath.Join(dir, metadataFolder)
	_, err := os.Stat(sidecar)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("gateway: look for %s: %w", sidecar, err)
	}
	if err != nil && !avoidAttributes && attributesWork(objects) {
		return meta.XattrMeta{}, nil
	}
	if err := os.MkdirAll(sidecar, 0o700); err != nil {
		return nil, fmt.Errorf("gateway: make metadata folder: %w", err)
	}
	files, err := meta.NewSideCar(sidecar)
	if err != nil {
		return nil, fmt.Errorf("gateway: open metadata folder: %w", err)
	}
	return sidecarMetadata{files: files, root: objects}, nil
}

// attributesWork tries to set an attribute rather than ask for one, because
// some file systems read attributes but refuse to write them.
func attributesWork(dir string) bool {
	file, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return false
	}
	defer os.Remove(file.Name())
	defer file.Close()
	return meta.XattrMeta{}.StoreAttribute(file, "", "", "tidewheel", []byte("probe")) == nil
}

// sidecarMetadata takes the absolute folder off the bucket names that it is
// given (see backend.go), so that a data folder can be moved.
type sidecarMetadata struct {
	files meta.SideCar
	root  string
}

func (s sidecarMetadata) relative(bucket string) string {
	return strings.TrimPrefix(strings.TrimPrefix(bucket, s.root), string(filepath.Separator))
}

func (s sidecarMetadata) RetrieveAttribute(f *os.File, bucket, object, attribute string) ([]byte, error) {
	return s.files.RetrieveAttribute(f, s.relative(bucket), object, attribute)
}

func (s sidecarMetadata) StoreAttribute(f *os.File, bucket, object, attribute string, value []byte) error {
	return s.files.StoreAttribute(f, s.relative(bucket), object, attribute, value)
}

func (s sidecarMetadata) DeleteAttribute(bucket, object, attribute string) error {
	return s.files.DeleteAttribute(s.relative(bucket), object, attribute)
}

func (s sidecarMetadata) ListAttributes(bucket, object string) ([]string, error) {
	return s.files.ListAttributes(s.relative(bucket), object)
}

func (s sidecarMetadata) DeleteAttributes(bucket, object string) error {
	return s.files.DeleteAttributes(s.relative(bucket), object)
}

func (s sidecarMetadata) RenameObject(bucket, oldObject, newObject string) error {
	return s.files.RenameObject(s.relative(bucket), oldObject, newObject)
}
