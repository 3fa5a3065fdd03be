#!/bin/bash
# setup.sh - puts in place what the build needs, on Debian 12 and its relatives.
#
#     tools/setup.sh          what building and testing need
#     tools/setup.sh bench    the same, and what the comparisons in bench/ need
#     tools/setup.sh cross    the same, and what tools/test-aarch64.sh needs
#     tools/setup.sh clang    the same, and clang with its OpenMP, for make fuzz and make test-tsan
#     tools/setup.sh fuzz     another name for it
#     tools/setup.sh coverage the same, and gcovr, for make coverage
#     tools/setup.sh page     the same, and a browser with node and npm, for the test of the server's page
#     tools/setup.sh mpi      the same, and Open MPI and ip, for make mpi and make test-mpi
#     tools/setup.sh deb      the same, and what building and checking Debian packages needs, for make deb and make test-deb
#
# Asks dpkg which packages are missing and installs only those (as root, or through sudo). Says nothing when
# nothing is missing, and does not touch the network then.
set -euo pipefail

packages=(build-essential cmake ninja-build pkg-config libopenblas-dev liblapacke-dev libzstd-dev zlib1g-dev
    libjansson-dev libxxhash-dev libsqlite3-dev libpq-dev libmicrohttpd-dev libgnutls28-dev libcmocka-dev
    sqlite3 postgresql curl python3 python3-numpy python3-scipy
    python3-pytest python3-prometheus-client python3-venv python3-pip clang-format zstd locales)

case "${1-}" in
'') ;;
bench) packages+=(python3-torch python3-faiss libgraphblas-dev librsb-dev gnuplot-nox valgrind wrk) ;;
clang | fuzz) packages+=(clang libclang-rt-dev libomp-dev) ;; # the runtime of the sanitizers is only recommended
coverage) packages+=(gcovr) ;;
deb)
    packages+=(debhelper dpkg-dev fakeroot lintian mmdebstrap systemd man-db bash-completion zsh fish curl)
    ;;
page)
    # Node from elsewhere brings its own npm, and Debian's would not install beside it.
    packages+=(chromium)
    command -v node >/dev/null || packages+=(nodejs)
    command -v npm >/dev/null || packages+=(npm)
    ;;
mpi) packages+=(libopenmpi-dev openmpi-bin iproute2) ;;
cross) packages+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user) ;;
*)
    echo "setup: unknown argument '$1'; use: tools/setup.sh [bench|cross|clang|fuzz|coverage|page|mpi|deb]" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
    # Not Debian: what counts is whether the tools are there; cmake then says which library is missing.
    command -v cc >/dev/null && command -v cmake >/dev/null && command -v pkg-config >/dev/null && exit 0
    echo "setup: this is not a Debian system; please install what corresponds to: ${packages[*]}" >&2
    exit 1
fi

missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "setup: installing ${missing[*]}" >&2
if [ "$(id -u)" -eq 0 ]; then
    as_root=(env)
elif command -v sudo >/dev/null; then
    as_root=(sudo env)
else
    echo "setup: these packages are missing, and installing them needs root or sudo. As root, run:" >&2
    echo "    apt-get update && apt-get install ${missing[*]}" >&2
    exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {
    "${as_root[@]}" DEBIAN_FRONTEND=noninteractive "$@" >"$log" 2>&1 </dev/null && return
    tail -n 20 "$log" >&2
    return 1
}

# A list that cannot be refreshed may still be good enough; the install decides.
quietly apt-get -q update || echo "setup: the package lists could not be refreshed; trying with those at hand" >&2
if ! quietly apt-get -q -y --no-install-recommends install "${missing[@]}"; then
    echo "setup: apt-get could not install: ${missing[*]}" >&2
    exit 1
fi
