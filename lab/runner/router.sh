#!/bin/sh
# What the router image does when it starts, with the routers of the Debian it runs on: FRR where its file is, BIRD where its is,
# else nothing. When a router ends, so does the container.
set -eu

start_frr() {
  install -d -o frr -g frr /run/frr
  /usr/lib/frr/zebra -A 127.0.0.1 --log stdout -f /dev/null &
  zebra=$!
  wait_for /run/frr/zserv.api "$zebra"
  /usr/lib/frr/bgpd -A 127.0.0.1 --log stdout -f /dev/null &
  bgpd=$!
  wait_for /run/frr/bgpd.vty "$bgpd"
  # the one file of all daemons: each line goes to those that it concerns
  vtysh -b
  wait "$bgpd"
}

wait_for() {
  tries=0
  until [ -S "$1" ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 200 ] || ! kill -0 "$2" 2>/dev/null; then
      echo "$1 did not appear" >&2
      exit 1
    fi
    sleep 0.05
  done
}

if [ -e /etc/frr/frr.conf ]; then
  start_frr
elif [ -e /etc/bird/bird.conf ]; then
  mkdir -p /run/bird
  exec /usr/sbin/bird -f
else
  exec sleep infinity
fi
