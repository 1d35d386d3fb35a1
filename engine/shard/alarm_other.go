//go:build !linux

package shard

import "errors"

func newExactAlarm() (alarm, error) { return nil, errors.New("it is not Linux") }
