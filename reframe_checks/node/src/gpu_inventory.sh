#!/bin/bash
# Lists the GPUs of a node, `HOST, VALUE, …` each: gpu_inventory.sh FIELDS FIELD... (see gpu_fields).
set -u
export LC_ALL=C
# shellcheck source-path=SCRIPTDIR source=gpu_fields.sh
. "${BASH_SOURCE[0]%/*}/gpu_fields.sh"
gpu_fields 0 "$@" | sed "s/^/$(uname -n), /"
