#!/bin/sh
# What the tests of the metrics need beyond npm: Debian's Prometheus, two programs unpacked into the folder that is named.
# The package itself is not installed: that would start a server on the machine.
set -eu
mkdir -p "$1"
cd "$1"
if [ -x usr/bin/prometheus ] && [ -x usr/bin/promtool ]; then exit 0; fi
if ! apt-get download -qq prometheus 2>/dev/null; then
  if [ "$(id -u)" -eq 0 ]; then apt-get update -qq; else sudo apt-get update -qq; fi
  apt-get download -qq prometheus
fi
dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/prometheus ./usr/bin/promtool
rm prometheus_*.deb
