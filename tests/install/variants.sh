#!/usr/bin/env bash
# COMPILER FOLDER: consumers built otherwise than the library. Each must run, and see the same public types
# (ossia/libossia #928, chriskohlhoff/asio #925, shader-slang/slang #11927).
set -euo pipefail
compiler=$1 folder=$2
here=$(dirname "$(readlink -f "$0")")
rm -rf "$folder"
mkdir -p "$folder"
PKG_CONFIG_PATH=$(dirname "$(find "$PREFIX" -name asio-smc.pc)")
export PKG_CONFIG_PATH
read -ra compile <<<"$(pkg-config --cflags asio-smc)"
read -ra link <<<"$(pkg-config --libs asio-smc)"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir asio-smc)
export LD_LIBRARY_PATH
# Memory that ThreadSanitizer can't place is a matter of the machine, not of the program.
export TSAN_OPTIONS=halt_on_error=1

variants=(
  "-std=c++20 -O0"
  "-std=c++20 -O2 -DNDEBUG"
  "-std=c++20 -O2 -D_FORTIFY_SOURCE=3"
  "-std=c++20 -O1 -D_GLIBCXX_ASSERTIONS"
  "-std=c++23 -O1"
  "-std=c++20 -O1 -fvisibility=hidden"
  "-std=c++20 -O1 -g -fsanitize=address,undefined"
  "-std=c++20 -O1 -g -fsanitize=thread -Wno-tsan"
)
expected=
number=0
for variant in "${variants[@]}"; do
  number=$((number + 1))
  read -ra flags <<<"$variant"
  echo "== $variant"
  $LAUNCHER "$compiler" "${flags[@]}" "${compile[@]}" -c "$here/consumer/echo.cpp" -o "$folder/$number.o"
  "$compiler" "${flags[@]}" "$folder/$number.o" -o "$folder/$number" "${link[@]}"
  "$folder/$number" | tee "$folder/$number.txt"
  layout=$(grep '^layout ' "$folder/$number.txt")
  expected=${expected:-$layout}
  if [ "$layout" != "$expected" ]; then
    echo "public types are laid out otherwise than with: ${variants[0]}" >&2
    exit 1
  fi
done
