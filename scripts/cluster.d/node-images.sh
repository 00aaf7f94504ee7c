# shellcheck shell=bash
# Images in the cluster's nodes. There is no registry to pull from, so every node has to have what its pods may ask for.

# runs_containers: whether this node takes images now. One that is stopped gets them when it starts.
runs_containers() { is_running "containerd$PART"; }

# if_running COMMAND...: at this node, unless it is stopped or deleted.
if_running() { ! runs_containers || "$@"; }

# ctr_images ARGUMENT...: `ctr images` on every node.
ctr_images() { each_node if_running ctr_here images "$@"; }

# load_image TAR: every image of an OCI tar, into every node.
load_image() { at_once if_running load_image_here "$1"; }
load_image_here() { ctr_here images import "$1" >/dev/null; }

# has_image NAME DIGEST: whether every node has it.
has_image() { [[ -n $2 ]] && each_node if_running has_image_here "$1" "$2"; }

has_image_here() {
  local name=$1 digest=$2
  ctr_here images ls "name==$name" 2>/dev/null | awk -v n="$name" -v d="$digest" '$1 == n && index($0, d) { f = 1 } END { exit !f }'
}

# Gives this node what the first one has and it has not: it was away while images were loaded, or is new.
copy_images_here() {
  local wanted
  ((NODE_NUMBER > 1)) || return 0
  mapfile -t wanted < <(comm -23 <(at_node 1 image_list) <(image_list) | awk '{ print $1 }' | grep -v '^sha256:')
  ((${#wanted[@]})) || return 0
  at_node 1 ctr_here images export - "${wanted[@]}" | ctr_here images import - >/dev/null
}

# Name and digest, one image a line.
image_list() { ctr_here images ls | awk 'NR > 1 { print $1, $3 }' | sort; }
