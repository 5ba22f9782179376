// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a job has brought and does not start is taken back by it: of units that ran, with the job failed,
// under any leader.
#include <errno.h>

#include "leader-asks.h"
#include "leader-private.h"
#include "message.h"
#include "messages.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define OTHER "[Service]\nExecStart=/bin/sleep 2000\n"
#define BAD "[Service]\nExecStart=/bin/false\n"
#define START ARGOSY__VERB__VERB_START
#define RUNNING ARGOSY__JOB_STATE__JOB_RUNNING
#define DONE ARGOSY__JOB_STATE__JOB_DONE
#define FAILED ARGOSY__JOB_STATE__JOB_FAILED

enum { LATER_MS = 1100, N_INSTANCES = 3, FILES_MAX = 2 };

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
        g.bad = hash_of(BAD, strlen(BAD));
}

RIG_TEARDOWN

typedef struct NewFile {
        const char *name, *content;
} NewFile;

static char said[256]; // of the first of them

// start --replace of units, with these files. The job.
static uint64_t replace_all(const NewFile *list, size_t n_files, char **names, size_t n) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        Argosy__NamedFile files[FILES_MAX], *pointers[FILES_MAX];
        uint64_t id[2] = {++g.id, 55};
        const Argosy__Response *response;

        for (size_t i = 0; i < n_files; i++) {
                files[i] = (Argosy__NamedFile) MESSAGE_OF(
                        named_file, .name = (char *) list[i].name, .path = (char *) list[i].name,
                        .content = (ProtobufCBinaryData){.data = (uint8_t *) list[i].content,
                                                         .len = strlen(list[i].content)});
                pointers[i] = &files[i];
        }
        change.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)};
        change.verb = START;
        change.replace = true;
        change.names = names;
        change.n_names = n;
        change.files = pointers;
        change.n_files = n_files;
        response = rig_last(rig_ask_and_settle(&g, &request));
        assert_int_equal(response->status, 0);
        str_fit(said, sizeof(said), "%s", response->change->units[0]->message);
        return rig_last_job(&g);
}

static uint64_t replace(const char *name, const char *content) {
        return replace_all(&(NewFile){name, content}, 1, (char *[]){(char *) name}, 1);
}

static Argosy__JobState state_of(uint64_t number) {
        return cluster_state_job_state(g.state, number);
}

static void assert_up(const char *name) {
        assert_int_equal(rig_unit_on(&g, rig_host_of(&g, name), name)->active,
                         ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
}

static void what_ran_goes_back_and_the_job_has_failed(void **state) {
        (void) rig_change(&g, START, "a.service", SERVICE);
        uint64_t job = replace("a.service", BAD);
        rig_pass_ms(&g, LATER_MS);
        assert_true(rig_has_content(&g, "a.service", SERVICE));
        assert_up("a.service");
        assert_int_equal(state_of(job), FAILED);
        const Argosy__Response__JobRow *row = rig_show_job(&g, job);
        assert_int_equal(row->failed, 1);
        assert_non_null(strstr(row->units[0]->end_message, "; it has the file of before again"));
}

// ---- networks that containers share

#define NETWORK(subnet) "\n# front.network\n[Network]\nSubnet=" subnet "\n"
#define WEB(subnet) "[Container]\nImage=localhost/web:1\nNetwork=front.network\n" NETWORK(subnet)
#define APP(subnet) "[Container]\nImage=localhost/app:1\nNetwork=front.network\n" NETWORK(subnet)
#define ALONE "[Container]\nImage=localhost/app:1\n"

static void start_sharers(void) {
        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        (void) rig_change(&g, START, "web.service", WEB("1"));
        (void) rig_change(&g, START, "app.service", APP("1"));
        (void) rig_change(&g, START, "alone.service", ALONE);
        (void) rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "more@.service", APP("1"));
}

