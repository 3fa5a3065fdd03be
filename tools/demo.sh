#!/bin/bash
# demo.sh - a tour of the program: shows each command as you would type it, then runs it.
#
#     make demo                            builds first
#     tools/demo.sh [DIRECTORY [PROGRAM]]  works in demo-out/ with build/inmo by default
#
# Empties the directory first. Takes less than three minutes on two cores. Fails if a listener of jazz is not recommended
# jazz. README.md quotes its output; tests/check_readme.py compares the two.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
directory=${1-$root/demo-out}
program=$(realpath -m "${2-$root/build/inmo}")
[ -x "$program" ] || { echo "demo: $program is missing; run make first" >&2; exit 1; }
rm -rf "$directory"
mkdir -p "$directory"
cd "$directory"
PATH=$(dirname "$program"):$PATH
began=$SECONDS
# Idle threads sleep instead of spinning: the machine may be busy with other things.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY-passive}

say() { printf '\n# %s\n' "$*"; }
# Shows a command as you would type it, then runs it.
run() {
    printf '\n$ '
    printf '%s ' "$@"
    printf '\n'
    "$@"
}
# The same, with output to the file named first.
keep() {
    local file=$1
    shift
    printf '\n$ %s > %s\n' "$*" "$file"
    "$@" >"$file"
}

say "A synthetic log of who listened to what, with a long tail and groups of taste, like real logs."
run inmo synth --interactions 200000 --seed 1 -o log.tsv
run head -n 3 log.tsv

say "Split it: 70 % for training, 10 % for validation (early stopping), 20 % for the test."
run inmo prepare log.tsv --split 70/10/20 -o data

say "Train three models: most popular, matrix factorisation, and LightGCN with the INMO module."
run inmo train data --model popular -o popular.inmo
run inmo train data --model mf --dim 32 --max-seconds 45 --quiet -o mf.inmo
run inmo train data --model inmo-lightgcn --dim 32 --max-seconds 60 --quiet -o inmo.inmo

say "How well do they predict the test part?"
for model in popular mf inmo; do
    keep $model.json inmo evaluate $model.inmo data --json
done
python3 - popular mf inmo <<'PYTHON'
import json, sys
print(f"\n{'model':14s} {'recall@20':>10s} {'ndcg@20':>10s} {'hit rate@20':>12s}")
for name in sys.argv[1:]:
    found = json.load(open(name + ".json"))
    m = found["metrics"]
    print(f"{found['name']:14s} {m['recall@20']:10.4f} {m['ndcg@20']:10.4f} {m['hit_rate@20']:12.4f}")
PYTHON

say "A new user, unknown to the model, who listened to three pieces of jazz."
# The history: three popular pieces of the group, but not the most popular ones.
jazz=$(cut -f 2 log.tsv | grep '^jazz-' | sort | uniq -c | sort -k 1,1nr -k 2 |
    awk 'NR >= 4 && NR <= 6 { print $2 }' | paste -sd,)
run inmo recommend inmo.inmo --items "$jazz" --k 10 --explain 2
keep jazz.json inmo recommend inmo.inmo --items "$jazz" --k 10 --json
read -r first hits length < <(python3 -c "
import json
items = [entry['item'] for entry in json.load(open('jazz.json'))['items']]
print(items[0], sum(item.startswith('jazz-') for item in items), len(items))")

say "Why $first? The parts are exact: they sum to the score."
run inmo explain inmo.inmo --items "$jazz" --item "$first"

say "A lookup model has no vector for a new user, and says so:"
printf '\n$ inmo recommend mf.inmo --items %s\n' "$jazz"
inmo recommend mf.inmo --items "$jazz" || echo "(exit code $?)"

printf '\n# %d of the %d recommended items are jazz. The demo took %d s.\n' "$hits" "$length" $((SECONDS - began))
[ $((2 * hits)) -gt "$length" ] || { echo "demo: expected mostly jazz" >&2; exit 1; }
