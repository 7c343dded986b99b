# shellcheck shell=bash
# Runs infra/compose.yaml once, from images that were built before, and asks it for a verdict.

# The plugin where it is there; Debian has the older program, which reads the same file.
compose() {
  local file=(--project-name "$stack_project" --env-file "$check_folder/stack.env" --file infra/compose.yaml)
  if docker compose version >/dev/null 2>&1; then
    docker compose "${file[@]}" "$@"
  else
    docker-compose --compatibility "${file[@]}" "$@"
  fi
}

# The secrets of one check, readable by nobody else.
write_stack_settings() (
  umask 077
  for name in POSTGRES_PASSWORD REDIS_PASSWORD S3_ACCESS_KEY_ID S3_SECRET_ACCESS_KEY; do
    printf '%s=%s\n' "$name" "$(node -p 'crypto.randomBytes(24).toString("hex")')"
  done >"$check_folder/stack.env"
  printf 'MUSTER_SECRET_KEY=%s\n' "$(node -p 'crypto.randomBytes(32).toString("base64")')" >>"$check_folder/stack.env"
  # Any free port, so that an installation on this machine is not in the way.
  echo 'PUBLISHED_PORT=0' >>"$check_folder/stack.env"
)

# Every container is there and healthy, or says within the time limit why not.
wait_until_healthy() {
  local deadline=$((SECONDS + 180)) id state
  while ((SECONDS < deadline)); do
    state=$(for id in $(compose ps -q); do
      docker inspect --format '{{if .State.Health}}{{.State.Health.Status}}{{else}}{{.State.Status}}{{end}}' "$id"
    done | sort | uniq -c | tr -s ' \n' ' ')
    [[ $state != "$1 healthy " && $state != " $1 healthy " ]] || return 0
    sleep 1
  done
  printf 'the stack is not healthy: %s\n' "$state"
  return 1
}

stack_down() {
  [[ -s $check_folder/stack.env ]] || return 0
  compose down --volumes --remove-orphans --timeout 30 >/dev/null 2>&1
}

# Starts everything, runs the tests of test/containers/stack against it, and takes it down again.
run_stack() {
  stack_project="muster-check-$$"
  write_stack_settings
  local code=0
  compose up --detach --no-build >"$check_folder/up.log" 2>&1 || code=1
  # Two workers, the API, three stores.
  ((code != 0)) || wait_until_healthy 6 || code=1
  if ((code == 0)); then
    MUSTER_TEST_STACK_URL="http://$(compose port api 7420)" \
      MUSTER_TEST_STACK_KEY=$(compose exec -T api cat /var/lib/muster/admin.key) \
      MUSTER_TEST_STACK_PROJECT=$stack_project \
      npm exec -- vitest run --config test/containers/stack/vitest.config.ts || code=1
  else
    cat "$check_folder/up.log"
  fi
  ((code == 0)) || compose logs --no-color --tail 60
  stack_down
  return "$code"
}
