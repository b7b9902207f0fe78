#!/bin/sh
# Brings a plain Debian machine to the point where `make test` can run: Debian packages first (libatomic1
# for the pinned Node, the five routers and the tools of the interop ring), then the npm packages.
#
# It is not a package manager: whatever is there already is left alone, and when nothing is missing it ends
# without calling apt-get or npm at all. Routers are installed and never started: a BIRD or FRR that Debian
# starts after installation would take port 179 of this host. policy-rc.d keeps them down for the length of
# the apt-get call, and their units are left disabled so that the next boot does not start them either.
set -eu

PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
export PATH

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

usage() {
  cat <<'HELP'
usage: tools/setup.sh [--packages] [--routers] [--help]

Installs what is missing, and nothing when nothing is missing:
  Debian packages  libatomic1 (the pinned Node needs it to run at all); bird2, frr, gobgpd, openbgpd,
                   exabgp, tshark, iproute2, nftables, ethtool, procps (the interop tests need them);
                   etcd-server, openssl (the standalone tests run a real API server); debootstrap, python3,
                   systemd (they boot a Debian by cloud-init and verify units); libfaketime (they step an agent's clock);
                   chromium (the page of the demo); docker.io, containerd, runc, containernetworking-plugins,
                   conntrack, curl (the lab: images, containerlab, nodes with real pods, a client)
  npm packages     npm ci, when node_modules is missing or does not belong to package-lock.json

No router is started, now or at the next boot; a router that already ran before keeps running.

  --packages  only the Debian packages: for `sudo tools/setup.sh --packages`, so that root does not end up
              owning node_modules
  --routers   fail when a package of the interop tests cannot be had; without this flag, and without
              root, that is only a sentence on stderr, and the interop tests say loudly what they skip
  --help      this text

Exit status: 0 ready (perhaps without the interop packages), 1 not ready, 2 usage.
HELP
}

only_packages=no
need_routers=no
for argument in "$@"; do
  case $argument in
    --packages) only_packages=yes ;;
    --routers) need_routers=yes ;;
    --help | -h) usage; exit 0 ;;
    *) say "unknown argument '$argument'; see tools/setup.sh --help"; exit 2 ;;
  esac
done

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
policy=/usr/sbin/policy-rc.d
routers='bird bgpd zebra gobgpd exabgp etcd'

