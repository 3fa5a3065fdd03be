#!/bin/bash
# run.sh - lets each fuzz target run for a while, starting from corpus/: `fuzz/run.sh SECONDS [TARGET...]`.
#
# New inputs stay in build-fuzz/corpus/TARGET, so that the next call goes on from there. An input that shows a fault is
# written to build-fuzz/found/, and the exit code is 1: mend the fault, then keep the input as
# fuzz/corpus/TARGET/found.WHAT, where the ordinary tests replay it.
set -uo pipefail
cd "$(dirname "$0")/.."
seconds=${1-60}
shift
[ $# -gt 0 ] || set -- log dataset model checkpoint rows run trials config routes import
mkdir -p build-fuzz/found
# Reports of leaks need ptrace, which some containers forbid: ASAN_OPTIONS=detect_leaks=0 turns them off.
status=0
for target in "$@"; do
    mkdir -p "build-fuzz/corpus/$target"
    printf '%-12s' "$target"
    if build-fuzz/fuzz/"fuzz_$target" -max_total_time="$seconds" -max_len=16384 -timeout=20 -rss_limit_mb=2048 \
        -use_value_profile=1 -print_final_stats=1 -artifact_prefix="build-fuzz/found/$target-" \
        "build-fuzz/corpus/$target" "fuzz/corpus/$target" >"build-fuzz/$target.log" 2>&1; then
        grep -E 'number_of_executed_units' "build-fuzz/$target.log" | sed 's/.*: *//; s/$/ inputs, nothing found/'
    else
        status=1
        echo "FOUND something: build-fuzz/$target.log"
        grep -E 'ERROR|SUMMARY|^fuzz:|Test unit written' "build-fuzz/$target.log" | head -n 4
    fi
done
exit $status
