#!/bin/bash
# run.sh - the program on real data sets, which stand outside the project.
#
#     tests/data/run.sh [FOLDER [PROGRAM]]      default: ../shared/data beside the project, build/inmo
#
# A test whose file is absent is skipped with a line that says so. Ends with "N passed, N failed, N skipped"; the exit
# code is 1 if one failed.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1-$root/../shared/data}
program=${2-$root/build/inmo}
passed=0 failed=0 skipped=0
# Threads that wait do not spin: the machine may be busy with other things.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY-passive}

[ -x "$program" ] || { echo "data: $program is not there; run make first" >&2; exit 1; }
program=$(realpath "$program")
[ -d "$folder" ] && folder=$(realpath "$folder")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
inmo() { "$program" "$@"; }

# have NAME FILE: whether the test can run; counts it as skipped otherwise
have() {
    [ -f "$folder/$2" ] && return
    echo "skip  $1: no $folder/$2"
    skipped=$((skipped + 1))
    return 1
}

# verdict NAME JSON PYTHON-CONDITION: m are the metrics over all users, g the groups; prints what was found
verdict() {
    if found=$(python3 - "$2" "$3" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
m, g = report["metrics"], report["groups"]
text = f"recall@20 {m['recall@20']:.4f}, ndcg@20 {m['ndcg@20']:.4f}"
for name in ("new-users", "new-items"):
    if name in g:
        text += f", {name} ndcg@20 {g[name]['metrics']['ndcg@20']:.4f}"
print(text)
sys.exit(0 if eval(sys.argv[2]) else f"expected {sys.argv[2]}")
PYTHON
    ); then
        echo "pass  $1: $found"
        passed=$((passed + 1))
    else
        echo "FAIL  $1: $found"
        failed=$((failed + 1))
    fi
}

broke() {
    echo "FAIL  $1: a command ended with an error"
    failed=$((failed + 1))
}

# Loader, masking and metrics, to four digits: the published numbers of the most popular items.
popular() {
    local data=$1 recall=$2 ndcg=$3
    have "popular on $data" "$data.tsv.zst" || return 0
    if inmo prepare "$folder/$data.tsv.zst" --columns user,item,split -o "$data" >/dev/null &&
        inmo train "$data" --model popular -o "$data.inmo" >/dev/null &&
        inmo evaluate "$data.inmo" "$data" --json >"$data.json"; then
        verdict "popular on $data" "$data.json" \
            "'%.4f' % m['recall@20'] == '$recall' and '%.4f' % m['ndcg@20'] == '$ndcg'"
    else
        broke "popular on $data"
    fi
}

# A fifth of the users and items come after training; a short run must still rank for them, far above popularity
# (0.02). There is no published number for this split: the bounds are loose ones around what the program gave when
# they were written (0.182), a guard against breaking it and no proof of it.
new_people() {
    local name="inmo-lightgcn on lastfm, new users and items"
    have "$name" lastfm.tsv.zst || return 0
    if inmo prepare "$folder/lastfm.tsv.zst" --columns user,item,-,- --scenario new-users-items -o l >/dev/null &&
        inmo train l --model inmo-lightgcn --dim 32 --epochs 40 --eval-every 5 --no-checkpoint -o l.inmo >/dev/null &&
        inmo evaluate l.inmo l --json >l.json &&
        inmo evaluate l.inmo l --without-new --json >without.json; then
        verdict "$name" l.json "0.13 < m['ndcg@20'] < 0.25 and g['new-users']['metrics']['ndcg@20'] > 0.13"
        if python3 -c "import json, sys
with_new, without = (json.load(open(f))['metrics']['ndcg@20'] for f in ('l.json', 'without.json'))
print(f'{with_new:.4f} with, {without:.4f} without')
sys.exit(with_new <= without)" >compared; then
            echo "pass  seeing what is new helps: ndcg@20 $(cat compared)"
            passed=$((passed + 1))
        else
            echo "FAIL  seeing what is new helps: ndcg@20 $(cat compared)"
            failed=$((failed + 1))
        fi
    else
        broke "$name"
    fi
}

