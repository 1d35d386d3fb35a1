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
    docker run --rm -i -u "$(id -u):$(id -g)" -v "$PWD:/secrets" -w /secrets "$(docker build -q -f "$root/deploy/Dockerfile" --target server "$root")" "$@"
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

# Engines sign tasks with task-key. Values of secrets are sealed with secrets-key.
[ -e task-key ] || tidewheel task-key new | keep task-key
[ -e secrets-key ] || tidewheel secret new-key | keep secrets-key

random 512 | keep mongodb-keyfile
random 24 | keep mongodb-root-password
random 24 | keep mongodb-password
keep mongodb-uri <<END
mongodb://tidewheel:$(cat mongodb-password)@mongodb-1:27017,mongodb-2:27017,mongodb-3:27017/tidewheel?replicaSet=tidewheel&authSource=admin
END

# Engines and web nodes are users of the NATS by nats-engine.creds. Executors enrol with the join token of their tier, and get
# credentials for it that are signed with nats-account-key.
if ! [ -e nats-operator.conf ]; then
  rm -rf .new-nats
  tidewheel executor nats-operator --out .new-nats >/dev/null
  chmod 0444 .new-nats/*
  mv -f .new-nats/account.nk nats-account-key
  mv -f .new-nats/engine.creds nats-engine.creds
  mv -f .new-nats/operator.conf nats-operator.conf
  rmdir .new-nats
  echo "made $folder/nats-operator.conf, nats-account-key and nats-engine.creds"
fi
for tier in light medium heavy; do
  echo "twj_$(random 24)" | keep "join-token-$tier"
done
keep join-tokens <<END
light $(cat join-token-light)
medium $(cat join-token-medium)
heavy $(cat join-token-heavy)
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
