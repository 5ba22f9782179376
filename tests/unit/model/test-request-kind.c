// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "messages.h"
#include "request-kind.h"
#include "str.h"

static const ProtobufCFieldDescriptor *field_of(Argosy__Request__WhatCase what) {
        return protobuf_c_message_descriptor_get_field(&argosy__request__descriptor, (unsigned) what);
}

static bool is_of_the_oneof(const ProtobufCFieldDescriptor *field) {
        return field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
}

static void every_kind_of_request_has_a_row(void **state) {
        for (unsigned i = 0; i < argosy__request__descriptor.n_fields; i++) {
                const ProtobufCFieldDescriptor *field = &argosy__request__descriptor.fields[i];
                const RequestKind *kind = request_kind((Argosy__Request__WhatCase) field->id);

                if (is_of_the_oneof(field) && (!kind || !streq(kind->name, field->name)))
                        fail_msg("the row of %s is called %s", field->name, kind ? kind->name : "nothing");
        }
}

static void no_row_is_of_anything_else(void **state) {
        for (unsigned what = 0; what < 1024; what++) {
                const ProtobufCFieldDescriptor *field = field_of((Argosy__Request__WhatCase) what);

                if (request_kind((Argosy__Request__WhatCase) what) && !(field && is_of_the_oneof(field)))
                        fail_msg("no kind of request has the number %u", what);
        }
        assert_null(request_kind(ARGOSY__REQUEST__WHAT__NOT_SET));
        assert_null(request_kind((Argosy__Request__WhatCase) -1));
}

static void what_has_to_be_chosen(const RequestKind *kind) {
        bool asked = kind->by == REQUEST_BY_LEADER || kind->by == REQUEST_BY_NODES;
        bool names_units = kind->about == REQUEST_ABOUT_UNITS || kind->about == REQUEST_ABOUT_GROUP;

        if (asked != (kind->about != REQUEST_ABOUT_NOTHING))
                fail_msg("the row of %s does not say whose matter it is", kind->name);
        if (names_units != (kind->unit != NULL))
                fail_msg("the row of %s does not say which units it names", kind->name);
}

// A default would have held it, limited it and ended it as nobody has meant it.
static void what_has_to_be_chosen_of_a_job(const RequestKind *kind) {
        bool is_job = kind->by == REQUEST_BY_LEADER && kind->effect == REQUEST_CHANGES;
        const RequestJob *job = &kind->job;

        if (!is_job && (job->verb || job->verb_of || job->queue || job->asks || job->ends || job->runs ||
                        job->id || job->moves))
                fail_msg("%s becomes no job", kind->name);
        if (!is_job)
                return;
        if (!job->verb == !job->verb_of)
                fail_msg("the row of %s does not say what its job is called, or twice", kind->name);
        if (job->moves && job->verb && !streq(job->moves, job->verb))
                fail_msg("the row of %s says of another verb that it moves units", kind->name);
        if (job->moves && !request_verb_only_moves(job->moves))
                fail_msg("that the job of %s only moves units is not found", kind->name);
        if (job->verb && job->runs &&
            request_verb_never_runs(job->verb) != !job->runs(&(Argosy__Request) ARGOSY__REQUEST__INIT))
                fail_msg("whether the job of %s goes on is not found by its verb", kind->name);
        if (job->verb && request_verb_only_moves(job->verb) != !!job->moves)
                fail_msg("whether the job of %s only moves units is not found by its verb", kind->name);
        if (job->queue == 0 || (job->queue & REQUEST_PAST_QUEUE && job->queue != REQUEST_PAST_QUEUE))
                fail_msg("the row of %s does not say what the queue means for it", kind->name);
        if (!job->asks || !job->ends || !job->runs || !job->id)
                fail_msg("the row of %s does not say whether it asks, ends something, goes on, or is known "
                         "again",
                         kind->name);
}

static void nothing_of_a_row_is_left_to_a_default(void **state) {
        for (unsigned i = 0; i < argosy__request__descriptor.n_fields; i++) {
                const RequestKind *kind =
                        request_kind((Argosy__Request__WhatCase) argosy__request__descriptor.fields[i].id);

                if (!kind)
                        continue;
                what_has_to_be_chosen(kind);
                what_has_to_be_chosen_of_a_job(kind);
        }
}

