#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# argosyctl starts without the libraries that only a daemon needs: libsystemd alone, with the six that it brings, is a fifth of the time.
# Usage: test-libraries.sh PATH-OF-ARGOSYCTL
needed=$(LC_ALL=C readelf -d "$1") || exit 1
if echo "$needed" | grep 'NEEDED.*lib\(systemd\|microhttpd\|raft\|cjson\|jemalloc\)'; then
        echo "argosyctl is linked with the above" >&2
        exit 1
fi
