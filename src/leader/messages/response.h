// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Making responses. Messages made here own all that they point to and are freed with message_free().

#include <stdarg.h>

#include "argosy.pb-c.h"
#include "array.h"
#include "macro.h"
#include "message.h"

// Bytes of all responses together with which a question is answered at once: below FRAME_MAX, and below what
// a client may be sent before it reads anything.
enum { ANSWER_BYTES_MAX = 24 * 1024 * 1024 };

static inline void response_freep(Argosy__Response **r) {
        message_free(*r);
}
#define _cleanup_response_ _cleanup_(response_freep)

// An empty response, with a `what` of that kind where one is named. NULL: out of memory.
Argosy__Response *response_new(Argosy__Response__WhatCase what);
// Progress: so much is left.
Argosy__Response *response_progress(size_t left);
// The whole request failed: positive errno, and the reason.
Argosy__Response *response_error(int status, const char *format, ...) _printf_(2, 3);

// Leaves out why single nodes refuse units, last unit first, until it is no longer than that. -EMSGSIZE:
// even then it is longer.
int response_fit(Argosy__Response *r, size_t max);
// What is said instead of one that is too long. `made`: the change that it is about is in the log; its
// status is another one then (EMSGSIZE), for E2BIG makes clients ask again for parts of it.
Argosy__Response *response_too_long(size_t bytes, bool made);
// It names a label that cannot be one.
Argosy__Response *response_no_label(const Argosy__Label *label);

// Appends a message (NULL: out of memory) to a repeated field, and takes it over also on failure.
#define FIELD_APPEND(array, n, item)                                      \
        ({                                                                \
                typeof(item) _item = (item);                              \
                int _r = _item ? ARRAY_RESERVE(array, (n) + 1) : -ENOMEM; \
                if (_r == 0)                                              \
                        (array)[(n)++] = _item;                           \
                else if (_item)                                           \
                        message_free(_item);                              \
                _r;                                                       \
        })

Argosy__Response__UnitResult *unit_result_new(const char *name);
// Those of `from` behind those of `to`. 0, or -ENOMEM: they are still where they were.
int unit_results_move(Argosy__Response__Change *from, Argosy__Response__Change *to);
Argosy__Refusal *refusal_new(const char *node, const char *reason);
// NULL: none.
int status_set_outcome(Argosy__Response__Status *s, const Argosy__Outcome *o);
// The paths of the drop-ins that a content has, of a status that has none yet. 0 or -ENOMEM.
int status_set_drop_ins(Argosy__Response__Status *s, const void *content, size_t len);
// The names of the files that come with it.
int status_set_files(Argosy__Response__Status *s, const void *content, size_t len);
Argosy__Label *label_new(const char *key, const char *value);
// Short form of a spec's hash, as tables show it. `ret` has room for 8 bytes.
void spec_short(const ProtobufCBinaryData *hash, char ret[static 8]);
