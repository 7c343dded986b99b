# shellcheck shell=bash
# The images of a check: the public ones where they can be pulled, else stand-ins from Debian's packages. The shipped
# Dockerfile is built as it is either way; only its base image is another name.

# Debian's client builds with BuildKit by itself; a newer one needs its buildx plugin for that.
choose_docker_client() {
  local client
  for client in $(type -ap docker | uniq); do
    printf 'FROM scratch\nLABEL muster=probe\n' | DOCKER_BUILDKIT=1 "$client" build -q -t muster-probe - >/dev/null 2>&1 || continue
    "$client" image rm muster-probe >/dev/null
    docker_client=$client
    return 0
  done
  return 1
}

# build_image TAG CONTEXT ARGS...: proxies, certificates and npm's configuration are this machine's, and stay out of the image.
build_image() {
  local tag=$1 context=$2 name npmrc ca=${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}
  shift 2
  local args=(--network host --progress plain --build-arg "BASE_IMAGE=$base_image" --tag "$tag")
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [[ -z ${!name:-} ]] || args+=(--build-arg "$name")
  done
  npmrc=$(npm config get userconfig)
  [[ ! -s $ca ]] || args+=(--secret "id=ca,src=$ca")
  [[ ! -s $npmrc ]] || args+=(--secret "id=npmrc,src=$npmrc")
  DOCKER_BUILDKIT=1 "$docker_client" build "${args[@]}" "$@" "$context" >"$check_folder/build.log" 2>&1 || {
    tail -n 60 "$check_folder/build.log"
    return 1
  }
}

# Sets base_image and the image variables of compose.yaml and the testkit.
prepare_images() {
  base_image=debian:bookworm-slim
  POSTGRES_IMAGE=postgres:17-bookworm
  REDIS_IMAGE=redis:7-bookworm
  S3_IMAGE=versity/versitygw:v1.8.0
  if have_images "$base_image" "$POSTGRES_IMAGE" "$REDIS_IMAGE" "$S3_IMAGE"; then
    echo 'images: the public ones'
  else
    echo 'images: NONE CAN BE PULLED HERE, stand-ins from Debian packages take their place'
    make_stand_ins || return 1
  fi
  export POSTGRES_IMAGE REDIS_IMAGE S3_IMAGE
  export MUSTER_TEST_POSTGRES_IMAGE=$POSTGRES_IMAGE MUSTER_TEST_REDIS_IMAGE=$REDIS_IMAGE MUSTER_TEST_S3_IMAGE=$S3_IMAGE
}

# The first one that cannot be had decides: without a registry that takes one time limit, not four.
have_images() {
  local image
  for image in "$@"; do
    docker image inspect "$image" >/dev/null 2>&1 || timeout 90 docker pull -q "$image" >/dev/null 2>&1 || return 1
  done
}

make_stand_ins() {
  local folder="$check_folder/stand-ins"
  mkdir -p "$folder"
  cp infra/check/stand-ins/* "$folder"
  base_image=muster-stand-in-base
  make_base_image "$folder/root" || return 1
  build_gateway "$folder/versitygw" || return 1
  local target
  for target in redis postgres s3; do
    build_image "muster-stand-in-$target" "$folder" --target "$target" || return 1
  done
  REDIS_IMAGE=muster-stand-in-redis
  POSTGRES_IMAGE=muster-stand-in-postgres
  S3_IMAGE=muster-stand-in-s3
}

# A minimal Debian from the mirror that apt itself is configured for.
make_base_image() {
  local root=$1 mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' 'Codename: bookworm' | head -n 1)
  [[ -n $mirror ]] || {
    echo 'apt names no mirror for bookworm'
    return 1
  }
  debootstrap --variant=minbase bookworm "$root" "$mirror" >"$check_folder/debootstrap.log" 2>&1 || {
    tail -n 20 "$check_folder/debootstrap.log"
    return 1
  }
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
  tar -C "$root" -c . | docker import - "$base_image" >/dev/null || return 1
  rm -rf "$root"
}

# The same release as the public image. The S3 gateway is a Go program, so a check without registry needs Go (never users).
build_gateway() {
  command -v go >/dev/null || {
    echo 'NO GO TOOLCHAIN: the S3 gateway cannot be built here'
    return 1
  }
  GOBIN=$(dirname "$1") CGO_ENABLED=0 GOFLAGS=-buildvcs=false \
    go install "github.com/versity/versitygw/cmd/versitygw@${S3_IMAGE##*:}" >"$check_folder/go.log" 2>&1 || {
    tail -n 20 "$check_folder/go.log"
    return 1
  }
}