# The paper's table of new users and items, whole. Popularity is far behind, the paper's order holds (INMO-LGCN before
# INMO-MF, before averaged vectors and popularity), and what has no vector for newcomers says so. The numbers are bounds
# around what the program gave when they were written.
table_of_new_people() {
    local name="table 4 on lastfm" started=$SECONDS
    have "$name" lastfm.tsv.zst || return 0
    if ! inmo reproduce table4 --data "$folder/lastfm.tsv.zst" --seeds 1 -o t4 >/dev/null 2>&1; then
        broke "$name"
    elif found=$(python3 - t4/report.json $((SECONDS - started)) <<'PYTHON'
import glob, json, sys
report, seconds = json.load(open(sys.argv[1])), int(sys.argv[2])
table = report["experiments"][0]
at = {title: n for n, title in enumerate(table["columns"])}
rows = {row["label"]: row for row in table["rows"]}
def value(label, column="Over all"):
    return rows[label]["cells"][at[column]]["mean"]
best, wrong = value("INMO-LGCN"), []
def expect(condition, what):
    if not condition:
        wrong.append(what)
expect(20.5 < best < 25, "INMO-LGCN between 20.5 and 25")
expect(value("INMO-LGCN", "New users") > 18.5, "INMO-LGCN for new users above 18.5")
expect(best > value("INMO-MF") > value("Popular") and best > value("IMC-LGCN") > value("Popular"), "the paper's order")
expect(value("INMO-MF") > value("IMC-LGCN"), "INMO-MF above IMC-LGCN")
expect(best > value("INMO-LGCN*") > value("IMC-LGCN"), "30 % templates between")
expect(value("Popular") < 4, "Popular below 4")
for label in ("MF", "LightGCN", "NGCF"):
    expect(value(label) is None and rows[label]["reason"], f"{label} with a reason and no number")
expect(len(glob.glob("t4/report.*")) == 3, "three files of the report")
expect(seconds < 600, "less than 600 s")
print(f"INMO-LGCN {best:.2f}, INMO-MF {value('INMO-MF'):.2f}, IMC-LGCN {value('IMC-LGCN'):.2f}, {seconds} s")
sys.exit("expected " + "; ".join(wrong) if wrong else 0)
PYTHON
    ); then
        echo "pass  $name: $found"
        passed=$((passed + 1))
    else
        echo "FAIL  $name: $found"
        failed=$((failed + 1))
    fi
}

# What a shop needs of any log: everybody has a list, nothing rated low is in it, and a test that the model was trained
# on is refused. Reads the log's own lines.
shop() {
    local data=$1 columns=$2 name="everybody served, nothing seen listed, no leak on $1"
    have "$name" "$data.tsv.zst" || return 0
    if ! inmo train "$folder/$data.tsv.zst" --columns "$columns" --by random --model inmo-mf --dim 16 --epochs 3 \
        --no-checkpoint --force -q -o shop.inmo >/dev/null ||
        ! inmo recommend shop.inmo --all-users -o shop.lists --force -q ||
        ! inmo prepare "$folder/$data.tsv.zst" --columns "$columns" --by random --force -q -o shop >/dev/null; then
        broke "$name"
        return 0
    fi
    inmo evaluate shop.inmo shop >/dev/null 2>leak
    if [ $? -eq 3 ] && grep -q "the model was trained on" leak &&
        found=$(zstd -dcq "$folder/$data.tsv.zst" | python3 -c '
import sys
columns, lists = sys.argv[1].split(","), open("shop.lists")
rating = columns.index("rating") if "rating" in columns else None
users, low = set(), set()
for line in sys.stdin:
    field = line.rstrip("\n").split("\t")
    users.add(field[0])
    if rating is not None and float(field[rating]) <= 3:
        low.add((field[0], field[1]))
served, wrong = set(), 0
for line in lists:
    user, item = line.split("\t")[:2]
    served.add(user)
    wrong += (user, item) in low
print(f"{len(served)} of {len(users)} users, {wrong} of {len(low)} seen items listed")
sys.exit(served != users or wrong > 0)' "$columns"); then
        echo "pass  $name: $found"
        passed=$((passed + 1))
    else
        echo "FAIL  $name: $found $(cat leak)"
        failed=$((failed + 1))
    fi
}

shop ml-100k user,item,rating,time
shop ml-latest-small user,item,rating,time
shop lastfm user,item,-,-
popular gowalla 0.0416 0.0317
popular yelp2018 0.0125 0.0101
new_people
table_of_new_people
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
