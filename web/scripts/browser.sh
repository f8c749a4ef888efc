#!/usr/bin/env bash
# Makes sure that there is a Chromium for the browser tests, and a font with Chinese signs for their pictures.
set -euo pipefail
browser=${SKILLRUN_CHROMIUM:-/usr/bin/chromium}
missing=()
[ -x "$browser" ] || missing+=(chromium)
fc-list :lang=zh 2>/dev/null | grep -q . || missing+=(fonts-wqy-zenhei)
[ ${#missing[@]} -gt 0 ] || exit 0
if ! command -v apt-get >/dev/null; then
  echo "the browser tests need: ${missing[*]}; install them, or name a Chromium in SKILLRUN_CHROMIUM" >&2
  exit 1
fi
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