// Without a leader this host answers what it may answer for itself, and nothing else.
static void whoever_is_asked_about_nodes_says_of_which(void **state) {
        for (unsigned i = 0; i < argosy__request__descriptor.n_fields; i++) {
                const RequestKind *kind =
                        request_kind((Argosy__Request__WhatCase) argosy__request__descriptor.fields[i].id);

                if (kind && (kind->by == REQUEST_BY_NODES) != !!kind->node)
                        fail_msg("the row of %s does not say which node a request names", kind->name);
        }
}

static void what_units_use_is_asked_of_one_host_or_of_all(void **state) {
        Argosy__Request__Top top = ARGOSY__REQUEST__TOP__INIT;
        Argosy__Request q = REQUEST_OF(TOP, top, &top);

        assert_false(request_is_local(&q));
        assert_true(request_is_read(&q));
        top.node = (char *) "n2";
        assert_false(request_is_read(&q));
        top.local = true;
        assert_true(request_is_local(&q));
}

static void what_changes_something_is_no_read(void **state) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request q = REQUEST_OF(CHANGE, change, &change);

        assert_false(request_is_local(&q));
        assert_false(request_is_read(&q));
        assert_int_equal(request_kind(q.what_case)->effect, REQUEST_CHANGES);
}

static void a_job_runs_if_something_follows_from_it(void **state) {
        Argosy__Request__Change change = MESSAGE_OF(request__change, .verb = ARGOSY__VERB__VERB_SUBMIT);
        Argosy__Request__NodeChange node = ARGOSY__REQUEST__NODE_CHANGE__INIT;
        Argosy__Request__Rollout rollout = ARGOSY__REQUEST__ROLLOUT__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);

        assert_false(request_job_runs(&request));
        change.verb = ARGOSY__VERB__VERB_DESTROY;
        assert_true(request_job_runs(&request));

        request.what_case = ARGOSY__REQUEST__WHAT_NODE_CHANGE;
        request.node_change = &node;
        node.mode = ARGOSY__NODE_MODE__MODE_CORDONED;
        assert_false(request_job_runs(&request));
        node.mode = ARGOSY__NODE_MODE__MODE_DRAINING;
        assert_true(request_job_runs(&request));

        request.what_case = ARGOSY__REQUEST__WHAT_ROLLOUT;
        request.rollout = &rollout;
        assert_true(request_job_runs(&request));
        rollout.abort = true;
        assert_false(request_job_runs(&request));

        request.what_case = ARGOSY__REQUEST__WHAT_LABEL_CHANGE;
        request.label_change = NULL;
        assert_false(request_job_runs(&request));
}

// The word alone says it of a job that the log has, and it has to be the one that a request becomes.
static void moves_are_known_by_what_their_jobs_are_called(void **state) {
        Argosy__Request__Rebalance rebalance = ARGOSY__REQUEST__REBALANCE__INIT;
        Argosy__Request q = REQUEST_OF(REBALANCE, rebalance, &rebalance);

        assert_true(request_verb_only_moves(request_job(&q)->verb_of(&q)));
        rebalance.abort = true;
        assert_false(request_verb_only_moves(request_job(&q)->verb_of(&q)));
        assert_true(request_verb_only_moves("cluster remove"));
        assert_false(request_verb_only_moves("drain"));
        assert_false(request_verb_never_runs("drain") || request_verb_never_runs("") ||
                     request_verb_never_runs("zzz"));
        assert_false(request_verb_only_moves(""));
}

RUN_TESTS(
        cmocka_unit_test(every_kind_of_request_has_a_row),
        cmocka_unit_test(no_row_is_of_anything_else),
        cmocka_unit_test(nothing_of_a_row_is_left_to_a_default),
        cmocka_unit_test(whoever_is_asked_about_nodes_says_of_which),
        cmocka_unit_test(what_units_use_is_asked_of_one_host_or_of_all),
        cmocka_unit_test(what_changes_something_is_no_read),
        cmocka_unit_test(a_job_runs_if_something_follows_from_it),
        cmocka_unit_test(moves_are_known_by_what_their_jobs_are_called)
)
