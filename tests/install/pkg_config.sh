#!/usr/bin/env bash
# COMPILER FOLDER: a consumer by hand, with what pkg-config says.
set -euo pipefail
compiler=$1 folder=$2
here=$(dirname "$(readlink -f "$0")")
rm -rf "$folder"
mkdir -p "$folder"
PKG_CONFIG_PATH=$(dirname "$(find "$PREFIX" -name asio-smc.pc)")
export PKG_CONFIG_PATH
read -ra compile <<<"$(pkg-config --cflags asio-smc)"
read -ra link <<<"$(pkg-config --libs asio-smc)"
$LAUNCHER "$compiler" -std=c++20 -O2 -Wall -Wextra -Werror "${compile[@]}" -c "$here/consumer/echo.cpp" -o "$folder/echo.o"
"$compiler" "$folder/echo.o" -o "$folder/echo" "${link[@]}"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir asio-smc) "$folder/echo"