static void who_shares_a_network_gets_its_new_file_in_the_same_job(void **state) {
        uint64_t revision, job;

        start_sharers();
        revision = rig_record(&g, "alone.service")->revision;
        job = replace("web.service", WEB("2"));
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
        assert_true(rig_has_content(&g, "web.service", WEB("2")));
        assert_true(rig_has_content(&g, "app.service", APP("2")));
        assert_true(rig_has_content(&g, "more@.service", APP("2")));
        assert_int_equal(rig_record(&g, "alone.service")->revision, revision);
        assert_up("web.service");
        assert_up("app.service");
        assert_non_null(
                strstr(said, "front.network is another one for app.service, too, which shares it"));
}

#define FRONT(name) "[Container]\nImage=localhost/web:1\nContainerName=" name "\n"
#define SIDE(name)                                                                        \
        "[Container]\nImage=localhost/app:1\nNetwork=front.container\n[X-Argosy]\nMachineOf=" \
        "front.service\n\n# front.container\n" FRONT(name)

static void who_has_the_network_of_a_container_gets_its_new_name(void **state) {
        uint64_t job;

        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        (void) rig_change(&g, START, "front.service", FRONT("one"));
        (void) rig_change(&g, START, "side.service", SIDE("one"));
        job = replace("front.service", FRONT("one") "Exec=x\n");
        rig_pass_ms(&g, LATER_MS);
        assert_true(rig_has_content(&g, "side.service", SIDE("one"))); // it is called as before
        job = replace("front.service", FRONT("two"));
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
        assert_true(rig_has_content(&g, "front.service", FRONT("two")));
        assert_true(rig_has_content(&g, "side.service", SIDE("two")));
        assert_up("side.service");
}

static void who_shares_a_network_that_does_not_start_goes_back_with_it(void **state) {
        uint64_t job;

        start_sharers();
        g.bad = hash_of(WEB("2"), strlen(WEB("2")));
        job = replace("web.service", WEB("2"));
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), FAILED);
        assert_true(rig_has_content(&g, "web.service", WEB("1")));
        assert_true(rig_has_content(&g, "app.service", APP("1")));
        assert_true(rig_has_content(&g, "more@.service", APP("1")));
        assert_up("web.service");
        assert_up("app.service");
}

// It goes along with another instance, which has no network: its node has one file of its own.
static void who_shares_a_network_with_what_goes_along_goes_along_too(void **state) {
        static const NewFile before = {"more@.service", SERVICE},
                             files[] = {{"web.service", WEB("2")}, {"more@.service", BAD}};
        uint64_t job;

        start_sharers();
        (void) rig_change(&g, START, "more@1.service", NULL);
        (void) replace_all(&before, 1, (char *[]){"more@2.service"}, 1);
        rig_pass_ms(&g, LATER_MS);
        assert_true(rig_has_content(&g, "more@1.service", APP("1")));
        job = replace_all(files, 2, (char *[]){"web.service", "more@2.service"}, 2);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), FAILED);
        assert_true(rig_has_content(&g, "more@2.service", SERVICE));
        assert_true(rig_has_content(&g, "more@1.service", APP("1")));
        assert_true(rig_has_content(&g, "web.service", WEB("1")));
        assert_true(rig_has_content(&g, "app.service", APP("1")));
}

static void what_goes_back_with_others_does_so_by_more_entries_than_one(void **state) {
        uint64_t job;

        start_sharers();
        g.start_ms = 2000;
        g.bad = hash_of(APP("2"), strlen(APP("2")));
        job = replace("app.service", APP("2"));
        assert_true(rig_has_content(&g, "app.service", APP("2")));
        g.leader->limits.entry_units = 1;
        g.start_ms = 0;
        rig_pass_ms(&g, 10 * LATER_MS);
        assert_int_equal(state_of(job), FAILED);
        assert_true(rig_has_content(&g, "web.service", WEB("1")));
        assert_true(rig_has_content(&g, "app.service", APP("1")));
        assert_true(rig_has_content(&g, "more@.service", APP("1")));
}

