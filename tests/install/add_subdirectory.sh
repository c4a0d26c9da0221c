#!/usr/bin/env bash
# CMAKE COMPILER SOURCE FOLDER: a consumer that contains the library's tree, built as a shared library, and a look
# at what that exports.
set -euo pipefail
cmake=$1 compiler=$2 source=$3 folder=$4
here=$(dirname "$(readlink -f "$0")")
"$cmake" -S "$here/consumer" -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DASIO_SMC_SOURCE="$source" \
  -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_TYPE=Release
"$cmake" --build "$folder"
"$folder/echo"

library=$(find "$folder" -name 'libasio-smc.so')
exported=$(nm -D --defined-only "$library" | awk '{print $3}')
foreign=$(grep -Ev '^_Z(GV|T[HISTVW]|T[hv][n0-9_]+|Z|[a-z][a-z])*(RSo)?N[A-Z]*(3smc|4asio)' <<<"$exported" || true)
if [ -n "$foreign" ]; then
  echo "exported, but neither of smc nor of Asio:" >&2
  c++filt <<<"$foreign" >&2
  exit 1
fi
# Hidden, this one would give the library an idea of its own about which context a thread is in.
if ! grep -q '^_ZN4asio6detail10call_stackI' <<<"$exported"; then
  echo "Asio's call stack is not exported" >&2
  exit 1
fi
