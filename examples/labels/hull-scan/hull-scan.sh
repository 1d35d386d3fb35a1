#!/bin/sh
# One step of a scan: hull-scan.sh plan | scan LINES | report HOST SPOTS
set -eu
case $1 in
plan)
	echo "lines=7" >>"$TIDEWHEEL_OUTPUT"
	echo "7 lines to sail, 4 m apart"
	;;
scan)
	spots=0
	line=1
	while [ "$line" -le "$2" ]; do
		echo "::progress $(awk "BEGIN {print $line / $2}") line $line of $2"
		[ $((line % 3)) -ne 0 ] || spots=$((spots + 1))
		line=$((line + 1))
	done
	printf 'spots=%s\nhost=%s\n' "$spots" "$(uname -n)" >>"$TIDEWHEEL_OUTPUT"
	echo "$2 lines scanned, $spots spots to look at"
	;;
report)
	echo "$3 spots to look at, scanned on $2"
	;;
*)
	echo "there is no step $1" >&2
	exit 64
	;;
esac
