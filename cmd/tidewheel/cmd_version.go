package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
)

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			value := map[string]any{
				"version": version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH, "data_layout": dataVersion,
			}
			return c.print(value, func(w io.Writer) {
				fmt.Fprintf(w, "tidewheel %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			})
		},
	}
}
