#!/bin/sh
# `npm run bench -- <name> [arguments]`: measures one thing, as a ratio against a peer in the same run where there is one.
set -eu
cd "$(dirname "$0")/.."
./skiff setup test
PATH=$PWD/node_modules/.bin:$PATH
# Deno itself, and not the script of Node that npm links, which costs every start one of Node too.
for folder in "$PWD"/node_modules/@deno/linux-*; do [ ! -x "$folder/deno" ] || PATH=$folder:$PATH; done
export PATH
exec node --disable-warning=ExperimentalWarning test/bench/main.ts "$@"
