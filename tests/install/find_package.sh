#!/usr/bin/env bash
# CMAKE COMPILER FOLDER: a consumer through find_package, with the package's own version and with a wrong one.
set -euo pipefail
cmake=$1 compiler=$2 folder=$3
here=$(dirname "$(readlink -f "$0")")
rm -rf "$folder"
"$cmake" -S "$here/consumer" -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$PREFIX" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$LAUNCHER" -DCMAKE_BUILD_TYPE=Release
"$cmake" --build "$folder"
"$folder/echo"

if "$cmake" -S "$here/consumer" -B "$folder/wrong" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$PREFIX" -DWANTED_VERSION=99.0 >/dev/null 2>&1; then
  echo "a version that is not there was found" >&2
  exit 1
fi
