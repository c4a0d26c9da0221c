#!/usr/bin/env bash
# COMPILER FOLDER: consumers that can't work with the library must not link, and the linker must say why
# (chriskohlhoff/asio #1682).
set -euo pipefail
compiler=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
PKG_CONFIG_PATH=$(dirname "$(find "$PREFIX" -name asio-smc.pc)")
export PKG_CONFIG_PATH LC_ALL=C
read -ra compile <<<"$(pkg-config --cflags asio-smc)"
read -ra link <<<"$(pkg-config --libs asio-smc)"

cat >"$folder/header.cpp" <<'CODE'
#include <smc/version.hpp>
CODE
cat >"$folder/main.cpp" <<'CODE'
#include <smc/version.hpp>
int main() {}
CODE

build() {  # flags…: of the one translation unit; the other has none
  $LAUNCHER "$compiler" -std=c++20 "$@" "${compile[@]}" -c "$folder/header.cpp" -o "$folder/header.o"
  $LAUNCHER "$compiler" -std=c++20 "${compile[@]}" -c "$folder/main.cpp" -o "$folder/main.o"
  "$compiler" "$folder/main.o" "$folder/header.o" -o "$folder/program" "${link[@]}" >"$folder/linker.txt" 2>&1
}

build || { cat "$folder/linker.txt" >&2; echo "the library's own settings were refused" >&2; exit 1; }

refused() {  # text flags…
  local text=$1
  shift
  if build "$@"; then
    echo "linked although built with $*" >&2
    exit 1
  fi
  if ! grep -q "library_needed::.*$text" "$folder/linker.txt"; then
    cat "$folder/linker.txt" >&2
    echo "the linker does not say $text" >&2
    exit 1
  fi
}

refused asio_separate_compilation -DASIO_SEPARATE_COMPILATION
refused asio_separate_compilation -DASIO_DYN_LINK
refused asio_handler_tracking -DASIO_ENABLE_HANDLER_TRACKING
refused asio_debugged_buffers -DASIO_ENABLE_BUFFER_DEBUGGING
refused asio_other_reactor -DASIO_DISABLE_EPOLL
refused asio_without_threads -DASIO_DISABLE_THREADS
refused asio_ts_executor -DASIO_USE_TS_EXECUTOR_AS_DEFAULT
refused asio_other_recycling_cache -DASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=8
refused glibcxx_debug -D_GLIBCXX_DEBUG

# A later version's headers on this library.
mkdir -p "$folder/later/smc"
sed 's/^#define SMC_VERSION_MINOR .*/#define SMC_VERSION_MINOR 99/' "$PREFIX/include/smc/version.hpp" \
  >"$folder/later/smc/version.hpp"
refused smc_0_99 -I"$folder/later"
