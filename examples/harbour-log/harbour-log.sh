#!/bin/sh
# Sums up the harbour master's log: arrivals, tonnage and hours alongside for each berth.
# An example of a shell program that Tidewheel runs. The log stands at the end of this file.
set -eu

echo "Harbour log, slot ${TIDEWHEEL_SLOT:-none}, attempt ${TIDEWHEEL_ATTEMPT:-1}"
sed '1,/^# --- log ---$/d' "$0" | sed 's/^# //' | awk '
  BEGIN { FS = "\t" }
  NF == 5 {
    calls[$3]++; tonnes[$3] += $4; hours[$3] += $5; ships++; total += $4
    if ($4 > largest) { largest = $4; name = $2 }
  }
  END {
    if (ships == 0) { print "the log holds no line"; exit 65 }
    printf "%-8s %6s %10s %8s\n", "berth", "calls", "tonnes", "hours"
    for (berth in calls) printf "%-8s %6d %10d %8.1f\n", berth, calls[berth], tonnes[berth], hours[berth] | "sort"
    close("sort")
    printf "\n%d ships, %d tonnes; the largest was %s with %d\n", ships, total, name, largest
  }'
exit 0
# --- log ---
# 2026-11-02	Anne Marie	east	1840	11.5
# 2026-11-02	Nordlys	west	6120	20
# 2026-11-03	Gezina	east	980	6.25
# 2026-11-03	Bonny Rover	quay 3	12400	31
# 2026-11-04	Nordlys	west	6120	18.5
# 2026-11-05	Sankt Peter	quay 3	8800	22.75
# 2026-11-05	Little Auk	east	310	3
# 2026-11-06	Wilhelmine	east	2240	13
# 2026-11-07	Bonny Rover	quay 3	12150	29.5
# 2026-11-07	Anne Marie	west	1840	9
# 2026-11-08	Hoopstad	west	4675	16.25
# 2026-11-09	Little Auk	east	295	2.5
