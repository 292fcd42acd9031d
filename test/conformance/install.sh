#!/bin/sh
# What the comparison needs beside the project: Redis from Debian's packages, and the own packages of middlewares and of servers for agents.
set -eu
cd "$(dirname "$0")"
if ! command -v redis-server >/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq redis-server
fi
npm ci --prefix peers --no-audit --no-fund
npm ci --prefix peers/agents --no-audit --no-fund
