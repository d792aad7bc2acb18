"""The scripts that nodes and network use: each compares the fence, compares the value and changes it, all under one flock.

They take everything as arguments and answer in one line: `value X` (done, or what is there), `fence N` (another fence is
there, nothing was done) or `other X` (another value is there, nothing was done). Any other end means: not known.

Whoever starts one may be killed at any moment; the script then goes on to its end, with the lock held until then. So
nobody reads a value, or raises a fence, in the middle of somebody else's change.
"""

from __future__ import annotations

# What both have in common. $1 claim or alter, $2 the fence's file, $3 the fence, $4 seconds to wait for the lock, $5 and
# $6 value before and after, the rest is for `change`. `now` prints the value, `change` makes $6 of $5: each its own.
_GUARDED = r"""
guarded() {
  verb=$1 file=$2 fence=$3 wait=$4 before=$5 after=$6
  shift 6
  exec 9>>"$file.lock"
  flock -w "$wait" 9 || { echo "the lock $file.lock is held by another" >&2; exit 75; }
  held=$(cat "$file" 2>/dev/null || echo 0)
  case $verb in
    claim)
      if [ "$held" -gt "$fence" ]; then echo "fence $held"; exit 0; fi
      if [ "$held" != "$fence" ]; then echo "$fence" >"$file.new"; mv "$file.new" "$file"; fi
      ;;
    alter)
      if [ "$held" != "$fence" ]; then echo "fence $held"; exit 0; fi
      seen=$(now)
      if [ "$seen" != "$before" ]; then echo "other $seen"; exit 0; fi
      change "$@"
      ;;
  esac
  seen=$(now)
  echo "value $seen"
}
"""

# On the machine of the engine. $7 the container's id, $8 how long its processes may take to end, in seconds.
CONTAINER = (
    r"""
set -eu
id=$7 grace=$8
now() { docker inspect --type container --format '{{.State.Status}}' "$id"; }
change() {
  case $before/$after in
    running/paused) docker pause "$id" >/dev/null ;;
    paused/running) docker unpause "$id" >/dev/null ;;
    running/exited) docker stop -t "$grace" "$id" >/dev/null ;;
    exited/running) docker start "$id" >/dev/null ;;
    *) echo "no way from $before to $after" >&2; exit 64 ;;
  esac
}
"""
    + _GUARDED
    + 'guarded "$1" "$2" "$3" "$4" "$5" "$6"\n'
)

# In a node. Values are true (all rules are there), false (nothing of them is) and altered. $7 our chain, $8 what happens to
# a packet, $9 after how many seconds the rules end by themselves (0: never); further arguments are the matches, one per rule.
# `look` instead of claim or alter only prints the value.
#
# The rules hang in table mangle, which no part of Kubernetes uses for forwarded packets: wherever kube-proxy or a network
# plugin puts rules of its own, ours are asked first. One iptables-restore makes or removes all of them at once. Each rule
# is followed by one that counts what it let pass. A timer is told from a later one by its token.
RULES = (
    r"""
set -eu
[ "$1" = look ] || mkdir -p "${2%/*}"
chain=$7 verdict=$8 alive=$9
now() {
  all=$(iptables -w 5 -t mangle -S)
  hooks=$(echo "$all" | grep -cE -- "^-A FORWARD .*-j $chain\$" || true)
  chains=$(echo "$all" | grep -cx -- "-N $chain" || true)
  rules=$(echo "$all" | grep -c -- "^-A $chain " || true)
  case $chains/$hooks/$rules in
    0/0/0) echo false ;;
    1/1/$count) echo true ;;
    *) echo altered ;;
  esac
}
restore() { iptables-restore -w 5 --noflush; }
hook="FORWARD -m comment --comment space-smoke -j $chain"
remove() {
  rm -f "$token"
  printf '%s\n' '*mangle' ":$chain - [0:0]" "-D $hook" "-X $chain" COMMIT | restore
}
expire() { # in the background, until its time has come
  exec 9>&-
  sleep "$alive"
  exec 9>>"$file.lock"
  flock 9
  [ "$(cat "$token" 2>/dev/null)" != "$1" ] || [ "$(now)" != true ] || remove
}
change() {
  if [ "$after" = false ]; then remove; return; fi
  {
    printf '%s\n' '*mangle' ":$chain - [0:0]"
    for match in "$@"; do printf '%s\n' "-A $chain $match $verdict" "-A $chain $match -j RETURN"; done
    printf '%s\n' "-I $hook" COMMIT
  } | restore
  rm -f "$token"
  [ "$alive" != 0 ] || return 0
  cat /proc/sys/kernel/random/uuid >"$token"
  expire "$(cat "$token")" </dev/null >/dev/null 2>&1 &
}
"""
    + _GUARDED
    + r"""
verb=$1 file=$2 fence=$3 wait=$4 before=$5 after=$6
shift 9
count=$((2 * $#)) token=${file%/*}/$chain.timer
if [ "$verb" = look ]; then seen=$(now); echo "value $seen"; exit 0; fi
guarded "$verb" "$file" "$fence" "$wait" "$before" "$after" "$@"
"""
)

# In a node. Values are runs and gone. $7 the id of a container. A process is in it if the name of one of its control groups
# says so. What is killed may have begun another meanwhile, so it is looked again until none is left.
KILL = (
    r"""
set -eu
container=$7
inside() { grep -lF -- "$container" /proc/[0-9]*/cgroup 2>/dev/null | cut -d/ -f3; }
now() { if [ -n "$(inside)" ]; then echo runs; else echo gone; fi; }
change() {
  [ "$before/$after" = runs/gone ] || { echo "no way from $before to $after" >&2; exit 64; }
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    left=$(inside)
    [ -n "$left" ] || return 0
    kill -9 $left 2>/dev/null || true
    sleep 0.1
  done
}
"""
    + _GUARDED
    + r"""
if [ "$1" = look ]; then seen=$(now); echo "value $seen"; exit 0; fi
mkdir -p "${2%/*}"
guarded "$1" "$2" "$3" "$4" "$5" "$6"
"""
)

# In the node that the sender is on: $1 the sender's address (empty: the node itself), $2 whom to send to, $3 tcp or udp, $4
# the port, $5 how many packets. What is dropped is not answered, so nothing is waited for longer than $6 seconds.
SEND = r"""
set -eu
inside=
if [ -n "$1" ]; then
  for namespace in /run/netns/*; do
    if nsenter --net="$namespace" ip -4 -o address show 2>/dev/null | grep -qF " $1/"; then inside=$namespace; fi
  done
  if [ -z "$inside" ]; then echo "no pod of this node has address $1" >&2; exit 3; fi
fi
send='
for _ in $(seq "$4"); do
  if [ "$2" = udp ]; then echo >"/dev/udp/$1/$3"; else timeout "$5" bash -c ": >/dev/tcp/$1/$3" & fi
done 2>/dev/null
wait
'
if [ -n "$inside" ]; then set -- "$@" nsenter "--net=$inside"; else set -- "$@" env; fi
to=$2 protocol=$3 port=$4 count=$5 longest=$6
shift 6
"$@" bash -c "$send" bash "$to" "$protocol" "$port" "$count" "$longest" >/dev/null 2>&1 || true
"""
