#!/bin/sh
# What the comparison needs beside the project: Redis from Debian's packages, and the middlewares' own packages.
set -eu
cd "$(dirname "$0")"
if ! command -v redis-server >/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq redis-server
fi
npm ci --prefix peers --no-audit --no-fund
