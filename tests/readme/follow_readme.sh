#!/usr/bin/env bash
# CMAKE COMPILER SOURCE FOLDER
set -euo pipefail
cmake=$1 compiler=$2 source=$3 folder=$4
readme=$source/README.md
rm -rf "$folder"
mkdir -p "$folder"

fail() {
  echo "README: $*" >&2
  exit 1
}

block() {  # language: the first fenced block of it
  awk -v fence="\`\`\`$1" '$0 == fence {inside = 1; next} /^```/ && inside {exit} inside' "$readme"
}

# The program, built as described, twice run.
block cpp >"$folder/main.cpp"
block cmake >"$folder/CMakeLists.txt"
"$cmake" -S "$folder" -B "$folder/build" -G Ninja -DCMAKE_PREFIX_PATH="$PREFIX" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$LAUNCHER"
"$cmake" --build "$folder/build"

exec 3< <("$folder/build/hello")
server=$!
read -rt 20 port <&3 || fail "the server does not start"
timeout 20 "$folder/build/hello" "$port" >"$folder/client.txt" || fail "the client fails"
timeout 20 cat <&3 >/dev/null || fail "the server does not end"
wait $server || fail "the server fails"
# What the README shows as the client's output.
diff <(block console | tail -n 2) "$folder/client.txt" || fail "the program's output is another one"

# The commands exist.
for target in $(grep -oE '^make [a-z]+' "$readme" | awk '{print $2}') install; do
  make -C "$source" -n "$target" >/dev/null || fail "make $target"
done

# The tables are complete and name nothing that is not there.
diff <(grep -oE '^\| `SMC_[A-Z_]+`' "$readme" | tr -d '|` ' | sort) \
  <(grep -oE '"SMC_[A-Z_]+"' "$source/framework/src/config/environment.cpp" | tr -d '"' | sort) ||
  fail "the table of variables differs from the configuration"
diff <(sed -n '/^| reason /,/^$/p' "$readme" | grep -oE '^\| `[a-z_]+`' | tr -d '|` ' | sort) \
  <(sed -n '/^enum class reason/,/^};/p' "$PREFIX/include/smc/error.hpp" | grep -oE '^ +[a-z_]+' | tr -d ' ' |
    grep -vx none | sort) || fail "the table of reasons differs from the header"
