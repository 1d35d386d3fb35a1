#!/bin/sh
# Hands on the station's tables as files: what it is asked for stands at its end. The third word, bulletin, writes what
# came of them. An example of tasks that hand on artifacts (files) and outputs (values).
set -eu

# table NAME writes the rows of a table below.
table() { sed "1,/^# --- $1 ---\$/d; /^# --- /,\$d" "$0" | sed 's/^# //'; }

case "$1" in
readings | weather)
  table "$1" >"$TIDEWHEEL_ARTIFACTS/$1.csv"
  rows=$(($(wc -l <"$TIDEWHEEL_ARTIFACTS/$1.csv") - 1))
  echo "rows=$rows" >"$TIDEWHEEL_OUTPUT"
  echo "$rows rows of $1, epoch ${TIDEWHEEL_EPOCH:-none}"
  ;;
bulletin)
  echo "Storm surge bulletin, slot ${TIDEWHEEL_SLOT:-none}"
  echo "The water stood up to $2 m above its prediction, with wind from the $3."
  ;;
*)
  echo "say readings, weather or bulletin, not $1" >&2
  exit 64
  ;;
esac
exit 0
# --- readings ---
# hour,height,predicted
# 0,1.42,1.31
# 1,2.08,1.90
# 2,2.71,2.44
# 3,3.05,2.66
# 4,3.01,2.52
# 5,2.64,2.09
# 6,1.90,1.47
# 7,1.11,0.84
# 8,0.52,0.37
# 9,0.31,0.24
# 10,0.48,0.40
# 11,0.92,0.81
# --- weather ---
# hour,wind,speed
# 0,south-west,9
# 1,south-west,11
# 2,west,14
# 3,west,17
# 4,north-west,20
# 5,north-west,21
# 6,north-west,18
# 7,west,15
# 8,west,12
# 9,south-west,9
# 10,south-west,8
# 11,south,6
