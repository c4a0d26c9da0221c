#!/usr/bin/env bash
# CMAKE COMPILER SOURCE FOLDER: the library built with Asio compiled separately, and programs of it: with Asio's
# implementation from the library, with their own, and without agreeing, which must not link.
set -euo pipefail
cmake=$1 compiler=$2 source=$3 folder=$4
here=$(dirname "$(readlink -f "$0")")
"$cmake" -S "$source" -B "$folder/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release \
  -DSMC_ASIO_SEPARATE_COMPILATION=ON -DSMC_BUILD_TESTS=OFF -DSMC_BUILD_BENCH=OFF -DSMC_BUILD_EXAMPLES=OFF
"$cmake" --build "$folder/build"
rm -rf "$folder/prefix" "$folder/consumer"
"$cmake" --install "$folder/build" --component asio-smc --prefix "$folder/prefix" >/dev/null

"$cmake" -S "$here/consumer" -B "$folder/consumer" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$folder/prefix"
"$cmake" --build "$folder/consumer"
"$folder/consumer/echo"

PKG_CONFIG_PATH=$(dirname "$(find "$folder/prefix" -name asio-smc.pc)")
export PKG_CONFIG_PATH LC_ALL=C
read -ra compile <<<"$(pkg-config --cflags asio-smc)"
read -ra link <<<"$(pkg-config --libs asio-smc)"
echo '#include <asio/impl/src.hpp>' >"$folder/asio.cpp"
$LAUNCHER "$compiler" -std=c++20 -O1 "${compile[@]}" -c "$here/consumer/echo.cpp" -o "$folder/echo.o"
# The library refers to no function of Asio that this lacks: else both implementations came together and clashed.
$LAUNCHER "$compiler" -std=c++20 -O1 "${compile[@]}" -DASIO_NO_DEPRECATED -c "$folder/asio.cpp" -o "$folder/asio.o"

"$compiler" "$folder/echo.o" -o "$folder/with_the_librarys" "${link[@]}"
"$compiler" "$folder/echo.o" "$folder/asio.o" -o "$folder/with_its_own" "${link[@]}"
for program in with_the_librarys with_its_own; do
  "$folder/$program"
  # Two of them, and no error code of the library would equal asio::error::eof.
  categories=$(nm -C "$folder/$program" | grep -c ' [a-zA-Z] asio::error::get_misc_category()::instance$')
  if [ "$categories" != 1 ]; then
    echo "$program has $categories error categories of Asio" >&2
    exit 1
  fi
done

if "$compiler" -std=c++20 "${compile[@]}" -UASIO_SEPARATE_COMPILATION "$here/consumer/echo.cpp" \
  -o "$folder/refused" "${link[@]}" >"$folder/linker.txt" 2>&1; then
  echo "linked although header-only" >&2
  exit 1
fi
if ! grep -q 'library_needed::.*asio_header_only' "$folder/linker.txt"; then
  cat "$folder/linker.txt" >&2
  echo "the linker does not say asio_header_only" >&2
  exit 1
fi
