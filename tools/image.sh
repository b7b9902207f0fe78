#!/bin/sh
# `make image`: see tools/image.ts
set -eu
cd "$(dirname -- "$0")/.."
exec node_modules/.bin/node --conditions=bgp-ts-source tools/image.ts
