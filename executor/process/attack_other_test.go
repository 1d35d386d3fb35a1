//go:build !linux

package process_test

import "errors"

func capable(string) error      { return errors.New("this system knows no capabilities") }
func swap(string, string) error { return errors.New("this system cannot exchange names") }
