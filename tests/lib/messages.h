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

// Messages with texts: those that are not given are empty.
#pragma GCC diagnostic ignored "-Woverride-init"
#define EMPTY ((char *) protobuf_c_empty_string)
#define NAMED_FILE_OF(...) MESSAGE_OF(named_file, .name = EMPTY, .path = EMPTY, ##__VA_ARGS__)
#define AUTHOR_OF(...) MESSAGE_OF(author, .user = EMPTY, .token = EMPTY, ##__VA_ARGS__)
#define ACCESS_CHANGE_OF(...)                                                                           \
        MESSAGE_OF(request__access_change, .user = EMPTY, .group = EMPTY, .host = EMPTY, .role = EMPTY, \
                   ##__VA_ARGS__)
#define QUEUE_RULE_OF(...)                                                                   \
        MESSAGE_OF(queue_rule, .author = EMPTY, .verb = EMPTY, .unit = EMPTY, .role = EMPTY, \
                   .reason = EMPTY, .text = EMPTY, ##__VA_ARGS__)
#define UNIT_ROW_OF(...)                                                                             \
        MESSAGE_OF(response__unit_row, .unit = EMPTY, .node = EMPTY, .load = EMPTY, .active = EMPTY, \
                   .sub = EMPTY, .spec = EMPTY, .error = EMPTY, .host_id = EMPTY, .note = EMPTY,     \
                   .image = EMPTY, .digest = EMPTY, ##__VA_ARGS__)
#define JOURNAL_OF(...) MESSAGE_OF(request__journal, .name = EMPTY, .node = EMPTY, ##__VA_ARGS__)
#define JOB_ROW_OF(...)                                                                               \
        MESSAGE_OF(response__job_row, .author = EMPTY, .verb = EMPTY, .reason = EMPTY, .host = EMPTY, \
                   .state = EMPTY, .message = EMPTY, .held_by = EMPTY, ##__VA_ARGS__)
#define NODE_CHANGE_OF(...) MESSAGE_OF(request__node_change, .reason = EMPTY, ##__VA_ARGS__)
#define LIST_JOBS_OF(...) MESSAGE_OF(request__list_jobs, .author = EMPTY, ##__VA_ARGS__)
#define JOB_OF(...) MESSAGE_OF(request__job, .reason = EMPTY, ##__VA_ARGS__)
#define UNIT_RECORD_OF(...) \
        MESSAGE_OF(unit_record, .name = EMPTY, .displaced_by = EMPTY, .set = EMPTY, ##__VA_ARGS__)
#define ROLLOUT_OF(...) MESSAGE_OF(request__rollout, .name = EMPTY, .secret = EMPTY, ##__VA_ARGS__)

// Of a message that is one of many kinds: the kind, its field, what is in it, and further fields.
#define REQUEST_OF(what, field, m, ...) \
        MESSAGE_OF(request, .what_case = ARGOSY__REQUEST__WHAT_##what, .field = (m), ##__VA_ARGS__)
#define RESPONSE_WITH(...) \
        MESSAGE_OF(response, .message = EMPTY, .tag = EMPTY, .cursor = EMPTY, ##__VA_ARGS__)
#define RESPONSE_OF(what, field, m, ...) \
        RESPONSE_WITH(.what_case = ARGOSY__RESPONSE__WHAT_##what, .field = (m), ##__VA_ARGS__)
#define TO_VOTER_OF(msg, field, m) \
        MESSAGE_OF(to_voter, .msg_case = ARGOSY__TO_VOTER__MSG_##msg, .field = (m))
#define TO_HOST_OF(msg, field, m) MESSAGE_OF(to_host, .msg_case = ARGOSY__TO_HOST__MSG_##msg, .field = (m))
