// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A message that is one of many kinds, with what is in it, which is borrowed:
//
//      Argosy__Request__Why why = ARGOSY__REQUEST__WHY__INIT;
//      Argosy__Request request = REQUEST_OF(WHY, why, &why);
//
// Further fields may stand behind that; what is not given is as of INIT.

#include "argosy.pb-c.h"

// Of a message that has no text among its fields but those that are given.
#define MESSAGE_OF(name, ...) \
        { PROTOBUF_C_MESSAGE_INIT(&argosy__##name##__descriptor), ##__VA_ARGS__ }

#define REQUEST_OF(what, field, m, ...) \
        MESSAGE_OF(request, .what_case = ARGOSY__REQUEST__WHAT_##what, .field = (m), ##__VA_ARGS__)
#define RESPONSE_WITH(...)                                                 \
        MESSAGE_OF(response, .message = (char *) protobuf_c_empty_string,  \
                   .awaits = (char *) protobuf_c_empty_string,             \
                   .tag = (char *) protobuf_c_empty_string,                \
                   .cursor = (char *) protobuf_c_empty_string, ##__VA_ARGS__)
#define RESPONSE_OF(what, field, m, ...) \
        RESPONSE_WITH(.what_case = ARGOSY__RESPONSE__WHAT_##what, .field = (m), ##__VA_ARGS__)
#define LOG_OP_OF(op, field, m) MESSAGE_OF(log_op, .op_case = ARGOSY__LOG_OP__OP_##op, .field = (m))
#define TO_VOTER_OF(msg, field, m) \
        MESSAGE_OF(to_voter, .msg_case = ARGOSY__TO_VOTER__MSG_##msg, .field = (m))
#define TO_HOST_OF(msg, field, m) MESSAGE_OF(to_host, .msg_case = ARGOSY__TO_HOST__MSG_##msg, .field = (m))
