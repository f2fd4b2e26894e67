#!/bin/sh
# `npm run check`: types, lint, format, import boundaries, dead code.
set -eu
cd "$(dirname "$0")/.."
./skiff setup test
PATH=$PWD/node_modules/.bin:$PATH
export PATH
exec node --disable-warning=ExperimentalWarning test/run.ts --check
