// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Initialisers of messages, besides those of message-of.h.
//
//      Argosy__Request__Why m = MESSAGE_OF(request__why, .names = names, .n_names = 1);

#include "message-of.h"
#include "message.h"

// For _cleanup_(), of a pointer to any message.
static inline void message_freep(void *message) {
        message_free(*(void **) message);
}

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
#define UNIT_RESULT_OF(...)                                                                              \
        MESSAGE_OF(response__unit_result, .name = EMPTY, .message = EMPTY, .node = EMPTY, .from = EMPTY, \
                   .because_of = EMPTY, .file_change = EMPTY, ##__VA_ARGS__)
#define ATTACH_OF(...) \
        MESSAGE_OF(to_voter__attach, .name = EMPTY, .address = EMPTY, .address_name = EMPTY, ##__VA_ARGS__)
#define JOB_RECORD_OF(...)                                                                        \
        MESSAGE_OF(job_record, .host_name = EMPTY, .user = EMPTY, .verb = EMPTY, .reason = EMPTY, \
                   .end_message = EMPTY, .rollout = EMPTY, ##__VA_ARGS__)
#define GRANT_RECORD_OF(...) \
        MESSAGE_OF(grant_record, .user = EMPTY, .group = EMPTY, .role = EMPTY, ##__VA_ARGS__)
#define TOP_OF(...) MESSAGE_OF(request__top, .node = EMPTY, ##__VA_ARGS__)
#define UNIT_FILE_ROW_OF(...)                                                                              \
        MESSAGE_OF(response__unit_file_row, .unit = EMPTY, .rev = EMPTY, .desired = EMPTY, .state = EMPTY, \
                   .node = EMPTY, .description = EMPTY, .set = EMPTY, ##__VA_ARGS__)
#define UNIT_REPORT_OF(...)                                                                   \
        MESSAGE_OF(unit_report, .name = EMPTY, .sub = EMPTY, .result = EMPTY, .error = EMPTY, \
                   .down_by = EMPTY, .pull = EMPTY, ##__VA_ARGS__)
#define JOB_UNIT_ROW_OF(...)                                                                                \
        MESSAGE_OF(response__job_unit_row, .unit = EMPTY, .rev = EMPTY, .desired = EMPTY, .now = EMPTY,     \
                   .message = EMPTY, .end = EMPTY, .end_message = EMPTY, .node = EMPTY, .rev_after = EMPTY, \
                   .desired_after = EMPTY, .from = EMPTY, ##__VA_ARGS__)
#define HELLO_OF(...) MESSAGE_OF(to_voter__hello, .version = EMPTY, ##__VA_ARGS__)
#define CALL_OF(...) MESSAGE_OF(to_host__call, .image = EMPTY, ##__VA_ARGS__)
#define STATUS_OF(...)                                                                                \
        MESSAGE_OF(response__status, .desired = EMPTY, .why = EMPTY, .note = EMPTY, .outcome = EMPTY, \
                   ##__VA_ARGS__)
#define OUTCOME_OF(...) MESSAGE_OF(outcome, .result = EMPTY, ##__VA_ARGS__)
#define ACCESS_TOKEN_RECORD_OF(...)                                                                     \
        MESSAGE_OF(access_token_record, .id = EMPTY, .name = EMPTY, .role = EMPTY, .created_by = EMPTY, \
                   .revoked_by = EMPTY, ##__VA_ARGS__)
#define HELPER_REPLY_OF(...) \
        MESSAGE_OF(helper_reply, .why = EMPTY, .systemd = EMPTY, .podman = EMPTY, ##__VA_ARGS__)
#define USAGE_ROW_OF(...) MESSAGE_OF(response__usage_row, .unit = EMPTY, ##__VA_ARGS__)
#define FILE_FINDINGS_OF(...) MESSAGE_OF(response__file_findings, .unit = EMPTY, ##__VA_ARGS__)
#define CLUSTER_TOKEN_OF(...) MESSAGE_OF(request__cluster_token, .for_host = EMPTY, ##__VA_ARGS__)
#define VERIFY_OF(...) MESSAGE_OF(request__verify, .node = EMPTY, ##__VA_ARGS__)
#define JOURNAL_LINES_OF(...) MESSAGE_OF(response__journal, .node = EMPTY, ##__VA_ARGS__)
#define APPLY_ROW_OF(...)                                                                                  \
        MESSAGE_OF(response__apply_row, .unit = EMPTY, .rev = EMPTY, .rev_after = EMPTY, .desired = EMPTY, \
                   .desired_after = EMPTY, .set = EMPTY, .state = EMPTY, .why = EMPTY, .node = EMPTY,      \
                   ##__VA_ARGS__)
#define CAT_OF(...) MESSAGE_OF(response__cat, .name = EMPTY, ##__VA_ARGS__)
#define CLUSTER_STATUS_OF(...)                                                                            \
        MESSAGE_OF(response__cluster_status, .cluster_id = EMPTY, .leader = EMPTY, .role = EMPTY,         \
                   .notice = EMPTY, .secrets_notice = EMPTY, .ca_notice = EMPTY, .feature_notice = EMPTY, \
                   ##__VA_ARGS__)
#define QUEUE_OF(...) MESSAGE_OF(response__queue, .reason = EMPTY, ##__VA_ARGS__)
#define POOL_ROW_OF(...) MESSAGE_OF(response__pool_row, .name = EMPTY, ##__VA_ARGS__)
#define USAGE_OF(...) MESSAGE_OF(response__usage, .node = EMPTY, ##__VA_ARGS__)
#define TOKEN_CREATE_OF(...) MESSAGE_OF(request__token_create, .name = EMPTY, .role = EMPTY, ##__VA_ARGS__)
#define ROLLOUT_RECORD_OF(...) \
        MESSAGE_OF(rollout_record, .name = EMPTY, .reason = EMPTY, .secret = EMPTY, ##__VA_ARGS__)
#define HOST_RECORD_OF(...)                                                           \
        MESSAGE_OF(host_record, .machine_id = EMPTY, .name = EMPTY, .address = EMPTY, \
                   .address_name = EMPTY, ##__VA_ARGS__)
#define QUEUE_RECORD_OF(...) MESSAGE_OF(queue_record, .reason = EMPTY, ##__VA_ARGS__)
#define EVENTS_OF(...) MESSAGE_OF(request__events, .cursor = EMPTY, ##__VA_ARGS__)
#define FILE_ASK_OF(...) MESSAGE_OF(to_voter__file_ask, .unit = EMPTY, ##__VA_ARGS__)
#define STORE_OPENED_OF(...) MESSAGE_OF(to_voter__store_opened, .error = EMPTY, ##__VA_ARGS__)
#define JOIN_OF(...) MESSAGE_OF(request__join, .peer_address = EMPTY, ##__VA_ARGS__)
#define TOKEN_RECORD_OF(...) MESSAGE_OF(token_record, .id = EMPTY, .for_host = EMPTY, ##__VA_ARGS__)
#define NODE_RECORD_OF(...) MESSAGE_OF(node_record, .manager = EMPTY, .mode_reason = EMPTY, ##__VA_ARGS__)
#define COUNTER_OF(...) MESSAGE_OF(response__counter, .name = EMPTY, .help = EMPTY, ##__VA_ARGS__)
#define NODE_REPORT_OF(...) MESSAGE_OF(node_report, .manager = EMPTY, .reason = EMPTY, ##__VA_ARGS__)
#define NODE_ROW_OF(...)                                                                                    \
        MESSAGE_OF(response__node_row, .node = EMPTY, .address = EMPTY, .state = EMPTY, .role = EMPTY,      \
                   .host_id = EMPTY, .machine_id = EMPTY, .manager = EMPTY, .reason = EMPTY, .mode = EMPTY, \
                   .mode_reason = EMPTY, ##__VA_ARGS__)

// Those of message-of.h by their address, where a message is made and used at once.
#define A_REQUEST(...) (&(Argosy__Request) REQUEST_OF(__VA_ARGS__))
#define A_RESPONSE(...) (&(Argosy__Response) RESPONSE_OF(__VA_ARGS__))
#define A_RESPONSE_WITH(...) (&(Argosy__Response) RESPONSE_WITH(__VA_ARGS__))
#define A_TO_VOTER(...) (&(Argosy__ToVoter) TO_VOTER_OF(__VA_ARGS__))
#define A_TO_HOST(...) (&(Argosy__ToHost) TO_HOST_OF(__VA_ARGS__))
