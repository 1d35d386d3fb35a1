#!/usr/bin/env bash
# Makes the secrets of docker-compose.yml, each in a file of its own; those that exist stay as they are.
# Usage: deploy/compose/make-secrets.sh [FOLDER]   (default: secrets beside this script)
# The keys are made by tidewheel: the one that $TIDEWHEEL names or the path has, else that of the image, which is built for it.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

folder=${1:-$(dirname "${BASH_SOURCE[0]}")/secrets}
# Nobody else on this machine gets into the folder. The files themselves can be read, since Docker Compose mounts them as
# they are, and the users in the containers are others than you.
mkdir -p "$folder"
chmod 0700 "$folder"
cd "$folder"

random() { # BYTES: as hexadecimal digits
  head -c "$1" /dev/urandom | od -An -v -tx1 | tr -d ' \n'
}

tidewheel() { # ARGUMENT...
  if [ -n "${TIDEWHEEL:-}" ]; then
    "$TIDEWHEEL" "$@"
  elif type -P tidewheel >/dev/null; then
    command tidewheel "$@"
  else
    docker run --rm -i "$(docker build -q -f "$root/deploy/Dockerfile" --target server "$root")" "$@"
  fi
}

keep() { # FILE: writes what comes in, whole or not at all, unless the file is there
  if [ -e "$1" ]; then
    cat >/dev/null
    return
  fi
  cat >".new-$1"
  chmod 0444 ".new-$1"
  mv ".new-$1" "$1"
  echo "made $folder/$1"
}

echo "tw_$(random 24)" | keep token
echo "tw_$(random 24)" | keep metrics-token
random 16 | keep grafana-admin-password

# Engines sign tasks with task-key; executors verify them by task-keys. Values of secrets are sealed with secrets-key.
[ -e task-key ] || tidewheel task-key new | keep task-key
[ -e task-keys ] || tidewheel task-key public - <task-key | keep task-keys
[ -e secrets-key ] || tidewheel secret new-key | keep secrets-key

random 512 | keep mongodb-keyfile
random 24 | keep mongodb-root-password
random 24 | keep mongodb-password
keep mongodb-uri <<END
mongodb://tidewheel:$(cat mongodb-password)@mongodb-1:27017,mongodb-2:27017,mongodb-3:27017/tidewheel?replicaSet=tidewheel&authSource=admin
END

echo "tidewheel:$(random 24)" | keep nats-credentials
keep nats-clients.conf <<END
users: [{user: "tidewheel", password: "$(cut -d: -f2 nats-credentials)"}]
END
random 24 | keep nats-routes-password
routes=$(cat nats-routes-password)
keep nats-routes.conf <<END
authorization: {user: "route", password: "$routes"}
routes: [
  "nats-route://route:$routes@nats-1:6222"
  "nats-route://route:$routes@nats-2:6222"
  "nats-route://route:$routes@nats-3:6222"
]
END

random 10 | keep s3-access-key
random 24 | keep s3-secret-key
