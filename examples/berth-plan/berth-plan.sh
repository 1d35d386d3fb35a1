#!/bin/sh
# Gives ships their berths: the heaviest goes to the quay with the crane, the deepest to where the water is.
# An example of tasks that hand on values by $TIDEWHEEL_OUTPUT and take them as arguments.
set -eu

# ships writes the list below: name, tonnes, draught in metres.
ships() { sed '1,/^# --- ships ---$/d' "$0" | sed 's/^# //'; }

# most COLUMN NAME... writes the ship of the list with the most in a column, and what that is.
most() {
  column=$1
  ships | awk -F '\t' -v column="$column" -v named=",$2," 'index(named, "," $1 ",") && $column > most { most = $column; ship = $1 } END { print ship "\t" most }'
}

case "$1" in
arrivals)
  names=$(ships | cut -f 1 | paste -s -d , -)
  echo "ships=$names" >"$TIDEWHEEL_OUTPUT"
  echo "Arriving: $names"
  ;;
tonnage)
  found=$(most 2 "$2")
  echo "heaviest=${found%%	*}" >"$TIDEWHEEL_OUTPUT"
  echo "The heaviest is ${found%%	*} with ${found##*	} tonnes"
  ;;
draught)
  found=$(most 3 "$2")
  echo "deepest=${found%%	*}" >"$TIDEWHEEL_OUTPUT"
  echo "The deepest is ${found%%	*} with ${found##*	} metres"
  ;;
plan)
  echo "quay 3 (crane):     $2"
  echo "east (deep water):  $3"
  [ "$2" != "$3" ] || { echo "the same ship cannot lie at both" >&2; exit 65; }
  ;;
*)
  echo "say arrivals, tonnage, draught or plan, not $1" >&2
  exit 64
  ;;
esac
exit 0
# --- ships ---
# Anne Marie	1840	4.1
# Nordlys	6120	6.4
# Bonny Rover	12400	7.9
# Wilhelmine	2240	4.6
# Hoopstad	4675	8.3
