#!/bin/sh
# `npm run bench -- <name> [arguments]`: measures one thing, as a ratio against a peer in the same run where there is one.
set -eu
cd "$(dirname "$0")/.."
./skiff setup test
PATH=$PWD/node_modules/.bin:$PATH
export PATH
exec node --disable-warning=ExperimentalWarning test/bench/main.ts "$@"
