#!/usr/bin/env bash
# Builds the images, runs the compose stack once, and runs the suites on Testcontainers. Everything that it starts is gone
# when it ends. Where no Docker engine answers or can be started, it says so in one line and succeeds.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
source infra/check/engine.sh
source infra/check/images.sh
source infra/check/stack.sh

check_folder=$(mktemp -d "${CHECK_FOLDER:-${TMPDIR:-/tmp}}/containers.XXXXXX")
stack_project=''
docker_client=''
base_image=''

finish() {
  local code=$?
  trap - EXIT
  # A second signal must not cut the tidying short.
  trap '' TERM INT HUP
  [[ -z $stack_project ]] || stack_down
  engine_stop
  rm -rf "$check_folder"
  exit "$code"
}
trap finish EXIT
trap 'exit 143' TERM INT HUP

not_here() {
  printf 'NOT CHECKED HERE: the images, compose.yaml and Testcontainers (%s)\n' "$1"
  exit 0
}

step() { printf -- '-- %s (%s s)\n' "$1" "$SECONDS"; }

step 'Docker engine'
engine_start "$check_folder/engine" || not_here 'no Docker engine answers, and none can be started'
choose_docker_client || not_here 'no Docker client here builds with BuildKit'

step 'images of the stores'
prepare_images || exit 1

step 'images of the services'
for target in api worker; do
  build_image "muster-$target" . --file infra/Dockerfile --target "$target" || exit 1
done
export API_IMAGE=muster-api WORKER_IMAGE=muster-worker
docker image inspect --format '{{index .RepoTags 0}} {{.Size}} bytes' muster-api muster-worker

code=0
step 'compose stack'
run_stack || code=1

step 'Testcontainers'
# Its cleaner is an image of its own; here the engine, or the run itself, cleans up.
docker image inspect testcontainers/ryuk >/dev/null 2>&1 || export TESTCONTAINERS_RYUK_DISABLED=true
npm run test:containers || code=1

step 'done'
exit "$code"
