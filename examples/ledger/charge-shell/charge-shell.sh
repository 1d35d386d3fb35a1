#!/bin/sh
# Charges customers, each exactly once a run, however often it is killed on the way.
# Needs curl. CUSTOMERS are their names, ACCOUNT is a file that gets a line for each charge, PAUSE is how many seconds
# it waits before each step, to have time to kill it.
set -eu
: "${TIDEWHEEL_RUN_TOKEN:?this server does not tell jobs where its API is}"

# --- the client: ask METHOD KEY [RESULT] prints the HTTP status; what was answered is in the file "answer".
ask() {
  # The token goes in by a pipe, because everybody can read the arguments of a process.
  printf 'header = "Authorization: Bearer %s"\n' "$TIDEWHEEL_RUN_TOKEN" |
    curl --config - --silent --show-error --max-time 10 --retry 5 --retry-connrefused \
      --request "$1" --data "${3:-}" --header 'Content-Type: application/json' \
      --output answer --write-out '%{http_code}' "$TIDEWHEEL_API/effects/$2"
}

# once KEY LOOK DO: runs DO, unless that was done, and says so to the ledger. LOOK is asked where an attempt before may
# have come so far: its status is 0 where it was done, 1 where not. Both print the result, as JSON.
once() {
  status=$(ask POST "$1") || exit 75
  case $status in
    201) result=$($3 "$1") ;; # no attempt has begun: do it
    200) result=$($2 "$1") || { [ $? -eq 1 ] || exit 75; result=$($3 "$1"); } ;; # an earlier attempt may have done it: look
    409) grep -q '"code":"effect_done"' answer && return 0 || exit 75 ;;
    412) echo "another attempt has taken over" >&2; exit 75 ;;
    *) cat answer >&2; exit 75 ;;
  esac
  pause
  status=$(ask PUT "$1" "$result") || exit 75
  [ "$status" = 200 ] || { cat answer >&2; exit 75; }
}

# --- what it is for.
pause() { sleep "${PAUSE:-0}"; }

charged() { # KEY
  pause
  grep -q "^$TIDEWHEEL_RUN_ID/$1 " "$ACCOUNT" && echo '{"charged": 100, "found": true}'
}

charge() { # KEY
  pause
  echo "$TIDEWHEEL_RUN_ID/$1 100 $TIDEWHEEL_ATTEMPT $TIDEWHEEL_FENCING_TOKEN" >>"$ACCOUNT"
  echo '{"charged": 100}'
}

for customer in $CUSTOMERS; do
  pause
  once "charge-$customer" charged charge
  echo "$customer is charged"
done
