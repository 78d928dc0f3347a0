#!/bin/sh
# Creates the secrets of the compose file; existing files are kept.
set -eu
cd "$(dirname "$0")"
mkdir -p secrets
# Containers read them as different users, so the files are world-readable inside a private folder.
chmod 700 secrets

random() { od -An -v -tx1 -N"$1" /dev/urandom | tr -d ' \n'; }
keep() {
  if [ -e "secrets/$1" ]; then return; fi
  printf '%s\n' "$2" >"secrets/$1"
  chmod 644 "secrets/$1"
}

keep postgres_password "$(random 24)"
keep database_url "postgres://gateway:$(cat secrets/postgres_password)@postgres:5432/gateway"
keep redis_password "$(random 24)"
keep redis_url "redis://:$(cat secrets/redis_password)@valkey:6379/0"
keep valkey_conf "$(printf 'requirepass %s\nsave ""\nappendonly no\nmaxmemory-policy noeviction\ndir /data' "$(cat secrets/redis_password)")"
keep admin_token "$(random 32)"
keep master_key "$(random 32)"
echo "Secrets are in $(pwd)/secrets. Keep a copy of master_key apart from the database: without it sealed data does not open."