// It goes back, too: its node has one network of that name.
static void who_shares_a_network_and_was_down_before_is_not_ordered_to_start(void **state) {
        static const char down[] =
                "[Container]\nImage=localhost/down:1\nNetwork=front.network\n" NETWORK("1");
        uint64_t job, start;

        start_sharers();
        g.bad = hash_of(down, strlen(down));
        (void) rig_change(&g, START, "down.service", down);
        rig_pass_ms(&g, LATER_MS);
        start = rig_record(&g, "down.service")->start_rev;
        g.bad = hash_of(WEB("2"), strlen(WEB("2")));
        job = replace("web.service", WEB("2"));
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), FAILED);
        assert_true(rig_has_content(&g, "web.service", WEB("1")));
        assert_true(rig_has_content(&g, "down.service", down));
        assert_int_equal(rig_record(&g, "down.service")->start_rev, start);
}

// It is put twice, and what it had in between is not what it ran with.
static void who_goes_along_before_its_own_turn_goes_back_to_what_it_had(void **state) {
        static const char bad[] =
                "[Container]\nImage=localhost/bad:1\nNetwork=front.network\n" NETWORK("2");
        static const NewFile files[] = {{"app.service", APP("2")}, {"web.service", bad}};
        uint64_t job;

        start_sharers();
        g.bad = hash_of(bad, strlen(bad));
        job = replace_all(files, 2, (char *[]){"app.service", "web.service"}, 2);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), FAILED);
        assert_true(rig_has_content(&g, "web.service", WEB("1")));
        assert_true(rig_has_content(&g, "app.service", APP("1")));
        assert_true(rig_has_content(&g, "more@.service", APP("1")));
        assert_up("web.service");
        assert_up("app.service");
}

#define ON(node, image, subnet)                                                                          \
        "[Container]\nImage=localhost/" image ":1\nNetwork=front.network\n[X-Argosy]\nHost=" node "\n" \
        NETWORK(subnet)

// Its node has one network of that name; on another one it has one of its own.
static void who_has_come_to_a_network_since_goes_back_with_it_on_its_node(void **state) {
        uint64_t job;

        start_sharers();
        (void) replace("web.service", ON("n2", "web", "1"));
        rig_pass_ms(&g, LATER_MS);
        g.start_ms = 3000;
        g.bad = hash_of(ON("n2", "web", "2"), strlen(ON("n2", "web", "2")));
        job = replace("web.service", ON("n2", "web", "2"));
        assert_int_equal(rig_change(&g, START, "late.service", ON("n2", "late", "2"))->status, 0);
        assert_int_equal(rig_change(&g, START, "far.service", ON("n3", "far", "2"))->status, 0);
        assert_true(rig_record(&g, "late.service")->node > 0 && rig_record(&g, "far.service")->node > 0);
        rig_pass_ms(&g, 30 * LATER_MS);
        assert_int_equal(state_of(job), FAILED);
        assert_true(rig_has_content(&g, "web.service", ON("n2", "web", "1")));
        assert_true(rig_has_content(&g, "late.service", ON("n2", "late", "1")));
        assert_true(rig_has_content(&g, "far.service", ON("n3", "far", "2")));
        assert_up("web.service");
        assert_up("late.service");
        assert_up("far.service");
}

#define ALL(subnet) \
        "[Container]\nImage=localhost/all:1\nNetwork=front.network\n[X-Argosy]\nGlobal=yes\n" NETWORK(subnet)

