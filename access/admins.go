package access

import (
	"context"
	"errors"

	"github.com/tidewheel/tidewheel/engine"
)

// admins is the data of the one record of kindAdmins: who is admin for all namespaces, and from which revision of their user's
// record on. An entry counts once that revision is written and as long as the user is enabled and has the role.
//
// An admin enters before the record of the user makes them one, and leaves before it makes them none. So of two admins who take
// the role from each other at the same time, one finds this record changed, and then no other admin.
type admins map[string]int64

func (d *Directory) readAdmins(ctx context.Context) (engine.Record, admins, error) {
	list := admins{}
	record, err := d.read(ctx, kindAdmins, Everywhere, &list)
	if errors.Is(err, engine.ErrNotFound) {
		return engine.Record{Kind: kindAdmins, Key: Everywhere}, list, nil
	}
	return record, list, err
}

// counts reports whether one of the list is an admin by now.
func (d *Directory) counts(ctx context.Context, list admins) (bool, error) {
	for name, from := range list {
		user, err := d.readUser(ctx, name)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return false, err
		}
		if err == nil && user.isAdmin() && user.revision >= from {
			return true, nil
		}
	}
	return false, nil
}

// HasAdmin reports whether there is an enabled user who is admin for all namespaces.
func (d *Directory) HasAdmin(ctx context.Context) (bool, error) {
	_, list, err := d.readAdmins(ctx)
	if err != nil {
		return false, err
	}
	return d.counts(ctx, list)
}

// addAdmin enters a user whose next revision is an admin's.
func (d *Directory) addAdmin(ctx context.Context, user *storedUser) error {
	for {
		record, list, err := d.readAdmins(ctx)
		if err != nil {
			return err
		}
		if from, listed := list[user.Name]; listed && from < user.revision {
			return nil
		}
		list[user.Name] = user.revision
		record.Revision++
		if err := d.write(ctx, record, list); !lost(err) {
			return err
		}
	}
}

// dropAdmin takes a user from the list; ErrLastAdmin.
func (d *Directory) dropAdmin(ctx context.Context, name string) error {
	for {
		record, list, err := d.readAdmins(ctx)
		if err != nil {
			return err
		}
		_, listed := list[name]
		delete(list, name)
		remain, err := d.counts(ctx, list)
		switch {
		case err != nil:
			return err
		case !remain:
			return ErrLastAdmin
		case !listed:
			return nil
		}
		record.Revision++
		if err := d.write(ctx, record, list); !lost(err) {
			return err
		}
	}
}
