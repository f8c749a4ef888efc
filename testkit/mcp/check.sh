#!/usr/bin/env bash
# Tests the MCP server with the official clients and the official conformance suite; skipped, with the reason, where
# their packages are not installed and cannot be. usage: check.sh SKILLRUN
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")"
if [ ! -d node_modules/@modelcontextprotocol/conformance ]; then
  if ! command -v npm >/dev/null; then
    echo "skipped: npm is not installed"; exit 0
  fi
  if ! said=$(npm install --no-audit --no-fund --no-package-lock --silent 2>&1); then
    echo "skipped: npm cannot install the packages: ${said%%$'\n'*}"; exit 0
  fi
fi
# The suite needs Node 22; the package `node` has it.
node=node_modules/node/bin/node
[ -x "$node" ] || node=$(command -v node)
exec "$node" check.mjs "$program"
