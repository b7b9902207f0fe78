#!/bin/sh
# The file system of the router image, as a tar file, by debootstrap. router-image.ts calls it, in a mount namespace of its own. Whatever ends it, only the
# finished file is left.
#
#   make-root.sh FILE SUITE MIRROR PACKAGE…
set -u

here=$(dirname -- "$0")
file=$1
suite=$2
mirror=$3
shift 3

work=$(mktemp -d "$(dirname -- "$file")/.router-XXXXXX") || exit 1
root=$work/root
child=
clean() {
  trap '' INT TERM HUP
  [ -z "$child" ] || kill -KILL "$child" 2>/dev/null
  rm -rf --one-file-system "$work"
}
trap 'clean; exit 1' INT TERM HUP

# in a pid namespace: when it is killed, so is all that it has started
packages=$(printf '%s,' "$@")
unshare --pid --fork --kill-child --mount --propagation private \
  debootstrap --variant=minbase --include="${packages%,}" "$suite" "$root" "$mirror" >&2 &
child=$!
wait "$child" || { tail -n 3 "$root/debootstrap/debootstrap.log" >&2; clean; exit 1; }
child=

# the packages' own examples: a container starts what it is given, and else nothing
rm -f "$root/etc/frr/frr.conf" "$root/etc/bird/bird.conf"
# what no container needs
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/* "$root"/usr/share/man/* "$root"/usr/share/locale/* \
  "$root"/usr/share/info/* "$root"/usr/share/i18n/* "$root"/etc/machine-id "$root"/etc/hostname "$root"/etc/resolv.conf
find "$root/usr/share/doc" -type f ! -name copyright -delete
install -m 0755 "$here/start-router" "$root/usr/local/bin/start-router"

tar --create --numeric-owner --directory "$root" --file "$work/root.tar" . && mv "$work/root.tar" "$file" || { clean; exit 1; }
clean
