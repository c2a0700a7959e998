#!/usr/bin/env bash
# dist/weir-VERSION-linux-x86_64.tar.gz: one stripped binary, the licences of everything in it, the
# Containerfile that makes a small image of it. Only glibc and OpenSSL stay dynamic: checked here.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh
tools/build.sh build weir
version=$(cat VERSION)
name=weir-$version-linux-x86_64
folder=dist/$name
rm -rf "$folder"
mkdir -p "$folder/licenses"
strip -o "$folder/weir" build/weir

allowed='^(linux-vdso|ld-linux-x86-64|libc|libm|libpthread|libdl|librt|libssl|libcrypto)\.so'
dynamic=$(ldd "$folder/weir" | awk '{print $1}' | xargs -n 1 basename)
if surplus=$(grep -vE "$allowed" <<<"$dynamic"); then
    echo "dist: the binary must not need: $surplus" >&2
    exit 1
fi

cp LICENSE README.md "$folder/"
cp LICENSE "$folder/licenses/weir"
for package in libboost1.81-dev libyaml-cpp-dev libspdlog-dev libfmt-dev libexpected-dev \
    libpcre2-dev libstdc++-12-dev; do
    cp -L "/usr/share/doc/$package/copyright" "$folder/licenses/$package"
done
cp deploy/Containerfile "$folder/"
tar -C dist --sort=name --owner=0 --group=0 --numeric-owner -czf "dist/$name.tar.gz" "$name"
(cd dist && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
ls -l "dist/$name.tar.gz"
