package service

import (
	"context"
	"time"
)

const kindProfiles = "profiles" // records, by user

// Profile is how a user wants pages to be, on any machine.
type Profile struct {
	// Zone is the IANA name of the zone that times are shown in; "" is that of the browser.
	Zone string `json:"zone,omitempty"`
	// Theme is light or dark; "" is that of the browser.
	Theme string `json:"theme,omitempty"`
}

// Profile returns that of the user of a request.
func (s *Service) Profile(ctx context.Context) (Profile, error) {
	_, profile, err := readRecord[Profile](ctx, s.store, kindProfiles, userOf(ctx))
	return profile, err
}

// SetProfile changes the profile of the user of a request.
func (s *Service) SetProfile(ctx context.Context, change func(*Profile)) (Profile, error) {
	return changeRecord(ctx, s, kindProfiles, userOf(ctx), 0, func(profile Profile) (Profile, error) {
		change(&profile)
		if profile.Zone != "" {
			if _, err := time.LoadLocation(profile.Zone); err != nil || profile.Zone == "Local" {
				return profile, field("zone_unknown", "body.zone", "there is no time zone %q: write a name such as Europe/Berlin, or leave it empty for that of the browser", profile.Zone)
			}
		}
		if profile.Theme != "" && profile.Theme != "light" && profile.Theme != "dark" {
			return profile, field("theme_unknown", "body.theme", "a theme is light or dark, or empty for that of the browser")
		}
		return profile, nil
	})
}
