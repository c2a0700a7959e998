#!/usr/bin/env bash
# tools/run.sh BINARY [flags of weir serve]: starts the server on the default model, prints the URL and a curl line.
set -euo pipefail
binary=$1
shift
model=$(python3 "$(dirname "$0")/get_model.py" smollm2 | tail -n 1)
exec "$binary" serve "$model" --served-model-name SmolLM2-135M-Instruct "$@"
