#!/bin/sh
# `make image`: deploy/Dockerfile, built from dist/ by whichever of docker, podman and buildah is there and works. It pushes
# nothing: name the image for your registry (IMAGE=registry.example/herald:0.1.0) and push it yourself.
#
#   IMAGE       its name; herald:<version of package.json>, as deploy/base wants it, if not given
#   IMAGE_TOOL  docker, podman or buildah; the first that works, if not given
#   BASE        the image to build on; debian:12-slim if not given
set -eu

say() { printf 'image: %s\n' "$*" >&2; }

cd "$(dirname -- "$0")/.."

# a docker that cannot reach its daemon is as good as none
works() {
  case $1 in
    docker) docker info >/dev/null 2>&1 ;;
    podman | buildah) "$1" info >/dev/null 2>&1 ;;
    *) false ;;
  esac
}

tool=
for each in ${IMAGE_TOOL:-docker podman buildah}; do
  command -v "$each" >/dev/null 2>&1 || continue
  if works "$each"; then
    tool=$each
    break
  fi
  say "$each is installed and does not work: '$each info' fails"
done
if [ -z "$tool" ]; then
  say "no image was built: it takes docker, podman or buildah, and none that works was found (looked for: ${IMAGE_TOOL:-docker podman buildah})"
  exit 1
fi

node=$(find node_modules -maxdepth 1 -name 'node-linux-*' | head -n 1)
if [ ! -f dist/herald ] || [ ! -x "$node/bin/node" ]; then
  say "dist/herald or Node is missing: run 'make build' first"
  exit 1
fi
# whatever the umask was here, user 65532 in the image must be able to read them
chmod -R a+rX dist "$node/bin"

version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)
image=${IMAGE:-herald:$version}
set -- -f deploy/Dockerfile -t "$image" --build-arg "NODE_PACKAGE=$(basename "$node")"
[ -z "${BASE:-}" ] || set -- "$@" --build-arg "BASE=$BASE"
# docker finds the list of what to leave out beside the Dockerfile; the others are told
[ "$tool" = docker ] || set -- --ignorefile deploy/Dockerfile.dockerignore "$@"

say "$image, by $tool"
"$tool" build "$@" .
say "$image is built; push it to where your nodes pull from, or load it into them"
