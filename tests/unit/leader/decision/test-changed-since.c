// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who has changed a unit since a request was asked for, where its record does not say it any more: a job
// that began before that and went on, and one that is not remembered.
#include "changed-since.h"
#include "messages.h"
#include "queue-words.h"

enum { LONG = 200, TIMES = 40 }; // names of a record, and records: together more than is kept of the past

static PendingRequest asked_now(void) {
        return (PendingRequest){.asked.revision = cluster_state_revision(g.state)};
}

static bool is_changed(PendingRequest t, const char *unit) {
        return changed_since(g.leader, &t, unit);
}

static void a_unit_that_was_never_there_is_not_changed(void **state) {
        (void) answer((Ask){START, "a.service", SERVICE});
        PendingRequest t = asked_now();
        (void) answer((Ask){START, "b.service", SERVICE});
        (void) answer((Ask){ARGOSY__VERB__VERB_DESTROY, "b.service"});
        assert_true(is_changed(t, "b.service"));
        assert_false(is_changed(t, "c.service"));
        assert_false(is_changed(t, "a.service"));
}

// Its number is from before, and what it has changed is from behind.
static void a_job_that_was_held_back_meanwhile_is_found(void **state) {
        (void) answer((Ask){START, "a.service", SERVICE});
        uint64_t job = hold((Ask){ARGOSY__VERB__VERB_DESTROY, "a.service", .hold = true});
        (void) answer((Ask){START, "b.service", SERVICE});
        PendingRequest t = asked_now();
        assert_int_equal(release(job), 0);
        rig_settle(&g);
        assert_null(rig_record(&g, "a.service"));
        assert_true(is_changed(t, "a.service"));
        uint64_t by = changed_since_by(g.leader, &t, "a.service");
        assert_int_equal(by, job);
        assert_false(is_changed(t, "b.service"));
        assert_false(is_changed(t, "c.service"));
}

static void change_long(Argosy__Verb verb) {
        static char names[LONG][UNIT_NAME_MAX + 1], *pointers[LONG];
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        uint64_t id[2] = {++g.id, 66};

        for (size_t i = 0; i < LONG; i++) {
                snprintf(names[i], sizeof(names[i]), "l@%0200zu.service", i);
                pointers[i] = names[i];
        }
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) "l@.service",
                                            .path = (char *) "l@.service",
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) SERVICE,
                                                                             .len = strlen(SERVICE)}),
                          *files = &file;
        change.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        change.verb = verb;
        change.names = pointers;
        change.n_names = LONG;
        change.files = &files;
        change.n_files = verb == START;
        assert_int_equal(rig_last(rig_ask_and_settle(&g, &request))->status, 0);
}

static void keep_little(void) {
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .history_mib = 1);

        assert_int_equal(rig_last(rig_ask_and_settle(&g, A_REQUEST(QUEUE_CHANGE, queue_change, &m)))->status,
                         0);
}

// Its number is from before that, and those that have begun since are all kept.
static void what_a_forgotten_job_may_have_changed_when_it_went_on_is_changed(void **state) {
        keep_little();
        (void) answer((Ask){START, "a.service", SERVICE});
        uint64_t job = hold((Ask){ARGOSY__VERB__VERB_DESTROY, "a.service", .hold = true});
        for (size_t i = 0; i < TIMES / 4; i++)
                change_long(i % 2 ? STOP : START);
        uint64_t newest = rig_last_job(&g);
        PendingRequest t = asked_now();
        assert_false(is_changed(t, "a.service"));
        assert_int_equal(release(job), 0);
        rig_settle(&g);
        assert_null(rig_record(&g, "a.service"));
        for (size_t i = 0; state_of(job) != ARGOSY__JOB_STATE__JOB_UNKNOWN; i++)
                change_long(i % 2 ? STOP : START);
        assert_true(cluster_state_first_job(g.state) <= newest);
        assert_true(is_changed(t, "a.service"));
        assert_int_equal(changed_since_by(g.leader, &t, "a.service"), 0);
        t = asked_now();
        assert_false(is_changed(t, "a.service"));
}

// Any of those that are forgotten may have taken it away.
static void what_a_forgotten_job_may_have_changed_is_changed(void **state) {
        keep_little();
        (void) answer((Ask){START, "a.service", SERVICE});
        PendingRequest t = asked_now();
        (void) answer((Ask){ARGOSY__VERB__VERB_DESTROY, "a.service"});
        uint64_t job = rig_last_job(&g);
        for (size_t i = 0; i < TIMES; i++)
                change_long(i % 2 ? STOP : START);
        assert_int_equal(state_of(job), ARGOSY__JOB_STATE__JOB_UNKNOWN);
        assert_true(is_changed(t, "a.service"));
        assert_int_equal(changed_since_by(g.leader, &t, "a.service"), 0);
}

RUN_TESTS(
        RIG_TEST(a_unit_that_was_never_there_is_not_changed),
        RIG_TEST(a_job_that_was_held_back_meanwhile_is_found),
        RIG_TEST(what_a_forgotten_job_may_have_changed_is_changed),
        RIG_TEST(what_a_forgotten_job_may_have_changed_when_it_went_on_is_changed)
)
