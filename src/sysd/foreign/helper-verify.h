// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The helper's side of a question about contents: see unit-verifier.h.

#include "argosy.pb-c.h"
#include "buf.h"
#include "macro.h"
#include "unit-findings.h"

typedef struct HelperVerified { // what a reply points to; zero-initialised
        UnitFindings *findings;
        size_t n;
        Buf *made; // of each file that is a container's, the unit that podman's generator makes of it
        char podman[16];
        ProtobufCBinaryData unit; // that of the only file
        Argosy__HelperFinding *list, **pointers;
} HelperVerified;

void helper_verified_done(HelperVerified *v);
#define _cleanup_helper_verified_ _cleanup_(helper_verified_done)

// Fills in `reply`, also its error. Negative errno: the request is none (-EBADMSG), or -ENOMEM.
int helper_verify_answer(const Argosy__HelperRequest *q, HelperVerified *v, Argosy__HelperReply *reply);
