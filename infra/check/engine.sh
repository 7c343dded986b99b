# shellcheck shell=bash
# The Docker engine of a check: the one that answers, or else one of its own that is ended with it.
#
# An engine of its own keeps everything below the check's folder and leaves the firewall and IP forwarding alone: builds
# use the host's network, and published ports go through Docker's proxy.

engine_pid=''
engine_folder=''
engine_left_bridge=''

# engine_start FOLDER: sets DOCKER_HOST when it starts one. Fails when there is none to be had.
engine_start() {
  engine_folder=$1
  if docker version >/dev/null 2>&1; then
    echo 'a Docker engine answers: using it'
    return 0
  fi
  [[ $(id -u) == 0 ]] && command -v dockerd >/dev/null || return 1
  mkdir -p "$engine_folder"
  [[ -e /sys/class/net/docker0 ]] || engine_left_bridge=docker0
  setsid dockerd --data-root "$engine_folder/data" --exec-root "$engine_folder/exec" \
    --pidfile "$engine_folder/dockerd.pid" --host "unix://$engine_folder/docker.sock" \
    --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false \
    </dev/null >"$engine_folder/dockerd.log" 2>&1 &
  engine_pid=$!
  export DOCKER_HOST="unix://$engine_folder/docker.sock"
  for _ in {1..240}; do
    docker version >/dev/null 2>&1 && return 0
    kill -0 "$engine_pid" 2>/dev/null || break
    sleep 0.25
  done
  tail -n 5 "$engine_folder/dockerd.log"
  engine_stop
  return 1
}

# Ends the engine that this check started, and nothing else. May be called twice.
engine_stop() {
  [[ -n $engine_pid ]] || return 0
  # Bridges of networks would outlive the engine.
  docker ps --all --quiet 2>/dev/null | xargs --no-run-if-empty docker rm --force --volumes >/dev/null 2>&1
  docker network prune --force >/dev/null 2>&1
  kill -TERM "$engine_pid" 2>/dev/null
  for _ in {1..240}; do
    kill -0 "$engine_pid" 2>/dev/null || break
    sleep 0.25
  done
  kill -KILL "$engine_pid" 2>/dev/null
  wait "$engine_pid" 2>/dev/null
  engine_pid=''
  unset DOCKER_HOST
  # What the kernel still holds below the folder would keep it from being removed.
  awk -v folder="$engine_folder/" 'index($5, folder) == 1 { print $5 }' /proc/self/mountinfo | sort -r |
    while read -r mounted; do umount "$mounted" 2>/dev/null; done
  [[ -z $engine_left_bridge ]] || ip link delete "$engine_left_bridge" 2>/dev/null
  rm -rf "$engine_folder"
}
