#!/bin/bash
# run.sh MPI-PROGRAM ORDINARY-PROGRAM - the tests of training on several ranks, all on this machine: as processes, and in
# network namespaces, where they are permitted.
set -euo pipefail
INMO_MPI=$(realpath "$1") INMO_ORDINARY=$(realpath "$2")
cd "$(dirname "$0")"
libraries=$(mktemp -d)
trap 'rm -rf "$libraries"' EXIT
INMO_AIMED=$libraries/aimed.so INMO_FAILING=$libraries/failing.so
mpicc -shared -fPIC -o "$INMO_AIMED" aimed.c
cc -shared -fPIC -fno-builtin -o "$INMO_FAILING" ../alloc/failing.c
export INMO_MPI INMO_ORDINARY INMO_AIMED INMO_FAILING
# Ranks on few cores must not spin, and Open MPI refuses root unless it is told twice.
export OMP_WAIT_POLICY=passive
if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
/usr/bin/python3 -B -m pytest -q -x -rs -p no:cacheprovider test_ranks.py test_faults.py test_network.py
