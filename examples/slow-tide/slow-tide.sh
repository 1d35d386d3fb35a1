#!/bin/sh
# Draws the tide, a line each second, with progress. An example to watch live; SIGTERM ends it in good order.
set -eu
seconds=${1:-30}
trap 'echo "asked to stop: the tide goes out"; exit 143' TERM
i=0
while [ "$i" -lt "$seconds" ]; do
  awk -v i="$i" 'BEGIN { n = int(20 + 18 * sin(i / 4)); s = ""; while (n-- > 0) s = s "~"; printf "%3d %s\n", i, s }'
  i=$((i + 1))
  echo "::progress $(awk -v a="$i" -v b="$seconds" 'BEGIN { printf "%.2f", a / b }') $i of $seconds waves"
  sleep 1 &
  wait $!
done
echo "slack water"
