#!/bin/bash
# test-aarch64.sh - builds everything for 64-bit ARM with Debian's cross compiler and runs the tests under qemu: the NEON
# kernels, and that nothing else leans on x86.
#
#     tools/test-aarch64.sh [REGULAR-EXPRESSION]    which tests; all but those of the program by default
#
# Without the server (INMO_SERVER=OFF), which has no code for a machine and many libraries.
#
# Needs gcc-aarch64-linux-gnu and qemu-user (tools/setup.sh cross installs them); without them it says so and ends with
# code 77. The libraries of that architecture are Debian's, unpacked into build-aarch64/sysroot: the system is not changed.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/build-aarch64
sysroot=$build/sysroot
packages=(libcmocka-dev libopenblas-dev liblapacke-dev libzstd-dev zlib1g-dev libjansson-dev libxxhash-dev libc6-dev libgomp1)

missing=()
for tool in aarch64-linux-gnu-gcc qemu-aarch64 apt-get dpkg-deb cmake ninja; do
    command -v "$tool" >/dev/null || missing+=("$tool")
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "test-aarch64: skipped: ${missing[*]} not found (tools/setup.sh cross)" >&2
    exit 77
fi

if [ ! -e "$sysroot/complete" ]; then
    state=$build/apt
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$sysroot"
    : >"$state/status"
    apt=(apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State::lists="$state/lists"
        -o Dir::State::status="$state/status" -o Dir::Cache="$state/cache" -o APT::Sandbox::User="$(id -un)")
    echo "test-aarch64: fetching Debian's arm64 libraries into build-aarch64/sysroot" >&2
    if ! { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends --download-only "${packages[@]}"; } \
        >"$build/apt.log" 2>&1 </dev/null; then
        tail -n 5 "$build/apt.log" >&2
        echo "test-aarch64: skipped: the arm64 libraries could not be fetched" >&2
        exit 77
    fi
    for archive in "$state"/cache/archives/*.deb; do
        dpkg-deb -x "$archive" "$sysroot"
    done
    # OpenBLAS is normally put into the path of libraries by a system-wide choice.
    for file in "$sysroot"/usr/lib/aarch64-linux-gnu/openblas-pthread/*; do
        ln -sf "openblas-pthread/${file##*/}" "$sysroot/usr/lib/aarch64-linux-gnu/${file##*/}"
    done
    for file in "$sysroot"/usr/include/aarch64-linux-gnu/openblas-pthread/*; do
        ln -sf "openblas-pthread/${file##*/}" "$sysroot/usr/include/aarch64-linux-gnu/${file##*/}"
    done
    for name in openblas:openblas blas-openblas:blas lapack-openblas:lapack; do
        ln -sf "../openblas-pthread/pkgconfig/${name%:*}.pc" "$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig/${name#*:}.pc"
    done
    : >"$sysroot/complete"
fi

cat >"$build/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_SYSROOT $sysroot)
set(CMAKE_FIND_ROOT_PATH $sysroot)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,$sysroot/usr/lib/aarch64-linux-gnu")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,-rpath-link,$sysroot/usr/lib/aarch64-linux-gnu")
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;$sysroot")
END
export PKG_CONFIG_LIBDIR="$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig:$sysroot/usr/share/pkgconfig"
export PKG_CONFIG_SYSROOT_DIR=$sysroot
cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$build/toolchain.cmake" -DINMO_WERROR=ON -DINMO_SERVER=OFF >"$build/configure.log"
cmake --build "$build" -j 2 --target all >"$build/build.log" || {
    tail -n 30 "$build/build.log" >&2
    exit 1
}
cd "$build"
# check_layers and the tests of the program start files of that architecture by themselves, which only works on it.
QEMU_LD_PREFIX=$sysroot OMP_WAIT_POLICY=passive ctest --output-on-failure -j 2 ${1+-R "$1"} -E '^(cli|layers|golden_files)$'
