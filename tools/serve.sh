#!/bin/bash
# serve.sh - starts `inmo serve` with the demo's log in serve-out/; the log is made at the first start.
#
#     make serve                            builds first
#     tools/serve.sh [PORT [DIRECTORY [PROGRAM]]]
#
# Popularity serves at once; the server trains its first model by itself, which takes up to a minute. Ctrl-C ends it, and what
# was stored is there at the next start.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
port=${1-8088}
directory=${2-$root/serve-out}
program=$(realpath -m "${3-$root/build/inmo}")
[ -x "$program" ] || { echo "serve: $program is missing; run make first" >&2; exit 1; }
mkdir -p "$directory"
cd "$directory"
if [ ! -e shop.db ]; then
    "$program" synth --interactions 50000 --seed 1 --force -o log.tsv --quiet
    "$program" serve --import log.tsv --store shop.db
fi
exec "$program" serve --store shop.db --port "$port" --train="--dim 32 --epochs 10"
