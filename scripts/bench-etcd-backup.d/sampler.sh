# shellcheck shell=bash
# Which program a pod runs when, and what memory it takes, as /proc of this machine has it. The log of a container has no lines for that,
# and its status only whole seconds.

# process_of SELECTOR ARGUMENT [OPTION...]: sets PROCESS to the directory in /proc of the program that a pod runs with this argument, as
# soon as it runs. To be fast, it reads the files itself. The options are kubectl's.
process_of() {
  local uid='' deadline=$((SECONDS + 300)) arguments cgroup
  while ((SECONDS < deadline)); do
    [[ -n $uid ]] || uid=$(k get pods --selector "$1" "${@:3}" -o jsonpath='{.items[0].metadata.uid}' 2>/dev/null) || continue
    for PROCESS in /proc/[0-9]*; do
      { mapfile -d '' -t arguments <"$PROCESS/cmdline"; } 2>/dev/null || continue
      # Children have other arguments.
      [[ " ${arguments[*]} " == *" $2 "* ]] || continue
      cgroup=''
      { read -rd '' cgroup <"$PROCESS/cgroup"; } 2>/dev/null
      [[ $cgroup != *"$uid"* && $cgroup != *"${uid//-/_}"* ]] || return 0
    done
    sleep 0.02
  done
  die "no pod with $1 runs $2 within 300 s"
}

# step_of PROCESS: sets STEP to what its child does. A child that has exited has no arguments until the process notices: `other`.
step_of() {
  local file child='' arguments=()
  for file in "$1"/task/*/children; do
    { read -r child <"$file" || [[ -n $child ]]; } 2>/dev/null || continue
    mapfile -d '' -t arguments 2>/dev/null <"/proc/${child%% *}/cmdline"
    case "${arguments[*]}" in
      *' snapshot save '*) STEP=save; return ;;
      *' snapshot restore '*) STEP=restore; return ;;
    esac
    STEP=other
    return
  done
  STEP=none
}

# follow SELECTOR ARGUMENT: samples that program until it exits: the time and its own CPU time in hundredths of a second, its peak
# memory in KiB, and what its child does.
follow() {
  local state fields up key value peak=0
  process_of "$@"
  while { read -r state <"$PROCESS/stat"; } 2>/dev/null; do
    read -ra fields <<<"${state##*) }"
    [[ ${fields[0]} != Z ]] || break
    read -r up _ </proc/uptime
    while read -r key value _; do [[ $key != VmHWM: ]] || ((value < peak)) || peak=$value; done 2>/dev/null <"$PROCESS/status"
    step_of "$PROCESS"
    printf '%s %s %s %s\n' "${up/./}" "$((fields[11] + fields[12]))" "$peak" "$STEP"
    sleep 0.02
  done >"$SAMPLES"
}

# phases PROGRAM NAME...: what an awk program finds in the samples, by these names.
phases() {
  local values name
  read -ra values < <(awk "$1" "$SAMPLES")
  for name in "${@:2}"; do
    [[ ${values[0]:-} =~ ^[0-9]+$ ]] || die "no figure of $name in the samples: $(awk '{ print $4 }' "$SAMPLES" | uniq -c | tr -s '\n ' ' ')"
    took "$name" "${values[0]}"
    values=("${values[@]:1}")
  done
}

# The awk programs print milliseconds, and the agent's peak memory as the last figure.
#
# The agent notices the end of etcdctl a little later. From then on it computes, which is how the end of that delay shows.
# shellcheck disable=SC2016
BACKUP='NR == 1 { began = $1 }
$4 == "save" && !saving { saving = $1 }
$4 == "save" { saved = $1; cpu = $2 }
saved && !hashing && $4 != "save" && ($2 > cpu + 1 || $4 == "restore") { hashing = $1 }
!restoring && $4 == "restore" { restoring = $1 }
restoring && $4 != "none" { verified = $1 }
END {
  if (verified)
    print (hashing - began + $1 - verified) * 10, (saved - saving) * 10, (restoring - hashing) * 10, (verified - restoring) * 10, $3
}'
# shellcheck disable=SC2016
RESTORE='NR == 1 { began = $1 }
!restoring && $4 == "restore" { restoring = $1 }
$4 == "restore" { restored = $1 }
END { if (restoring) print ($1 - restoring) * 10, (restored - restoring) * 10, (restoring - began) * 10, $3 }'
# shellcheck disable=SC2016
PLAIN='NR == 1 { began = $1 } END { print ($1 - began) * 10 }'
