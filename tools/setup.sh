#!/usr/bin/env bash
# Installs the Debian packages that weir is built and tested with. Says the one command to run if it is not root.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$(grep -v '^#' tools/packages.txt)
missing=()
for package in $packages; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ]; then
    echo "weir needs these Debian packages; run once, as root:" >&2
    echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
fi
echo "installing Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
