// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Initialisers of messages.
//
//      Argosy__Request__Why m = MESSAGE_OF(request__why, .names = names, .n_names = 1);
//      Argosy__Request request = REQUEST_OF(WHY, why, &m);

#include "argosy.pb-c.h"

// Of a message that has no text among its fields but those that are given.
#define MESSAGE_OF(name, ...) \
        { PROTOBUF_C_MESSAGE_INIT(&argosy__##name##__descriptor), ##__VA_ARGS__ }

// Of a message that is one of many kinds: the kind, its field, what is in it, and further fields.
#define REQUEST_OF(what, field, m, ...) \
        MESSAGE_OF(request, .what_case = ARGOSY__REQUEST__WHAT_##what, .field = (m), ##__VA_ARGS__)
#define RESPONSE_OF(what, field, m, ...)                                                                 \
        MESSAGE_OF(response, .what_case = ARGOSY__RESPONSE__WHAT_##what, .field = (m),                   \
                   .message = (char *) protobuf_c_empty_string, .tag = (char *) protobuf_c_empty_string, \
                   .cursor = (char *) protobuf_c_empty_string, ##__VA_ARGS__)
#define TO_VOTER_OF(msg, field, m) \
        MESSAGE_OF(to_voter, .msg_case = ARGOSY__TO_VOTER__MSG_##msg, .field = (m))
#define TO_HOST_OF(msg, field, m) MESSAGE_OF(to_host, .msg_case = ARGOSY__TO_HOST__MSG_##msg, .field = (m))
