# shellcheck shell=bash
# What dashboards show, by their own queries.

# ask_panels OPTION...: fails if a panel's query is wrong, or returns nothing and is not excused.
ask_panels() {
  local rendered
  rendered=$(render_monitoring)
  "$(tool ours monitoring)" panels --prometheus "$URL" --minutes "$MINUTES" \
    --excused "$SCRIPTS/../config/prometheus/silent-panels.txt" "$@" <<<"$rendered"
}

# Panels without data are drawn empty: whether one may be, `panels` says.
draw_pictures() {
  local data
  require_programs /usr/lib/python3/dist-packages/matplotlib:python3-matplotlib
  data=$(mktemp)
  ask_panels --data "$data" || say "some panels are empty"
  /usr/bin/python3 "$SCRIPTS/monitoring.d/draw.py" "$data" "$SCRIPTS/../docs/pictures"
  rm -f "$data"
}
