// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a story was found wrong about (cmocka's assertions, see verdict.c); "": nothing yet.
const char *verdict_words(void);
// Where, or of which check: the same for the same fault, whatever the names and numbers. Valid until the
// next call.
const char *verdict_sign(void);
// A signal that ends the process.
void verdict_set_signal(int number);
// The callers of whatever ended the process, innermost first, on stderr: addr2line names those that are not
// exported.
void verdict_show_callers(void);
// Before a step that somebody wants to see: stops in the debugger, or says that there is none and ends the
// process.
void verdict_stop_for_debugger(void);