# The things themselves are looked for, not the package database: a router built from source counts too.
has_libatomic() {
  for library in /lib/*/libatomic.so.1 /usr/lib/*/libatomic.so.1 /usr/lib/libatomic.so.1 /usr/lib64/libatomic.so.1; do
    [ -e "$library" ] && return 0
  done
  return 1
}
has_libfaketime() {
  for library in /usr/lib/*/faketime/libfaketimeMT.so.1; do
    [ -e "$library" ] && return 0
  done
  return 1
}
has() { command -v "$1" >/dev/null 2>&1; }
missing_lab_packages() {
  has ip || echo iproute2
  has nft || echo nftables
  has conntrack || echo conntrack
  { has bird && has birdc; } || echo bird2
  { [ -x /usr/lib/frr/bgpd ] && has vtysh; } || echo frr
  { has gobgpd && has gobgp; } || echo gobgpd
  { has bgpctl && has bgpd; } || echo openbgpd
  has exabgp || echo exabgp
  { has tshark && has dumpcap; } || echo tshark
  has ethtool || echo ethtool
  has etcd || echo etcd-server
  has openssl || echo openssl
  has chromium || echo chromium
  has sysctl || echo procps
  has debootstrap || echo debootstrap
  has systemd-analyze || echo systemd
  has python3 || echo python3
  has_libfaketime || echo libfaketime
  { has docker && has dockerd; } || echo docker.io
  has containerd || echo containerd
  has curl || echo curl
  has runc || echo runc
  [ -x /usr/lib/cni/ptp ] || echo containernetworking-plugins
}

# Router processes of this network namespace; those that a test runs in a namespace of its own are not ours to judge.
router_pids() {
  ours=$(readlink /proc/self/ns/net)
  for directory in /proc/[0-9]*; do
    read -r name 2>/dev/null <"$directory/comm" || continue
    case " $routers " in *" $name "*) ;; *) continue ;; esac
    [ "$(readlink "$directory/ns/net" 2>/dev/null)" = "$ours" ] && echo "${directory#/proc/}"
  done
  return 0
}

restore_policy() {
  [ -n "${policy_ours:-}" ] || return 0
  if [ -e "$policy.before-herald" ]; then mv -f "$policy.before-herald" "$policy"; else rm -f "$policy"; fi
  policy_ours=
}
hold_services_down() {
  # What a killed run left: its policy is not the user's, and the copy it kept must not be overwritten by ours.
  if grep -qs 'Herald tests' "$policy"; then rm -f "$policy"; fi
  if [ -e "$policy" ] && [ ! -e "$policy.before-herald" ]; then mv "$policy" "$policy.before-herald"; fi
  policy_ours=yes
  trap restore_policy EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  printf '#!/bin/sh\n# No service starts while the routers of the Herald tests are installed.\nexit 101\n' >"$policy"
  chmod 755 "$policy"
}

# Sixty lines of unpacking help nobody; they are shown when the call fails.
apt() {
  if ! output=$(DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@" 2>&1 </dev/null); then
    printf '%s\n' "$output" | tail -n 40 >&2
    return 1
  fi
}

disable_at_boot() {
  for package in "$@"; do
    case $package in
      bird2) unit=bird ;;
      etcd-server) unit=etcd ;;
      docker.io) unit=docker ;;
      frr | gobgpd | openbgpd | exabgp | containerd) unit=$package ;;
      *) continue ;;
    esac
    if has systemctl; then
      [ "$unit" != docker ] || systemctl --quiet disable docker.socket 2>/dev/null || say "could not disable docker.socket"
      systemctl --quiet disable "$unit.service" 2>/dev/null || say "could not disable $unit.service; check that it does not start at boot"
    elif [ -e "/etc/init.d/$unit" ] && has update-rc.d; then
      update-rc.d "$unit" disable >/dev/null 2>&1 || say "could not disable $unit; check that it does not start at boot"
    fi
  done
}

install_packages() {
  say "installing $*"
  before=$(router_pids)
  hold_services_down
  apt --no-install-recommends install "$@" || {
    say "package lists may be old; refreshing them"
    apt update || die "apt-get update failed; check the network and the package sources"
    apt --no-install-recommends install "$@" || die "apt-get could not install: $*"
  }
  disable_at_boot "$@"
  restore_policy
  for pid in $(router_pids); do
    case " $(echo "$before" | tr '\n' ' ') " in
      *" $pid "*) ;;
      *) die "process $pid ($(cat "/proc/$pid/comm" 2>/dev/null)) started during the installation although policy-rc.d forbids it; stop it before it takes port 179" ;;
    esac
  done
  say "installed; no router was started"
}

node_modules_current() {
  modules=$here/node_modules
  [ -d "$modules" ] || return 1
  sum=$(cksum <"$here/package-lock.json")
  if [ -f "$modules/.setup-stamp" ]; then
    [ "$(cat "$modules/.setup-stamp")" = "$sum" ]
  else
    # Installed by hand: npm writes its own lockfile into node_modules at the end of an install.
    [ -f "$modules/.package-lock.json" ] && [ "$modules/.package-lock.json" -nt "$here/package-lock.json" ]
  fi
}

vital=
has_libatomic || vital=libatomic1
lab=$(missing_lab_packages | tr '\n' ' ')
lab=${lab% }
wanted=$vital${vital:+${lab:+ }}$lab

if [ -n "$wanted" ]; then
  if [ "$(id -u)" = 0 ] && has apt-get; then
    # shellcheck disable=SC2086 # a list of package names
    install_packages $wanted
  else
    hint='as root run `tools/setup.sh --packages`'
    has apt-get || hint='install them with the package manager of this system'
    say "missing: $wanted; $hint (it installs them without starting any router)"
    [ -z "$vital" ] || die "libatomic1 is needed to run Node 26 at all; stopping here"
    [ "$need_routers" = no ] || exit 1
  fi
fi

[ "$only_packages" = no ] || exit 0

if ! node_modules_current; then
  has npm || die "npm is missing; install Node.js and npm (Debian: nodejs, npm), any version that runs npm 9 or newer"
  say "installing the npm packages of package-lock.json"
  (cd "$here" && npm ci --no-progress --loglevel=error >&2) || die "npm ci failed; its message is above"
  cksum <"$here/package-lock.json" >"$here/node_modules/.setup-stamp"
  say "npm packages installed"
fi

# npm 9 leaves out the command of the package, since the one for the other platform claims the same name.
if [ ! -e "$here/node_modules/.bin/node" ]; then
  for pinned in "$here"/node_modules/node-linux-*/bin/node; do
    [ -x "$pinned" ] || die "npm installed no Node 26 for this machine ($(uname -m)); Herald needs Linux on x64 or arm64"
    ln -s "../${pinned#"$here"/node_modules/}" "$here/node_modules/.bin/node"
  done
fi
