#!/bin/bash
# demo.sh - a tour of the program in demo-out/: the commands are shown as one would type them, and run.
#
#     make demo          builds first
#     tools/demo.sh      with build/inmo as it is
#
# Starts afresh each time and takes less than three minutes on two cores. Ends with an error if a person who prefers
# jazz is not recommended jazz.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x build/inmo ] || { echo "demo: build/inmo is not there; run make first" >&2; exit 1; }
rm -rf demo-out
mkdir demo-out
cd demo-out
PATH=$PWD/../build:$PATH
began=$SECONDS
# Threads that wait do not spin: the machine may be busy with other things.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY-passive}

say() { printf '\n# %s\n' "$*"; }
# Echoes a command as one would type it, then runs it.
run() {
    printf '\n$ '
    printf '%s ' "$@"
    printf '\n'
    "$@"
}
# The same, its output kept in the file named first.
keep() {
    local file=$1
    shift
    printf '\n$ %s > %s\n' "$*" "$file"
    "$@" >"$file"
}

say "A log: who listened to what, with long tails and groups of taste, as real ones have."
run inmo synth --interactions 200000 --seed 1 -o log.tsv
run head -n 3 log.tsv

say "Split it: 70 % to learn from, 10 % to know when to stop, 20 % to be tested on."
run inmo prepare log.tsv --split 70/10/20 -o data

say "Three models: what is popular, matrix factorisation, and INMO on LightGCN."
run inmo train data --model popular -o popular.inmo
run inmo train data --model mf --dim 32 --max-seconds 45 --quiet -o mf.inmo
run inmo train data --model inmo-lightgcn --dim 32 --max-seconds 60 --quiet -o inmo.inmo

say "How well do they find the 20 % they have not seen?"
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

say "Somebody nobody has seen before, who listened to three pieces of jazz."
# The history: three well-known pieces of the group, not the best-known ones.
jazz=$(cut -f 2 log.tsv | grep '^jazz-' | sort | uniq -c | sort -k 1,1nr -k 2 |
    awk 'NR >= 4 && NR <= 6 { print $2 }' | paste -sd,)
run inmo recommend inmo.inmo --items "$jazz" --k 10 --explain 2
keep jazz.json inmo recommend inmo.inmo --items "$jazz" --k 10 --json
read -r first hits length < <(python3 -c "
import json
items = [entry['item'] for entry in json.load(open('jazz.json'))['items']]
print(items[0], sum(item.startswith('jazz-') for item in items), len(items))")

say "Why is $first there? The parts are exact: they sum to the score."
run inmo explain inmo.inmo --items "$jazz" --item "$first"

say "The lookup model has no vector for somebody unseen, and says so:"
printf '\n$ inmo recommend mf.inmo --items %s\n' "$jazz"
inmo recommend mf.inmo --items "$jazz" || echo "(exit code $?)"

printf '\n# Who prefers jazz gets jazz: %d of %d. The demo took %d s.\n' "$hits" "$length" $((SECONDS - began))
[ $((2 * hits)) -gt "$length" ] || { echo "demo: that is not what was expected" >&2; exit 1; }
