#!/usr/bin/env bash
# CMAKE BUILD SOURCE: installs into one place, moves it to $PREFIX, and looks for what still points elsewhere.
set -euo pipefail
cmake=$1 build=$2 source=$3
stage=$PREFIX.stage
rm -rf "$PREFIX" "$stage"
"$cmake" --install "$build" --component asio-smc --prefix "$stage" >/dev/null
mv "$stage" "$PREFIX"
if grep -rlF -e "$stage" -e "$build" -e "$source" --include='*.cmake' --include='*.pc' --include='*.hpp' "$PREFIX"; then
  echo "the files above name a folder of the build: the package could not be moved" >&2
  exit 1
fi
