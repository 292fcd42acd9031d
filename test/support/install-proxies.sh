#!/bin/sh
# What the tests of self-hosting and of claims need beyond npm: Debian's nginx and HAProxy, Redis and kafkacat (a Kafka cluster is in
# it), installed but not started as services. Does nothing where they are.
set -eu
if [ -x /usr/sbin/nginx ] && [ -x /usr/sbin/haproxy ] && [ -x /usr/bin/redis-server ] && [ -x /usr/bin/kcat ]; then exit 0; fi
if [ "$(id -u)" -ne 0 ]; then exec sudo "$0"; fi
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nginx haproxy redis-server kafkacat
