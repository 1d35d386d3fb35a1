package main

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	oidc "github.com/tidewheel/tidewheel/web/issuer"
)

// oidcSecret is a setting without a flag: the environment makes it, or a file of its own, so that no list of processes shows it.
const oidcSecret = "oidc-client-secret" //nolint:gosec // the name of a setting

// oidcSettings are the settings that are about the provider of OpenID Connect.
var oidcSettings = []string{"oidc-issuer", "oidc-client-id", oidcSecret + secretFile, "oidc-groups-claim", "oidc-role", "oidc-redirect-url"}

func oidcFlags(flags *pflag.FlagSet) {
	flags.String("oidc-issuer", "", "let users sign in at this provider of OpenID Connect, such as https://id.example.com/realms/main")
	flags.String("oidc-client-id", "", "what the provider knows this server as")
	flags.String(oidcSecret+secretFile, "", "file of the client's secret (or TIDEWHEEL_OIDC_CLIENT_SECRET; none for a public client)")
	flags.String("oidc-groups-claim", "groups", "claim of the ID token, or of the user info, that lists a user's groups")
	flags.StringArray("oidc-role", nil, "role that a group gives, as GROUP=ROLE for all namespaces or GROUP=ROLE@NAMESPACE; any number of times (in the environment with ; between them)")
	flags.String("oidc-redirect-url", "", "where the provider sends browsers back to, which ends in "+oidc.CallbackPath+" (default at the address that the browser uses)")
}

// oidcSetting reads the settings of the provider.
func oidcSetting(v *viper.Viper) (oidc.Config, error) {
	config := oidc.Config{
		Issuer: v.GetString("oidc-issuer"), ClientID: v.GetString("oidc-client-id"),
		GroupsClaim: v.GetString("oidc-groups-claim"), RedirectURL: v.GetString("oidc-redirect-url"),
	}
	config.ClientSecret = v.GetString(oidcSecret)
	if path := v.GetString(oidcSecret + secretFile); path != "" {
		if config.ClientSecret != "" {
			return oidc.Config{}, usage("TIDEWHEEL_OIDC_CLIENT_SECRET and --%s say the same thing: give one of them", oidcSecret+secretFile)
		}
		var err error
		if config.ClientSecret, err = readSecret("--"+oidcSecret+secretFile, path); err != nil {
			return oidc.Config{}, err
		}
	}
	for _, text := range oidcRoles(v) {
		role, err := oidc.ParseGroupRole(text)
		if err != nil {
			return oidc.Config{}, usage("--oidc-role %q: %w", text, err)
		}
		config.Roles = append(config.Roles, role)
	}
	return config, nil
}

// oidcRoles lists what --oidc-role says. Groups may have blanks and commas in their names, so the environment has ; between them.
func oidcRoles(v *viper.Viper) (roles []string) {
	given := v.GetStringSlice("oidc-role")
	if text, one := v.Get("oidc-role").(string); one {
		given = strings.Split(text, ";")
	}
	for _, text := range given {
		if text = strings.TrimSpace(text); text != "" {
			roles = append(roles, text)
		}
	}
	return roles
}

// validateOIDC refuses a provider that no user could sign in with, and settings without a provider.
func (c *ServerConfig) validateOIDC() error {
	given := &c.OIDC
	if given.Issuer == "" {
		if given.ClientID != "" || given.ClientSecret != "" || given.RedirectURL != "" || len(given.Roles) > 0 {
			return usage("--oidc-client-id, --oidc-client-secret-file, --oidc-role and --oidc-redirect-url: for a provider, which --oidc-issuer names: give it, or leave them out")
		}
		return nil
	}
	switch address, err := url.Parse(given.Issuer); {
	case !c.Auth:
		return usage("--oidc-issuer: with --auth off no user signs in: leave one of them out")
	case err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http":
		return usage("--oidc-issuer: %q is not a URL such as https://id.example.com/realms/main", given.Issuer)
	case address.Scheme == "http" && !loopback(address.Hostname()):
		return usage("--oidc-issuer: %s would send the client's secret and what it says about users in the clear: use https", given.Issuer)
	case address.RawQuery != "" || address.Fragment != "":
		return usage("--oidc-issuer: %s has a ? or a #, which an issuer has not: give the address that its tokens have as iss", given.Issuer)
	case given.ClientID == "":
		return usage("--oidc-client-id: --oidc-issuer needs it: give the ID that the provider has for this server")
	case len(given.Roles) == 0:
		return usage("--oidc-role: without one users who sign in at %s have no rights: map a group, such as --oidc-role admins=admin", given.Issuer)
	case given.GroupsClaim == "":
		return usage("--oidc-groups-claim: name the claim that lists a user's groups, such as groups")
	}
	if given.RedirectURL == "" {
		return nil
	}
	back, err := url.Parse(given.RedirectURL)
	if err != nil || back.Host == "" || back.Scheme != "https" && back.Scheme != "http" || back.Path != oidc.CallbackPath || back.RawQuery != "" {
		return usage("--oidc-redirect-url: %q is not the address of this server with %s, such as https://tidewheel.example.com%[2]s", given.RedirectURL, oidc.CallbackPath)
	}
	return nil
}

// oidcProvider makes the provider, and asks it about itself once, for the log: users may sign in later, or otherwise.
func (s *Server) oidcProvider() *oidc.Provider {
	provider := oidc.New(s.config.OIDC)
	s.parts.add("the provider of OpenID Connect", func(ctx context.Context) error {
		if err := provider.Discover(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("the provider of OpenID Connect does not answer as it should; it is asked again when a user signs in",
				"issuer", provider.Issuer(), "error", errors.Unwrap(err))
		}
		return nil
	})
	return provider
}
