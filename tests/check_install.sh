#!/bin/sh
# check_install.sh CMAKE BUILD-DIRECTORY COMPILER PROGRAM.c [COMPILER-FLAGS] - installs into a temporary prefix, then
# compiles the program against the installed header with the flags of inmo.pc and runs it, linked with the shared and
# with the static library, as C and as C++ sees the header.
set -eu
cmake=$1 build=$2 compiler=$3 program=$4 flags=${5-}
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

"$cmake" --install "$build" --prefix "$prefix" >"$prefix/log" || { cat "$prefix/log"; exit 1; }
pc=$(find "$prefix" -name inmo.pc)
libraries=$(dirname "$(dirname "$pc")")
PKG_CONFIG_PATH=$(dirname "$pc")${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
cd "$prefix"

version=$(pkg-config --modversion inmo)
grep -q "^#define INMO_VERSION \"$version\"" "$(pkg-config --variable=includedir inmo)/inmo.h" ||
    { echo "inmo.pc says version $version, inmo.h something else"; exit 1; }

# shellcheck disable=SC2046,SC2086 # flags are words
"$compiler" $flags -std=c11 -Wall -Wextra -Werror $(pkg-config --cflags inmo) "$program" $(pkg-config --libs inmo) -o shared
LD_LIBRARY_PATH=$libraries ./shared >shared.out

# -l:libinmo.a: the archive, although the shared library lies beside it.
# shellcheck disable=SC2046,SC2086
"$compiler" $flags -std=c11 $(pkg-config --cflags inmo) "$program" \
    $(pkg-config --static --libs inmo | sed 's/-linmo/-l:libinmo.a/') -o static
./static >static.out

cmp shared.out static.out
if command -v ldd >/dev/null; then
    ldd static | grep -q libinmo && { echo "the static program needs libinmo.so"; exit 1; }
fi
abi=$(sed -n 's/^#define INMO_ABI //p' "$(pkg-config --variable=includedir inmo)/inmo.h")
[ -e "$libraries/libinmo.so.$abi" ] || { echo "no libinmo.so.$abi is installed"; exit 1; }
LD_LIBRARY_PATH=$libraries ldd shared | grep -q "libinmo.so.$abi " || { echo "the SONAME is not libinmo.so.$abi"; exit 1; }

# What the shells look for.
for file in bash-completion/completions/inmo zsh/site-functions/_inmo fish/vendor_completions.d/inmo.fish; do
    grep -q recommend "$prefix/share/$file" || { echo "no completion in share/$file"; exit 1; }
done

# The header alone, in C++.
if command -v g++ >/dev/null; then
    echo '#include <inmo.h>
int main() { inmo_read_options options; inmo_read_options_init(&options); return 0; }' >header.cc
    # shellcheck disable=SC2046
    g++ -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags inmo) header.cc
fi
echo "version $version: shared and static programs compiled and ran"
