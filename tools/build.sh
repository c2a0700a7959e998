#!/usr/bin/env bash
# tools/build.sh FOLDER TARGET... [-- CMAKE OPTIONS]: configures once, then builds. Progress goes to the terminal.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
shift
targets=()
while [ $# -gt 0 ] && [ "$1" != "--" ]; do
    targets+=("$1")
    shift
done
[ $# -gt 0 ] && shift
if [ ! -f "$folder/build.ninja" ] || [ $# -gt 0 ]; then
    cmake -S . -B "$folder" -G Ninja "$@" >"$folder.log" 2>&1 || { cat "$folder.log" >&2; exit 1; }
    rm -f "$folder.log"
fi
NINJA_STATUS="[%f/%t %es] " ninja -C "$folder" ${JOBS:+-j "$JOBS"} "${targets[@]}"
