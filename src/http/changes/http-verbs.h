// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What argosyctl can change besides units: nodes, jobs, rollouts, roles, pools, rights, the queue, the
// cluster. One row for each verb says what its Request is, and of which members it is made; verbs are called
// as list-jobs shows them. Pure; a client's bytes.

#include <cjson/cJSON.h>

#include "arena.h"
#include "argosy.pb-c.h"
#include "http-members.h"

typedef struct HttpVerb HttpVerb;

const HttpVerb *http_verb_find(const char *name); // NULL: there is no such verb
const HttpVerb *http_verb_at(size_t i);           // all of them, by number; NULL: there are no more
const char *http_verb_name(const HttpVerb *v);
// The members that it takes besides those that all take; NULL: none.
const HttpMember *http_verb_members(const HttpVerb *v);
// What it asks for, borrowed from `body` and the arena, without what the job is kept by; `reason` is that.
// 0; or -EINVAL, and *ret_why, a new text, says more; -ENOMEM.
int http_verb_make(const HttpVerb *v, const cJSON *body, const char *reason, Arena *arena,
                   Argosy__Request *ret, char **ret_why);
