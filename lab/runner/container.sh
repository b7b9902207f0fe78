#!/bin/sh
# The inside of a "container" of the lab, in namespaces of its own (plan.ts): files that are only its own, then its program.
#
#   container.sh HOSTNAME [ro|rw SOURCE TARGET]… -- PROGRAM [ARGUMENT]…
#
# Nothing is written outside: /run is new, the other folders are seen through an overlay whose upper side is in that /run. Sources
# of binds are taken hold of first, since through an overlay a program would not hear of changes in them. All of it goes with
# the last process.
set -eu

hostname "$1"
shift
mount --make-rprivate /
mount -t proc proc /proc
own=/run/.lab
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p "$own/bind"
for folder in etc opt srv var; do
  mkdir -p "$own/upper/$folder" "$own/work/$folder"
done

number=0
binds=
while [ "$1" != -- ]; do
  mode=$1 source=$2 target=$3
  shift 3
  number=$((number + 1))
  held=$own/bind/$number
  if [ -d "$source" ]; then mkdir "$held"; else : >"$held"; fi
  mount --bind "$source" "$held"
  binds="$binds$mode $number $target
"
done
shift

for folder in etc opt srv var; do
  mount -t overlay overlay -o "lowerdir=/$folder,upperdir=$own/upper/$folder,workdir=$own/work/$folder" "/$folder"
done

# examples of Debian's packages, which the router image does not have: a router runs where its file is bound
rm -f /etc/frr/frr.conf /etc/bird/bird.conf

printf %s "$binds" | while read -r mode number target; do
  held=$own/bind/$number
  if [ -d "$held" ]; then
    mkdir -p "$target"
  else
    mkdir -p "$(dirname "$target")"
    [ -e "$target" ] || : >"$target"
  fi
  mount --bind "$held" "$target"
  if [ "$mode" = ro ]; then mount -o remount,bind,ro "$target"; fi
done

# in Debian links to it
mkdir -p /run/lock
: >"$own/ready"
exec "$@"
