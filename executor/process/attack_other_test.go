//go:build !linux

package process_test

import "errors"

func capable(string, string) error { return errors.New("this system knows no capabilities") }
func swap(string, string) error    { return errors.New("this system cannot exchange names") }
func attackRemoval(string) error   { return errors.New("this system cannot exchange names") }
func removeClosed(string) error    { return errors.New("this is tested on Linux only") }

func attackDomain([]string) error       { return errors.ErrUnsupported }
func attackMount(string) error          { return errors.ErrUnsupported }
func maskProc() error                   { return errors.ErrUnsupported }
func attackCover(string) error          { return errors.ErrUnsupported }
func workHonestly(string, string) error { return errors.ErrUnsupported }