static void who_has_come_to_a_network_of_a_unit_on_all_nodes_goes_back_with_it(void **state) {
        uint64_t job;

        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        (void) rig_change(&g, START, "all.service", ALL("1"));
        rig_pass_ms(&g, LATER_MS);
        g.start_ms = 3000;
        g.bad = hash_of(ALL("2"), strlen(ALL("2")));
        job = replace("all.service", ALL("2"));
        assert_int_equal(rig_change(&g, START, "late.service", ON("n2", "late", "2"))->status, 0);
        rig_pass_ms(&g, 30 * LATER_MS);
        assert_int_equal(state_of(job), FAILED);
        assert_true(rig_has_content(&g, "all.service", ALL("1")));
        assert_true(rig_has_content(&g, "late.service", ON("n2", "late", "1")));
        assert_int_equal(rig_unit_on(&g, 2, "all.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        assert_up("late.service");
}

// What it ran with names a network of which its node has another one by now.
static void who_goes_back_to_a_network_that_is_another_one_by_now_gets_another_node(void **state) {
        static const char bad[] = "[Container]\nImage=localhost/web:2\n";
        uint64_t job;

        start_sharers();
        (void) rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "app.service", NULL);
        (void) rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "more@.service", NULL);
        (void) replace("web.service", ON("n2", "web", "1"));
        (void) replace("web.service", WEB("1"));
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(rig_host_of(&g, "web.service"), 2);
        g.start_ms = 3000;
        g.bad = hash_of(bad, strlen(bad));
        job = replace("web.service", bad);
        assert_int_equal(rig_change(&g, START, "late.service", ON("n2", "late", "2"))->status, 0);
        rig_pass_ms(&g, 30 * LATER_MS);
        assert_int_equal(state_of(job), FAILED);
        assert_true(rig_has_content(&g, "web.service", WEB("1")));
        assert_true(rig_has_content(&g, "late.service", ON("n2", "late", "2")));
        assert_int_not_equal(rig_host_of(&g, "web.service"), 2);
        assert_up("web.service");
        assert_up("late.service");
}

static void assert_one_place_for_each_unit(Rig *r) {
        _cleanup_(message_freep) Argosy__LogBatch *batch =
                argosy__log_batch__unpack(NULL, r->entry_len, r->entry);

        assert_non_null(batch);
        for (size_t i = 0; i < batch->n_ops; i++)
                for (size_t k = 0; k < i; k++)
                        assert_false(batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_UNIT &&
                                     batch->ops[k]->op_case == ARGOSY__LOG_OP__OP_UNIT &&
                                     strcmp(batch->ops[i]->unit->unit->name,
                                            batch->ops[k]->unit->unit->name) == 0);
}

// And nothing happens yet.
static void begin_drain(const char *node) {
        Argosy__Request__NodeChange m = NODE_CHANGE_OF(.nodes = (char **) &node, .n_nodes = 1,
                                                       .mode = ARGOSY__NODE_MODE__MODE_DRAINING);

        (void) rig_ask(&g, A_REQUEST(NODE_CHANGE, node_change, &m));
}

// Its node is emptied just then: an entry has one place for each unit, so it goes back first, and then
// elsewhere.
static void what_goes_back_is_not_moved_by_the_same_entry(void **state) {
        (void) rig_change(&g, START, "a.service", SERVICE);
        assert_int_equal(rig_host_of(&g, "a.service"), 1);
        g.on_entry = assert_one_place_for_each_unit;
        rig_host(&g, 1)->delayed = true;
        uint64_t job = replace("a.service", BAD);
        g.slow = true;
        begin_drain("n1");
        rig_turns(&g, 2);
        rig_host(&g, 1)->delayed = false;
        rig_turns(&g, 4); // it is known to have failed
        rig_hurry_and_settle(&g);
        rig_pass_ms(&g, LATER_MS);
        assert_true(rig_has_content(&g, "a.service", SERVICE));
        assert_int_not_equal(rig_host_of(&g, "a.service"), 1);
        assert_up("a.service");
        assert_int_equal(state_of(job), FAILED);
}

// Meanwhile another unit is to come after it, before which it could not come again.
static void what_would_go_in_a_cycle_stays_with_the_new_file(void **state) {
        static const char before[] = SERVICE "[X-Argosy]\nHost=n1\nAfter=b.service\n",
                          after[] = OTHER "[X-Argosy]\nAfter=a.service\n";

        (void) rig_change(&g, START, "b.service", OTHER);
        (void) rig_change(&g, START, "a.service", before);
        assert_int_equal(rig_host_of(&g, "a.service"), 1);
        rig_host(&g, 1)->delayed = true;
        uint64_t job = replace("a.service", BAD);
        (void) replace("b.service", after);
        assert_true(rig_has_content(&g, "b.service", after));
        rig_host(&g, 1)->delayed = false;
        rig_pass_ms(&g, 2 * LATER_MS);
        assert_true(rig_has_content(&g, "a.service", BAD));
        assert_int_equal(state_of(job), FAILED);
}

