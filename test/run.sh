#!/bin/sh
# `npm test`: the set-up, the static checks, then every test file; ends with the plain line "N passed, N failed".
#   sh test/run.sh [--deno] [--long] [path …]      paths narrow it to test files below them
set -eu
cd "$(dirname "$0")/.."
case " $* " in *" --long "*) ./skiff setup long ;; *) ./skiff setup test ;; esac
PATH=$PWD/node_modules/.bin:$PATH
# Deno itself, and not the script of Node that npm links, which costs every start one of Node too.
for folder in "$PWD"/node_modules/@deno/linux-*; do [ ! -x "$folder/deno" ] || PATH=$folder:$PATH; done
export PATH
exec node --disable-warning=ExperimentalWarning test/run.ts "$@"
