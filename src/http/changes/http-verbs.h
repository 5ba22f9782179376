// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What argosyctl can change besides units: nodes, jobs, rollouts, roles, pools, rights, the queue, the cluster. One table says which
// members each verb takes, and how its Request is made of them; verbs are called as list-jobs shows them. Pure; a client's bytes.

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "arena.h"
#include "argosy.pb-c.h"

typedef struct HttpVerb HttpVerb;

// NULL: there is no such verb.
const HttpVerb *http_verb_find(const char *name);
// Whether it takes a member of that name, besides those that all take.
bool http_verb_takes(const HttpVerb *v, const char *member);
// The verbs and their members, by number; NULL: there are no more.
const char *http_verb_name(size_t i);
const char *http_verb_member(size_t i, size_t k);
// What it asks for, borrowed from `body` and the arena, without what the job is kept by; `reason` is that. 0; or -EINVAL, and
// *ret_why, a new text, says more; -ENOMEM.
int http_verb_make(const HttpVerb *v, const cJSON *body, const char *reason, Arena *arena,
                   Argosy__Request *ret, char **ret_why);
