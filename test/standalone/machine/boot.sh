#!/bin/bash
# One machine, booted by Debian's own systemd as process 1, in a network namespace that the caller has made:
#   boot.sh BASE FOLDER GROUP
# BASE is the Debian root, which is never written to; FOLDER holds the machine's disk (upper, work) and gets its root. GROUP is the branch of the
# control groups that systemd has for its own.
#
# Nothing of this host may change by it, though it is root and systemd likes to set things up: it has mounts, processes, control groups, IPC and a host
# name of its own; of /proc/sys only the network's half, which belongs to the namespace, can be written; /sys cannot; /dev is made of a few nodes, no
# disk among them, so that nothing in cloud-init can find one to resize; and it may load no module, set no clock and read no kernel log.
set -eu
base=$1
folder=$2
group=$3

mkdir -p "$folder"/{upper,work,root,groups}
# version 2 of the control groups, wherever this host has it mounted, or not; a branch that systemd may see all of and nothing else
mount --make-rprivate /
mount -t cgroup2 cgroup2 "$folder/groups"
# of runs that were killed: their network namespaces are gone, and a group with a process in it cannot be removed
for old in "$folder"/groups/hd-*; do
  [ ! -d "$old" ] || [ -e "/run/netns/${old##*/}" ] || find "$old" -depth -type d -exec rmdir {} \; 2>/dev/null || true
done
mkdir "$folder/groups/$group"
echo $$ >"$folder/groups/$group/cgroup.procs"
umount "$folder/groups"

inside='
set -eu
root=$1/root
mount -t overlay overlay -o "lowerdir=$0,upperdir=$1/upper,workdir=$1/work" "$root"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys/net" "$root/mnt"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,ro,bind "$root/proc/sys"
mount --move "$root/mnt" "$root/proc/sys/net"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for node in "null 1 3" "zero 1 5" "full 1 7" "random 1 8" "urandom 1 9" "tty 5 0"; do
  set -- $node
  mknod -m 666 "$root/dev/$1" c "$2" "$3"
done
# stands for the disks that a machine has; it is /dev/null by another name
mknod -m 666 "$root/dev/a-disk" c 1 3
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
cd "$root"
pivot_root . mnt
umount -l /mnt
exec env -i container=test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
  setpriv --bounding-set=-sys_module,-sys_time,-sys_rawio,-sys_boot,-syslog,-wake_alarm,-block_suspend,-audit_control,-audit_read \
  /lib/systemd/systemd --unit=multi-user.target
'
exec unshare --cgroup --mount --propagation private --uts --ipc --pid --fork --kill-child \
  bash -c "$inside" "$base" "$folder"
