#!/bin/sh
# What the benchmark needs beside the project: wrk, Redis and Valgrind from Debian's packages, and the peer's own packages.
set -eu
cd "$(dirname "$0")"
if ! command -v wrk >/dev/null || ! command -v redis-server >/dev/null || ! command -v valgrind >/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq wrk redis-server valgrind
fi
npm ci --prefix peer --no-audit --no-fund
