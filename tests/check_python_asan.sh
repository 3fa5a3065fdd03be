#!/bin/bash
# check_python_asan.sh - the Python package's tests of bad input with a libinmo.so that has the sanitizers, which need to be
# loaded before Python.
#
#     tests/check_python_asan.sh ROOT BUILD COMPILER
#
# Runs with Debian's numpy, scipy and pytest on the source folder; skipped (77) where these are missing.
set -euo pipefail
root=$1 build=$2 compiler=$3
python=/usr/bin/python3
"$python" -c 'import numpy, scipy, pytest' 2>/dev/null || {
    echo "check_python_asan: SKIPPED: $python has no numpy, scipy or pytest"
    exit 77
}
runtime=$("$compiler" -print-file-name=libasan.so)
cd "$(mktemp -d)"
# Python frees little of its own at the end; what counts here is what is read and written out of bounds or after it was freed.
LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 INMO_LIBRARY=$build/libinmo.so INMO_ROOT=$root \
    INMO_PROGRAM=$build/inmo PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive PYTHONMALLOC=malloc \
    "$python" -m pytest -q -rs -p no:cacheprovider --import-mode=importlib "$root"/python/tests/test_bad_input.py \
    "$root"/python/tests/test_implicit.py "$root"/python/tests/test_core.py
