#!/bin/sh
# Finds a Chromium for the browser tests, or installs Debian's when we may.
set -eu
for candidate in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
    if [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1; then
        exit 0
    fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "chromium is missing: installing Debian's package"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
    exit 0
fi
echo "The browser tests need Chromium and none was found." >&2
echo "Install it (Debian, Ubuntu: sudo apt-get install chromium) or set CHROMIUM=/path/to/chromium." >&2
exit 1
