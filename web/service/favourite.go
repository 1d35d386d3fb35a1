package service

import (
	"cmp"
	"context"
	"slices"

	"github.com/tidewheel/tidewheel/access"
)

const (
	kindFavourites = "favourites" // records, by namespace and user
	// mostFavourites is how many a user may have in a namespace.
	mostFavourites = 200
)

// Favourite is a job or a DAG that a user has starred. It is known by its name: what is made anew under it is one, too.
type Favourite struct {
	Kind string `json:"kind"` // "job" or "dag"
	Name string `json:"name"`
}

// userOf is whose favourites and settings a request is about: the owner of a token, and one and the same for all while
// authentication is off.
func userOf(ctx context.Context) string {
	identity := access.From(ctx)
	return cmp.Or(identity.User, identity.Name)
}

// Favourites returns those of the user of a request in a namespace, by kind and name.
func (s *Service) Favourites(ctx context.Context, namespace string) ([]Favourite, error) {
	_, starred, err := readRecord[[]Favourite](ctx, s.store, kindFavourites, namespace+"/"+userOf(ctx))
	return starred, err
}

// FavouriteNames returns the names of those of one kind.
func (s *Service) FavouriteNames(ctx context.Context, namespace, kind string) (map[string]bool, error) {
	starred, err := s.Favourites(ctx, namespace)
	names := map[string]bool{}
	for _, one := range starred {
		if one.Kind == kind {
			names[one.Name] = true
		}
	}
	return names, err
}

// Favour stars a job or a DAG for the user of a request, or takes the star away; both may be asked for twice.
func (s *Service) Favour(ctx context.Context, namespace string, one Favourite, on bool) error {
	if on {
		var err error
		switch one.Kind {
		case "job":
			_, err = s.Jobs.Get(ctx, namespace, one.Name)
		case "dag":
			_, err = s.DAGs.Get(ctx, namespace, one.Name)
		default:
			err = field("kind_unknown", "path.kind", "a favourite is a job or a dag, not %q", one.Kind)
		}
		if err != nil {
			return err
		}
	}
	_, err := changeRecord(ctx, s, kindFavourites, namespace+"/"+userOf(ctx), 0, func(starred []Favourite) ([]Favourite, error) {
		starred = slices.DeleteFunc(starred, func(other Favourite) bool { return other == one })
		if !on {
			return starred, nil
		}
		if len(starred) >= mostFavourites {
			return nil, conflict("favourites_full", "you have %d favourites already: take the star off another one first", mostFavourites)
		}
		starred = append(starred, one)
		slices.SortFunc(starred, func(a, b Favourite) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
		return starred, nil
	})
	return err
}
