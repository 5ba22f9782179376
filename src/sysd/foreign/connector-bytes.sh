#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# PROGRAM OUTPUT: assembler source that makes the program's bytes part of whatever it is linked with.
set -e
cat >"$2" <<EOF
.section .rodata
.balign 16
.globl connector_begin
.hidden connector_begin
connector_begin:
.incbin "$(realpath "$1")"
.globl connector_end
.hidden connector_end
connector_end:
.section .note.GNU-stack,"",%progbits
EOF
