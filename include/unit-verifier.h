// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Asks a helper (manager-helper.h) what this host's systemd says of unit files, and remembers the answer:
// each content is looked at once, as long as systemd stays the same. PID 1 hears of none of it. One for each
// process; on the loop.
//
// What systemd refuses is not remembered: a drop-in on this host may mend it at any time. Nor is what is
// said of containers (quadlet.h): of each of these the unit is made anew, by this host's generator, which
// says by a refusal why it makes none.

#include <uv.h>

#include "buf.h"
#include "hash.h"
#include "helper-frame.h"
#include "unit-analysis.h"

typedef struct UnitVerifier UnitVerifier;

enum {
        UNIT_VERIFIER_FILES_MAX = HELPER_VERIFY_FILES,
        UNIT_VERIFIER_BYTES_MAX = 768 * 1024, // of contents in one question: they are hashed on the loop
        UNIT_VERIFIER_WAITING_MAX = 1024,     // that ask at a time, with a limit
        UNIT_VERIFIER_NO_LIMIT = 0,           // `patience_ms`: for as long as those before it take
};

typedef struct UnitVerdict { // borrowed
        const char *systemd;          // which systemd it is of: "systemd 252"
        const char *podman;           // "5.4"; "": there is none that argosy can use
        const UnitFindings *findings; // n, each about the file in its place
        // likewise, made of a container's file; empty: it is none, or is refused
        const Buf *made;
        size_t n;
} UnitVerdict;

// `error`: -ETIMEDOUT: no answer in the time that was given; -ENOENT: there is no systemd-analyze; others:
// of the helper; then the verdict is empty.
typedef void UnitVerified(int error, const UnitVerdict *verdict, void *userdata);

// `command` as in HelperConfig; not copied.
int unit_verifier_new(uv_loop_t *loop, const char *const *command, UnitVerifier **ret);
// `done` fires once, from the loop, never before return, unless the question is cancelled. Files are copied.
// Without a limit it fires all the same: the helper has one for each question. -EBUSY: too many ask; -E2BIG:
// too much at once; -ENOMEM. *ret: for unit_verifier_cancel(), never 0.
int unit_verifier_ask(UnitVerifier *v, const UnitAnalysisFile *files, size_t n, bool user,
                      unsigned patience_ms, UnitVerified *done, void *userdata, uint64_t *ret);
// Asks for podman's version alone; UnitVerdict.n is 0 then. -ENOENT: there is no generator. -EALREADY:
// there is the same as when that was asked last,
// and answered. Otherwise as unit_verifier_ask().
int unit_verifier_ask_podman(UnitVerifier *v, unsigned patience_ms, UnitVerified *done, void *userdata,
                             uint64_t *ret);
// Returns the userdata of what will not be called; NULL: it has been.
void *unit_verifier_cancel(UnitVerifier *v, uint64_t number);
// No `done` fires any more. `closed` (may be NULL) does, when the helper is gone.
void unit_verifier_close(UnitVerifier *v, void (*closed)(void *userdata), void *userdata);