static void who_waits_hears_of_it_when_it_is_up_again(void **state) {
        (void) rig_change(&g, START, "a.service", SERVICE);
        (void) replace("a.service", BAD);
        uint64_t revision = cluster_state_find_unit(g.state, "a.service")->record->extra->trial->failed;
        assert_true(revision > 0 && revision < rig_record(&g, "a.service")->revision);
        RigAnswer *a = rig_wait(&g, START, "a.service", revision);
        assert_true(a->final);
        const Argosy__Response__UnitResult *result = rig_last(a)->progress->done[0];
        assert_int_equal(result->status, EIO);
        assert_true(result->reverted);
        assert_non_null(strstr(result->message, "; it has the file of before again"));
        assert_null(strstr(result->message, "with that"));
}

// Nothing says that what it had would do.
static void what_was_down_stays_with_the_new_file(void **state) {
        (void) rig_change(&g, START, "a.service", SERVICE);
        (void) rig_change(&g, ARGOSY__VERB__VERB_STOP, "a.service", NULL);
        uint64_t job = replace("a.service", BAD);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), FAILED);
        assert_true(rig_has_content(&g, "a.service", BAD));
}

static void what_has_failed_already_stays_with_the_new_file(void **state) {
        g.bad = hash_of(OTHER, strlen(OTHER));
        (void) rig_change(&g, START, "a.service", OTHER);
        g.bad = hash_of(BAD, strlen(BAD));
        (void) replace("a.service", BAD);
        rig_pass_ms(&g, LATER_MS);
        assert_true(rig_has_content(&g, "a.service", BAD));
}

static void what_starts_keeps_the_new_file_also_when_it_fails_later(void **state) {
        (void) rig_change(&g, START, "a.service", SERVICE);
        uint64_t job = replace("a.service", OTHER);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), DONE);
        rig_host_report(&g, rig_host(&g, rig_host_of(&g, "a.service")),
                        rig_unit_on(&g, rig_host_of(&g, "a.service"), "a.service"),
                        ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        rig_pass_ms(&g, LATER_MS);
        assert_true(rig_has_content(&g, "a.service", OTHER));
}

// One of them is where it would do.
static void instances_go_together_with_their_template(void **state) {
        static char *const names[] = {"web@1.service", "web@2.service", "web@3.service", "alone.service"};
        const NewFile files[] = {{"web@.service", BAD}, {"alone.service", OTHER}};
        size_t n_well = 0;

        (void) rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web@.service", SERVICE);
        for (size_t i = 0; i < N_INSTANCES; i++)
                (void) rig_change(&g, START, names[i], NULL);
        (void) rig_change(&g, START, "alone.service", SERVICE);
        rig_host(&g, rig_host_of(&g, names[0]))->sound = true;
        uint64_t job = replace_all(files, ELEMENTSOF(files), (char **) names, ELEMENTSOF(names));
        rig_pass_ms(&g, LATER_MS);
        for (size_t i = 0; i < N_INSTANCES; i++) {
                assert_true(rig_has_content(&g, names[i], SERVICE));
                assert_up(names[i]);
                n_well += rig_record(&g, names[i])->extra->trial->along;
        }
        assert_true(n_well >= 1 && n_well < N_INSTANCES);
        assert_true(rig_record(&g, names[0])->extra->trial->along);
        assert_true(rig_has_content(&g, "web@.service", SERVICE));
        assert_true(rig_has_content(&g, "alone.service", OTHER)); // that is nobody else's business
        assert_int_equal(state_of(job), FAILED);
}

static void a_job_that_went_back_leaves_nothing_to_undo(void **state) {
        (void) rig_change(&g, START, "a.service", SERVICE);
        uint64_t job = replace("a.service", BAD);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(rig_undo(&g, (RigUndo){job})->status, EOPNOTSUPP);
        assert_true(rig_has_content(&g, "a.service", SERVICE));
}

