#!/bin/sh
# smoke.sh PROGRAM - a log is made, a model trained on it, and somebody unknown who likes jazz gets jazz. A few seconds;
# used while the packages are built and again where they were installed.
set -eu
inmo=$(realpath "$(command -v "$1")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OMP_WAIT_POLICY=passive
"$inmo" synth --interactions 20000 --seed 1 -o log.tsv
"$inmo" prepare log.tsv -o data
"$inmo" train data --model inmo-mf --epochs 5 -o model.inmo
jazz=$(cut -f2 log.tsv | grep -m1 '^jazz-')
"$inmo" recommend model.inmo --items "$jazz" -k 5 | tee list
grep -q jazz- list || { echo "smoke.sh: who took $jazz gets no jazz" >&2; exit 1; }
