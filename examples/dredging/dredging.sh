#!/bin/sh
# Deepens a fairway, and fails. An example of a task that fails, of one that is not run because of it, and of those that
# run all the same: their trigger rules say so.
set -eu

case "$1" in
close)
  echo "fairway=north channel" >"$TIDEWHEEL_OUTPUT"
  echo "The north channel is closed"
  ;;
dredge)
  echo "::progress 0.4 at buoy 7"
  echo "aground at buoy 7, attempt $TIDEWHEEL_ATTEMPT" >&2
  exit 1
  ;;
sound) echo "The channel is 9.5 metres deep" ;;
alarm) echo "The harbour master is notified: the dredger is aground, run $TIDEWHEEL_RUN_ID" ;;
open) echo "The $2 is open again" ;;
*)
  echo "say close, dredge, sound, alarm or open, not $1" >&2
  exit 64
  ;;
esac
