# shellcheck shell=bash
# What the machine shares with the host: its cgroup trees, the networks of clusters, and loop devices. What it has of each
# is taken at the start, so that its clusters and the host's never meet, and given back at the end.

FRESH_PARENT=multi-operator-fresh

# A block of clusters' networks (network.sh: slots) that the host's clusters and other machines leave alone: to both, the
# other's slots are those of a cluster that is up.
reserve_slots() {
  local block taken slots
  mkdir -p "$RUN_ROOT/$ID"
  printf '%s\n' "$TEMPORARY" "$ROOT" >"$RUN_ROOT/$ID/disk"
  # shellcheck disable=SC2094
  {
    flock 7
    taken=" $( (cat "$RUN_ROOT"/*/slot 2>/dev/null || true) | tr '\n' ' ') "
    for block in $(seq 240 -16 16); do
      slots=$(seq "$block" $((block + 15)))
      if ! free_block "$taken"; then continue; fi
      printf '%s\n' "$slots" >"$RUN_ROOT/$ID/slot"
      break
    done
  } 7>>"$RUN_ROOT/slots.lock"
  [[ -s $RUN_ROOT/$ID/slot ]] || die "the networks of clusters are all taken ($RUN_ROOT/*/slot)"
  mkdir -p "$ROOT/etc"
  seq 0 255 | grep -vxF "$slots" >"$ROOT/etc/multi-operator-taken-slots"
}

# Reads slots of reserve_slots.
free_block() {
  local slot
  for slot in $slots; do [[ $1 != *" $slot "* && ! -e /sys/class/net/mo$slot ]] || return 1; done
}

# Sets FRESH_CGROUP. Its own cgroup is the root of all that the machine sees, so a cluster of a name that the host has too
# does not share one with it.
create_cgroups() {
  local tree file
  CGROUP=$FRESH_PARENT cgroups_up
  FRESH_CGROUP=$FRESH_PARENT/$ID
  while read -r tree; do
    mkdir -p "$tree/$FRESH_CGROUP"
    weigh "$tree"
    cgroup_is_v2 || for file in cpuset.cpus cpuset.mems; do
      [[ ! -e $tree/$FRESH_PARENT/$file ]] || cat "$tree/$FRESH_PARENT/$file" >"$tree/$FRESH_CGROUP/$file"
    done
  done < <(cgroup_trees)
}

# A cgroup gets as much of the processors as one process of the host, and a machine is as many as it has processors for.
weigh() {
  local processors cgroup
  processors=$(nproc)
  for cgroup in "$1/$FRESH_PARENT" "$1/$FRESH_CGROUP"; do
    [[ ! -e $cgroup/cpu.shares ]] || echo $((1024 * processors)) >"$cgroup/cpu.shares"
    [[ ! -e $cgroup/cpu.weight ]] || echo $((100 * processors)) >"$cgroup/cpu.weight"
  done
}

# Of all that ever ran in the machine.
cpu_seconds() {
  local tree
  while read -r tree; do
    if [[ -e $tree/$FRESH_CGROUP/cpuacct.usage ]]; then
      awk '{ printf "%.1f", $1 / 1e9 }' "$tree/$FRESH_CGROUP/cpuacct.usage"
      return
    elif [[ -e $tree/cgroup.controllers ]] && grep -q cpu "$tree/cgroup.controllers"; then
      awk '$1 == "usage_usec" { printf "%.1f", $2 / 1e6 }' "$tree/$FRESH_CGROUP/cpu.stat"
      return
    fi
  done < <(cgroup_trees)
  printf 'unknown'
}

delete_cgroups() {
  local tree
  while read -r tree; do
    [[ ! -d $tree/$1 ]] || poll 10 "cgroups under $tree/$1 to be free" remove_cgroup "$tree/$1" || true
    rmdir "$tree/$FRESH_PARENT" 2>/dev/null || true
  done < <(cgroup_trees)
}

no_links() {
  local slot
  for slot in $1; do [[ ! -e /sys/class/net/mo$slot ]] || return 1; done
}

# give_back ID: a network namespace is deleted when its last process has ended, and its cable with it, but the kernel takes its
# time.
give_back() {
  local slots slot
  slots=$(cat "$RUN_ROOT/$1/slot" 2>/dev/null || true)
  poll 10 "the networks of the machine to go" no_links "$slots" 2>/dev/null ||
    for slot in $slots; do ip link delete "mo$slot" 2>/dev/null || true; done
  delete_cgroups "$FRESH_PARENT/$1"
  rm -rf "${RUN_ROOT:?}/$1"
}

# on_disk_of DIRECTORY: of lines that end in a device's numbers, those of the device that the directory is on.
on_disk_of() {
  local numbers
  numbers=$(findmnt --noheadings --output MAJ:MIN --target "$1")
  awk -v n="${numbers// /}" '$NF == n'
}

# detach_loops DISK: loop devices are detached with their mounts, unless they were attached by hand. The kernel knows their files
# by inode; the names that it shows are those inside.
detach_loops() {
  local disk=$1 device inode file
  while read -r device inode _; do
    [[ -n $inode && $inode != 0 ]] || continue
    file=$(find "$disk" -xdev -inum "$inode" -type f -print -quit)
    [[ -z $file ]] || losetup --detach "$device" 2>/dev/null || true
  done < <(losetup --list --noheadings --output NAME,BACK-INO,BACK-MAJ:MIN 2>/dev/null | on_disk_of "$disk")
}

# Machines whose script was killed: their processes have ended with it.
sweep() {
  local there temporary disk
  for there in "$RUN_ROOT"/fresh-*; do
    [[ -d $there && ! -e /proc/${there##*-} ]] || continue
    { read -r temporary && read -r disk; } <"$there/disk" || true
    if [[ -e ${disk:-}/$MARKER ]]; then
      detach_loops "$disk"
      [[ $temporary == no ]] || rm -rf --one-file-system "$disk"
    fi
    give_back "${there##*/}"
  done
}

clean_up() {
  local status=$1
  trap - EXIT
  trap '' INT TERM HUP
  set +e
  [[ -z $CHILD ]] || { kill -KILL "$CHILD"; wait "$CHILD"; } 2>/dev/null
  if [[ -n ${FRESH_CGROUP:-} ]]; then
    detach_loops "$ROOT"
    give_back "$ID"
  fi
  if [[ ${TEMPORARY:-no} == yes ]]; then
    rm -rf --one-file-system "$ROOT" || say "could not delete $ROOT"
  fi
  exit "$status"
}
