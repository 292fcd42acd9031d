#!/bin/sh
# What the tests of the console need beyond npm: Debian's Chromium. Does nothing where there is one.
set -eu
if command -v chromium >/dev/null; then exit 0; fi
if [ "$(id -u)" -ne 0 ]; then exec sudo "$0"; fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium
