#!/usr/bin/env bash
# COMPILER FOLDER: two shared libraries that each contain the static library, loaded side by side, both working.
set -euo pipefail
compiler=$1 folder=$2
here=$(dirname "$(readlink -f "$0")")
rm -rf "$folder"
mkdir -p "$folder"
PKG_CONFIG_PATH=$(dirname "$(find "$PREFIX" -name asio-smc.pc)")
export PKG_CONFIG_PATH
read -ra compile <<<"$(pkg-config --cflags asio-smc)"
read -ra link <<<"$(pkg-config --libs asio-smc)"
$LAUNCHER "$compiler" -std=c++20 -O1 -fPIC -DECHO_AS_PLUGIN "${compile[@]}" -c "$here/consumer/echo.cpp" \
  -o "$folder/plugin.o"
for name in one two; do
  "$compiler" -shared "$folder/plugin.o" -o "$folder/$name.so" "${link[@]}"
done
"$compiler" -std=c++20 "$here/consumer/load_plugins.cpp" -o "$folder/load_plugins"
"$folder/load_plugins" "$folder/one.so" "$folder/two.so"
