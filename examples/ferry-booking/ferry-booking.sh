#!/bin/sh
# Books a crossing. The first attempt finds the booking office closed and asks to be tried again (exit 75, EX_TEMPFAIL);
# the idempotency key, the same for every attempt, is what a real office would use to book only once.
set -eu
echo "booking ${TIDEWHEEL_IDEMPOTENCY_KEY:-manual}, attempt ${TIDEWHEEL_ATTEMPT:-1}, fencing token ${TIDEWHEEL_FENCING_TOKEN:-none}"
if [ "${TIDEWHEEL_ATTEMPT:-1}" -lt 2 ]; then
  echo "the office is closed: asking to be tried again" >&2
  exit 75
fi
echo "booked: ferry of $(date -u -d "@$(( $(date +%s) / 3600 * 3600 + 3600 ))" +%H:%M 2>/dev/null || date -u +%H:00) UTC, two passengers, one bicycle"
