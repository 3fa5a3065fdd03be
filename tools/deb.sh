#!/bin/bash
# deb.sh - builds the Debian packages of debian/ in build-deb/, from a copy of the sources: the tree stays as it is.
#
#     tools/deb.sh [DIRECTORY]     build-deb/ by default; the packages of earlier builds there are removed
#
# What git tracks is copied, changes that are not committed included; without git, everything but builds.
set -euo pipefail
cd "$(dirname "$0")/.."
directory=$(realpath -m "${1-build-deb}")
version=$(sed -n 's/^#define INMO_VERSION "\(.*\)"/\1/p' include/inmo.h)
packed=$(sed -n '1s/^inmo (\(.*\)).*/\1/p' debian/changelog)
if [ "$version" != "$packed" ]; then
    echo "deb: debian/changelog is of version $packed, include/inmo.h of $version" >&2
    exit 1
fi

mkdir -p "$directory"
rm -rf "$directory/inmo-$version" "$directory"/*.{deb,changes,buildinfo}
mkdir "$directory/inmo-$version"
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
        [ ! -e "$file" ] || printf '%s\0' "$file" # deleted, not committed
    done | tar -c --null -T - | tar -x -C "$directory/inmo-$version"
else
    tar -c --exclude='./build*' --exclude='./dist' --exclude='./demo-out' . | tar -x -C "$directory/inmo-$version"
fi

cd "$directory/inmo-$version"
# Unsigned: who publishes packages signs them.
if ! dpkg-buildpackage -b -us -uc >"$directory/build.log" 2>&1; then
    tail -n 30 "$directory/build.log" >&2
    echo "deb: the build failed; all of it is in $directory/build.log" >&2
    exit 1
fi
cd "$directory"
rm -rf "inmo-$version"
ls -- *.deb
