// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the loop says in tests that are about something else: everybody may ask, and there are no nodes.

#include <stdbool.h>

#include "http-api.h"
#include "messages.h"

static inline bool answer_admits(const Argosy__Author *author, void *userdata) {
        return true;
}

static inline bool answer_is_ready(void *userdata) {
        return true;
}

static inline void answer_nodes(HttpCall *call) {
        Argosy__Response__Nodes nodes = ARGOSY__RESPONSE__NODES__INIT;

        http_call_respond(call, A_RESPONSE_WITH(.final = true, .what_case = ARGOSY__RESPONSE__WHAT_NODES,
                                                .nodes = &nodes));
}