static void forget_content(const char *content) {
        Hash hash = hash_of(content, strlen(content));
        char hex[HASH_HEX_SIZE], *rev = hex;

        hash_hex(&hash, HASH_SIZE, hex);
        Argosy__Request__Forget m = MESSAGE_OF(request__forget, .revs = &rev, .n_revs = 1);
        assert_int_equal(rig_last(rig_ask_and_settle(&g, A_REQUEST(FORGET, forget, &m)))->status, 0);
}

static void who_waits_is_told_if_it_cannot_be_taken_back(void **state) {
        (void) rig_change(&g, START, "a.service", SERVICE);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = true;
        uint64_t job = replace("a.service", BAD);
        RigAnswer *a = rig_wait(&g, START, "a.service", rig_record(&g, "a.service")->revision);
        forget_content(SERVICE);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = false;
        rig_settle(&g);
        rig_pass_ms(&g, LATER_MS);
        assert_true(a->final);
        assert_int_equal(rig_last(a)->progress->done[0]->status, EIO);
        assert_false(rig_last(a)->progress->done[0]->reverted);
        assert_true(rig_has_content(&g, "a.service", BAD));
        assert_int_equal(state_of(job), FAILED);
}

static void the_next_leader_goes_on(void **state) {
        (void) rig_change(&g, START, "a.service", SERVICE);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = true;
        uint64_t job = replace("a.service", BAD);
        rig_depose(&g);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = false;
        rig_elect(&g);
        rig_pass_ms(&g, LATER_MS);
        assert_true(rig_has_content(&g, "a.service", SERVICE));
        assert_up("a.service");
        assert_int_equal(state_of(job), FAILED);
}

static void the_next_order_ends_it(void **state) {
        (void) rig_change(&g, START, "a.service", SERVICE);
        (void) replace("a.service", BAD);
        rig_pass_ms(&g, LATER_MS);
        assert_true(rig_record(&g, "a.service")->extra->trial->failed > 0);
        (void) rig_change(&g, ARGOSY__VERB__VERB_RESTART, "a.service", NULL);
        rig_pass_ms(&g, LATER_MS);
        assert_null(rig_record(&g, "a.service")->extra);
        assert_int_equal(state_of(rig_last_job(&g)), DONE);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(what_goes_back_with_others_does_so_by_more_entries_than_one, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_shares_a_network_gets_its_new_file_in_the_same_job, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_has_the_network_of_a_container_gets_its_new_name, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_shares_a_network_that_does_not_start_goes_back_with_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_shares_a_network_with_what_goes_along_goes_along_too, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_shares_a_network_and_was_down_before_is_not_ordered_to_start,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(who_goes_along_before_its_own_turn_goes_back_to_what_it_had, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_has_come_to_a_network_since_goes_back_with_it_on_its_node,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
                who_has_come_to_a_network_of_a_unit_on_all_nodes_goes_back_with_it, setup, teardown),
        cmocka_unit_test_setup_teardown(
                who_goes_back_to_a_network_that_is_another_one_by_now_gets_another_node, setup, teardown),
        cmocka_unit_test_setup_teardown(what_ran_goes_back_and_the_job_has_failed, setup, teardown),
        cmocka_unit_test_setup_teardown(what_goes_back_is_not_moved_by_the_same_entry, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_would_go_in_a_cycle_stays_with_the_new_file, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_waits_hears_of_it_when_it_is_up_again, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_down_stays_with_the_new_file, setup, teardown),
        cmocka_unit_test_setup_teardown(what_has_failed_already_stays_with_the_new_file, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_starts_keeps_the_new_file_also_when_it_fails_later,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(instances_go_together_with_their_template, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_that_went_back_leaves_nothing_to_undo, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_waits_is_told_if_it_cannot_be_taken_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_next_leader_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(the_next_order_ends_it, setup, teardown)
)
