#!/bin/sh
# Keeps one dockerd of our own, and takes it away with everything that it made: containers, mounts, cgroups, sockets, folders. It is what
# docker.ts starts, in a mount namespace of its own; it ends on SIGTERM, which it also gets when whoever started it is killed.
# A dockerd that ends by itself has failed: then the log stays, for docker.ts to read.
#
#   keep-docker.sh FOLDER CGROUP dockerd ARGS…
set -u

folder=$1
group=$2
shift 2

# what dockerd and containerd write beside the folders that they are given. Here, nobody else sees it.
made=
for place in /etc/docker /run/docker /run/containerd; do
  [ -d "$place" ] || { mkdir -p "$place" && made="$made $place"; }
  mount -t tmpfs -o mode=0711 tmpfs "$place" || exit 1
done

is_asked=
daemon=
stop() {
  is_asked=yes
  # dockerd would wait ten seconds for each program that does not mind SIGTERM
  containers=$(timeout 10 docker --host "unix://$folder/docker.sock" ps --all --quiet)
  # shellcheck disable=SC2086 # one word per container
  [ -z "$containers" ] || timeout 20 docker --host "unix://$folder/docker.sock" rm --force $containers >/dev/null
  # a network is a bridge of this machine, and dockerd leaves it when it ends
  timeout 10 docker --host "unix://$folder/docker.sock" network prune --force >/dev/null
  [ -z "$daemon" ] || kill -TERM "$daemon"
}
trap stop TERM INT HUP

# told to end, it has 25 seconds; then `timeout` kills it
timeout --foreground --kill-after 25 0 "$@" &
daemon=$!
[ -z "$is_asked" ] || kill -TERM "$daemon"
# a signal ends `wait` before its time
while kill -0 "$daemon" 2>/dev/null; do wait "$daemon"; done

# whatever outlived it: containers' programs are in its cgroups
for mounted in $(awk '$3 ~ /^cgroup/ { print $2 }' /proc/mounts); do
  [ -d "$mounted/$group" ] || continue
  tries=0
  while [ -d "$mounted/$group" ] && [ "$tries" -lt 50 ]; do
    find "$mounted/$group" -name cgroup.procs -exec cat {} + 2>/dev/null | xargs -r kill -KILL 2>/dev/null
    find "$mounted/$group" -depth -type d -exec rmdir {} + 2>/dev/null
    [ -d "$mounted/$group" ] && sleep 0.1
    tries=$((tries + 1))
  done
done
awk -v below="$folder/" 'index($2, below) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r umount --lazy
umount --lazy /etc/docker /run/docker /run/containerd
# shellcheck disable=SC2086 # one word per folder
[ -z "$made" ] || rmdir $made 2>/dev/null
rm -rf "$folder/data" "$folder/exec"
[ -z "$is_asked" ] || rm -rf "$folder"
[ -n "$is_asked" ]
