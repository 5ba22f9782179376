// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is written down of a request as a job, and by what it is known again. Pure.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "cluster-state.h"

enum {
        JOB_REASON_MAX = 512,         // bytes; longer ones are refused
        JOB_TARGETS_MAX = 16,         // the others are counted
        JOB_TARGET_MAX = 255,         // bytes of one
        JOB_TARGETS_BYTES_MAX = 1024, // of all
        JOB_AFTER_MAX = CLUSTER_STORED_AFTER_MAX, // that one waits for
        JOB_REFUSED_MAX = 100,        // units that are named of those that were refused; the others are
                                      // counted
        JOB_END_TEXT_MAX = 256,       // of what is said of one of its units, with the NUL
        JOB_END_MESSAGE_MAX = 1024,   // of what is said of why it ended, likewise
};

// All of it owned.
typedef struct JobWords {
        char *targets[JOB_TARGETS_MAX];
        size_t n_targets, n_bytes;
        uint32_t more_targets;
} JobWords;

// What the person named, or else what the request names. 0 or -ENOMEM.
int job_words_init(JobWords *w, const Argosy__Request *request);
void job_words_done(JobWords *w);

// How a unit of it has ended; what is too long is cut. NULL: out of memory.
Argosy__JobUnitEnd *job_unit_end_new(const char *unit, Argosy__UnitEnd how, const char *node,
                                     const char *message);

// As it is typed: "start", "cluster remove", "update --abort".
const char *job_verb(const Argosy__Request *request);
// What is wrong with what it is to be kept by: a sentence, or NULL.
const char *job_form_error(const Argosy__Request *request);
// A hash of all that it asks for: another one under the same id is another request; and over how many bytes
// it is. -ENOMEM.
int job_request_content(const Argosy__Request *request, uint64_t *ret, size_t *ret_len);
