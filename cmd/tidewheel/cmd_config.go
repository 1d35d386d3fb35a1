package main

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// setting is one setting of the server, with where it comes from.
type setting struct {
	Name   string `json:"name"`
	Value  any    `json:"value"`
	Source string `json:"source"` // flag, environment, file or default
}

func (c *cli) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show the server's settings"}
	show := &cobra.Command{
		Use:   "show",
		Short: "Show the effective settings of `tidewheel server` and their sources",
		Long: `Show the settings that ` + "`tidewheel server`" + ` would have if it were started now with the same flags,
environment and file, and where each comes from. Secrets are not shown.`,
		Example: "  tidewheel config show\n  tidewheel config show --config tidewheel.yaml -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := c.serverConfig(cmd)
			if err != nil {
				return err
			}
			if err := config.validate(); err != nil {
				return err
			}
			all, err := c.settings(cmd.Flags())
			if err != nil {
				return err
			}
			return c.print(map[string]any{"items": all}, func(w io.Writer) {
				t := newTable(w, "SETTING", "VALUE", "FROM")
				for _, s := range all {
					t.row(s.Name, s.Value, s.Source)
				}
				t.flush()
			})
		},
	}
	serverFlags(show.Flags())
	cmd.AddCommand(show)
	return cmd
}

func (c *cli) settings(flags *pflag.FlagSet) ([]setting, error) {
	v, err := settings(flags)
	if err != nil {
		return nil, err
	}
	var all []setting
	for _, name := range settingNames(flags) {
		s := setting{Name: name, Value: v.Get(name), Source: sourceOf(v, flags, name)}
		if list, ok := s.Value.([]string); ok {
			s.Value = strings.Join(list, ",")
		}
		if text, ok := s.Value.(string); ok {
			switch {
			case text != "" && slices.Contains(secretSettings, name):
				s.Value = "(set)"
			default:
				s.Value = withoutPassword(text)
			}
		}
		all = append(all, s)
	}
	return all, nil
}

const sourceDefault = "default"

// sourceOf returns what made a setting: flag, environment, file or default.
func sourceOf(v *viper.Viper, flags *pflag.FlagSet, name string) string {
	environment := os.Getenv(variableOf(name)) + os.Getenv(standardVariables[name])
	switch {
	case flags.Changed(name):
		return "flag"
	case environment != "": // an empty one makes nothing
		return "environment"
	case v.InConfig(name):
		return "file"
	}
	return sourceDefault
}

// withoutPassword takes the password out of a URL or a list of them.
func withoutPassword(text string) string {
	parts := strings.Split(text, ",")
	for i, part := range parts {
		scheme, rest, found := strings.Cut(part, "://")
		if !found {
			continue
		}
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			user, _, _ := strings.Cut(rest[:at], ":")
			parts[i] = scheme + "://" + user + ":(secret)" + rest[at:]
		}
	}
	return strings.Join(parts, ",")
}
