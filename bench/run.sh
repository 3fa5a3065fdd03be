#!/bin/bash
# run.sh - what `make bench` runs: each kernel beside the machine's limits; then beside others, interleaved: sparse products
# (GraphBLAS, librsb, PyTorch), top-k (faiss), a training step (PyTorch).
#
#     bench/run.sh [FOLDER]    FOLDER has gowalla.tsv.zst; without it a synthetic log of that size is made
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1-../shared/data}
out=build/bench-data
python=/usr/bin/python3

if [ ! -d "$out" ]; then
    if [ -f "$folder/gowalla.tsv.zst" ]; then
        build/inmo prepare "$folder/gowalla.tsv.zst" --columns user,item,- -o "$out"
    else
        echo "bench: no $folder/gowalla.tsv.zst; using a synthetic log of the same size" >&2
        build/inmo synth --interactions 1027370 --users 29858 --items 40981 -o build/bench-log.tsv --force
        build/inmo prepare build/bench-log.tsv -o "$out"
    fi
fi

build/inmo bench "$out"
build/bench_gather "$out"
build/bench_rank "$out"
build/bench_read
GLIBC_TUNABLES=glibc.malloc.hugetlb=1 GOMP_SPINCOUNT=10000 build/bench_spmm "$out"
GLIBC_TUNABLES=glibc.malloc.hugetlb=1 "$python" bench/torch_spmm.py "$out" --inmo build/bench_spmm
"$python" bench/compare_topk.py build/bench_topk
"$python" bench/compare_vae.py "$out" build/bench_vae
if [ -x build/bench_step ]; then
    "$python" bench/compare_step.py "$out" build/bench_step
    "$python" bench/compare_graph.py "$out" build/bench_step
    "$python" bench/compare_neumf.py "$out" build/bench_step
else
    echo "bench: build/bench_step is not there; PyTorch alone:" >&2
    "$python" bench/torch_step.py "$out"
fi
