#!/bin/bash
# run.sh MPI-PROGRAM ORDINARY-PROGRAM - the tests of training on several ranks, all on this machine.
set -euo pipefail
INMO_MPI=$(realpath "$1") INMO_ORDINARY=$(realpath "$2")
export INMO_MPI INMO_ORDINARY
# Ranks on few cores must not spin, and Open MPI refuses root unless it is told twice.
export OMP_WAIT_POLICY=passive
if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
cd "$(dirname "$0")"
exec /usr/bin/python3 -B -m pytest -q -x -p no:cacheprovider test_ranks.py
