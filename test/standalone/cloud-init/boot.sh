#!/bin/bash
# One machine's first boot, inside namespaces of its own (network, mounts, processes, host name):
#   boot.sh BASE FOLDER SHIM
# BASE is the Debian root, FOLDER holds the machine's disk (upper, work), its NoCloud seed and its logs, SHIM stands in for systemctl.
# /dev is made of a few nodes and has no disks, so that nothing in cloud-init can find one to resize. The four stages of cloud-init are those
# that its units run on a real machine, in that order. It stays as process 1 afterwards, as an init would.
set -eu
base=$1
folder=$2
shim=$3
root=$folder/root

mkdir -p "$folder"/{upper,work,root,log,kubernetes}
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$base,upperdir=$folder/upper,workdir=$folder/work" "$root"
mkdir -p "$root/etc/kubernetes" "$root/var/lib/cloud/seed/nocloud"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/dev"
for node in 'null 3' 'zero 5' 'full 7' 'random 8' 'urandom 9'; do
  set -- $node
  mknod -m 666 "$root/dev/$1" c 1 "$2"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/shm"
mount --bind "$folder/kubernetes" "$root/etc/kubernetes"
mount --bind "$folder/log" "$root/var/log"

# the image: which source it knows, and nothing that needs a disk, a network set up by cloud-init or generated locales
cat >"$root/etc/cloud/cloud.cfg.d/90-image.cfg" <<'IMAGE'
datasource_list: [NoCloud]
network: {config: disabled}
locale: C.UTF-8
growpart: {mode: 'off'}
resize_rootfs: false
IMAGE
install -m 755 "$shim" "$root/usr/local/sbin/systemctl"
cp "$folder/seed/user-data" "$folder/seed/meta-data" "$root/var/lib/cloud/seed/nocloud/"

stage() {
  chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 cloud-init "$@" \
    >>"$folder/log/console.log" 2>&1 || echo "cloud-init $* ended with $?" >>"$folder/log/console.log"
}
stage init --local
stage init
stage modules --mode=config
stage modules --mode=final
touch "$folder/log/booted"
sleep infinity &
wait
