// SPDX-License-Identifier: LGPL-2.1-or-later
//
// apply, export: which questions they ask, and what they make of the answers.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command-words.h"

#include "fileio.h"
#include "hash.h"
#include "messages.h"
#include "printed.h"
#include "str.h"

#define SLEEPER "[Service]\nExecStart=/bin/sleep 9\n"
#define TWO "2222222222222222222222222222222222222222222222222222222222222222"
#define ONE "1111111111111111111111111111111111111111111111111111111111111111"

enum { PRINT = 77, REVISION = 42 };

static char dir[32];

static void put(const char *name, const char *text) {
        assert_int_equal(file_replace(AT_FDCWD, printed("%s/%s", dir, name), text, strlen(text), 0600, 0),
                         0);
}

FIXTURE(setup) {
        strcpy(dir, "/tmp/argosy-test-XXXXXX");
        assert_non_null(mkdtemp(dir));
}

FIXTURE(setup_folder) {
        setup(state);
        put("a.service", SLEEPER);
}

FIXTURE(teardown) {
        dir_empty(AT_FDCWD, dir);
        rmdir(dir);
}

static Outcome run_here(FakeScript script, const char *before, const char *behind) {
        return run(script, printed("%s %s %s", before, dir, behind));
}

// ---- what the daemon says

static Argosy__Request *read_apply(FakeDaemon *d, bool preview) {
        Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_APPLY && q->apply->preview == preview);
        assert(streq(q->apply->set, "shop") && q->job->n_targets == 0);
        return q;
}

static void reply_plan(FakeDaemon *d, Argosy__Response__ApplyRow *row, uint32_t same, const char *refusal) {
        Argosy__Response__ApplyPlan plan =
                MESSAGE_OF(response__apply_plan, .rows = &row, .n_rows = row != NULL, .same = same,
                           .named = same, .refusal = (char *) refusal, .revision = REVISION, .plan = PRINT);

        fake_reply(d, A_RESPONSE(APPLY_PLAN, apply_plan, &plan, .final = true));
}

static Argosy__Response__ApplyRow new_row(void) {
        Argosy__Response__ApplyRow row =
                APPLY_ROW_OF(.unit = (char *) "a.service", .made = true, .need = true,
                             .rev_after = (char *) ONE, .desired_after = (char *) "launched");

        return row;
}

// ---- apply

static void plans(FakeDaemon *d) {
        Argosy__Response__ApplyRow row = new_row();

        fake_accept(d);
        done(read_apply(d, true));
        reply_plan(d, &row, 0, "");
}

static void a_plan_is_the_difference_and_changes_nothing(void **state) {
        _cleanup_outcome_ Outcome o = run_here(plans, "apply --plan --set=shop", "");

        assert_prints_also(o, 5, "a.service: is new, to be launched\n--- /dev/null\n");
        assert_non_null(strstr(o.out, "+ExecStart=/bin/sleep 9\n"));
}

static void programs_get_the_plan_with_its_revision(void **state) {
        _cleanup_outcome_ Outcome o = run_here(plans, "apply --plan --json=short --set=shop", "");

        assert_prints(o, 5, "[{\"unit\":\"a.service\",\"change\":\"make\",\"rev\":\"\",\"rev_after\":\"" ONE
                            "\",\"desired\":\"\",\"desired_after\":\"launched\",\"set\":\"\",\"state\":\"\","
                            "\"why\":\"\",\"node\":\"\",\"refused\":\"\",\"file_change\":\"\","
                            "\"adopt\":false,\"wrong\":"
                            "false,\"revision\":42}]\n");
}

#define DROP_IN "\n# a.service.d/x.conf\n[Service]\nNice=1\n"

// The unit has a drop-in, and the folder has none.
static void plans_another_content(FakeDaemon *d) {
        Argosy__Response__ApplyRow row = new_row();
        Argosy__Response__Cat cat = ARGOSY__RESPONSE__CAT__INIT;

        row.made = false;
        row.rev = (char *) TWO;
        row.desired = (char *) "launched";
        fake_accept(d);
        done(read_apply(d, true));
        reply_plan(d, &row, 0, "");
        _cleanup_request_ Argosy__Request *q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_CAT && streq(q->cat->revs[0], TWO));
        cat.content = (ProtobufCBinaryData){strlen(SLEEPER DROP_IN), (uint8_t *) SLEEPER DROP_IN};
        fake_reply_last(d, A_RESPONSE(CAT, cat, &cat, .final = true));
}

static void programs_get_the_parts_that_differ(void **state) {
        _cleanup_outcome_ Outcome o =
                run_here(plans_another_content, "apply --plan --json=short --set=shop", "");

        assert_int_equal(o.code, 5);
        assert_non_null(strstr(o.out, "\"parts\":{\"added\":0,\"changed\":0,\"removed\":1,\"first\":[{"
                                      "\"part\":\"a.service.d/x.conf\",\"change\":\"removed\"}]}"));
}

#define BOX "[Container]\nImage=localhost/box:1\nNetwork=front.network\n"
#define NETWORK(subnet) "[Network]\nSubnet=" subnet "\n"

static void reply_sharers(FakeDaemon *d, Argosy__Response__ApplyRow *row) {
        Argosy__Response__ApplySharer up = ARGOSY__RESPONSE__APPLY_SHARER__INIT, down = up,
                                      *sharers[] = {&up, &down};
        Argosy__Response__ApplyPlan plan =
                MESSAGE_OF(response__apply_plan, .rows = &row, .n_rows = 1, .sharers = sharers,
                           .n_sharers = 2, .more_sharers = 3, .revision = REVISION, .plan = PRINT);

        up.unit = (char *) "side.service";
        down.unit = (char *) "idle.service";
        up.networks = down.networks = (char *) "front.network";
        up.node = (char *) "n2";
        up.restarts = true;
        down.set = (char *) "other";
        fake_reply(d, A_RESPONSE(APPLY_PLAN, apply_plan, &plan, .final = true));
}

static void plans_another_network(FakeDaemon *d) {
        const char former[] = BOX "\n# front.network\n" NETWORK("10.9.1.0/24");
        Argosy__Response__ApplyRow row = new_row();

        row.unit = (char *) "box.service";
        row.made = false;
        row.rev = (char *) TWO;
        fake_accept(d);
        done(read_apply(d, true));
        reply_plan(d, &row, 0, "");
        Argosy__Request *q = read_apply(d, true); // with the content that may change a network
        assert(q->apply->n_files == 1 && q->apply->units[0]->file == 1);
        done(q);
        reply_sharers(d, &row);
        done(fake_read(d));
        Argosy__Response__Cat cat =
                CAT_OF(.content = (ProtobufCBinaryData){strlen(former), (uint8_t *) former});
        fake_reply_last(d, A_RESPONSE(CAT, cat, &cat, .final = true));
}

static void a_plan_says_which_networks_change(void **state) {
        put("box.container", BOX);
        put("front.network", NETWORK("10.9.2.0/24"));
        _cleanup_outcome_ Outcome o = run_here(plans_another_network, "apply --plan --set=shop", "");

        assert_int_equal(o.code, 5);
        assert_non_null(strstr(o.out, "  front.network changes for all units that have it, in other sets, "
                                      "too\n--- box.service, in the cluster\n"));
        assert_non_null(strstr(
                o.out, "side.service: shares front.network, which changes: stops and starts again, on "
                       "n2\nidle.service: shares front.network, which changes: gets its new file; of "
                       "the set other\n3 more units share a network that changes\n"));
        _cleanup_outcome_ Outcome programs =
                run_here(plans_another_network, "apply --plan --json=short --set=shop", "");
        assert_non_null(strstr(programs.out,
                               "{\"unit\":\"side.service\",\"change\":\"share\",\"networks\":"
                               "\"front.network\",\"set\":\"\",\"node\":\"n2\",\"restarts\":true,"
                               "\"revision\":42}"));
}

#define DATA_BOX "[Container]\nImage=localhost/box:1\nVolume=data.volume:/data\n"

static void plans_another_volume(FakeDaemon *d) {
        const char former[] = DATA_BOX "\n# data.volume\n[Volume]\nLabel=a=b\n";
        Argosy__Response__ApplyRow row = new_row();

        row.unit = (char *) "box.service";
        row.made = false;
        row.rev = (char *) TWO;
        fake_accept(d);
        done(read_apply(d, true));
        reply_plan(d, &row, 0, "");
        done(read_apply(d, true));
        reply_plan(d, &row, 0, "");
        done(fake_read(d));
        Argosy__Response__Cat cat =
                CAT_OF(.content = (ProtobufCBinaryData){strlen(former), (uint8_t *) former});
        fake_reply_last(d, A_RESPONSE(CAT, cat, &cat, .final = true));
}

static void a_plan_says_what_is_refused_for_a_volume(void **state) {
        put("box.container", DATA_BOX);
        put("data.volume", "[Volume]\nLabel=a=c\n");
        _cleanup_outcome_ Outcome o = run_here(plans_another_volume, "apply --plan --set=shop", ""),
                                  programs = run_here(plans_another_volume,
                                                      "apply --plan --json=short --set=shop", "");

        assert_int_equal(o.code, 5);
        assert_non_null(strstr(o.out, "  is refused: data.volume is not as it was, and the volume"));
        assert_non_null(strstr(programs.out, "\"refused\":\"data.volume is not as it was, and the volume"));
}

static void is_the_same(FakeDaemon *d) {
        fake_accept(d);
        done(read_apply(d, true));
        reply_plan(d, NULL, 1, "");
}

static void nothing_to_do_is_said_or_an_empty_list(void **state) {
        _cleanup_outcome_ Outcome people = run_here(is_the_same, "apply --set=shop", ""),
                                  programs = run_here(is_the_same, "apply --json=short --set=shop", "");

        assert_int_equal(people.code + programs.code, 0);
        assert_string_equal(people.out, "The set shop is as the folder says: 1 unit, nothing to do.\n");
        assert_string_equal(programs.out, "[]\n");
}

// A unit that is as the folder says, and is not as it is to be.
static void reply_seen(FakeDaemon *d, const char *state, bool starts, bool adopted) {
        Argosy__Response__ApplyRow row =
                APPLY_ROW_OF(.unit = (char *) "a.service", .rev = (char *) ONE, .rev_after = (char *) ONE,
                             .desired = (char *) "launched", .desired_after = (char *) "launched",
                             .set = (char *) "shop", .state = (char *) state, .node = (char *) "n1",
                             .starts = starts, .adopted = adopted, .wrong = true);

        reply_plan(d, &row, 1, "");
}

static void has_failed(FakeDaemon *d) {
        fake_accept(d);
        done(read_apply(d, true));
        reply_seen(d, "failed", true, false);
}

static void is_stopped(FakeDaemon *d) {
        fake_accept(d);
        done(read_apply(d, true));
        reply_seen(d, "stopped", true, false);
}

static void loops(FakeDaemon *d) {
        fake_accept(d);
        done(read_apply(d, true));
        reply_seen(d, "looping", false, false);
}

static void is_of_others(FakeDaemon *d) {
        fake_accept(d);
        done(read_apply(d, true));
        reply_seen(d, "failed", true, true);
}

static void a_plan_says_by_its_status_what_an_apply_would_do(void **state) {
        _cleanup_outcome_ Outcome failed = run_here(has_failed, "apply --plan --set=shop", ""),
                                  stopped = run_here(is_stopped, "apply --plan --set=shop", ""),
                                  adopted = run_here(is_of_others, "apply --plan --adopt --set=shop", ""),
                                  looping = run_here(loops, "apply --plan --set=shop", ""),
                                  at_once = run_here(loops, "apply --set=shop", "");

        assert_prints(failed, 6, "a.service: failed, on n1; is started again\n");
        assert_non_null(strstr(failed.err, "1 of 1 units is not as it is to be: a.service failed\n"));
        assert_int_equal(stopped.code, 5);
        assert_prints_also(adopted, 5, "with the same file, and is started again: it failed\n");
        assert_prints_also(looping, 1, "a.service: fails again and again, on n1; is left as it is\n");
        assert_warns_of(at_once, 1, "1 of 1 units is not as it is to be: a.service fails again and again\n");
}

// Asked again when all is done: what was started has failed once more.
static void starts_in_vain(FakeDaemon *d) {
        Argosy__Response__UnitResult result = UNIT_RESULT_OF(.name = (char *) "a.service"),
                                     *results = &result;
        Argosy__Response__Change change = MESSAGE_OF(response__change, .units = &results, .n_units = 1);

        fake_accept(d);
        done(read_apply(d, true));
        reply_seen(d, "failed", true, false);
        done(read_apply(d, false));
        fake_reply(d, A_RESPONSE(CHANGE, change, &change, .final = true));
        done(read_apply(d, true));
        reply_seen(d, "failed", true, false);
}

static void units_that_are_wrong_after_it_are_named(void **state) {
        _cleanup_outcome_ Outcome people = run_here(starts_in_vain, "apply --set=shop", ""),
                                  programs = run_here(starts_in_vain, "apply --json=short --set=shop", "");

        assert_warns_of(people, 1, "1 of 1 units is not as it is to be: a.service failed\n");
        assert_prints(programs, 1,
                      "[{\"unit\":\"a.service\",\"ok\":true,\"node\":\"\",\"message\":\"\"},"
                      "{\"unit\":\"a.service\",\"ok\":false,\"node\":\"n1\",\"message\":\"failed\"}]\n");
}

static uint8_t seen_id[2][16];
static unsigned n_seen;

static void applies_with_a_key(FakeDaemon *d) {
        Argosy__Response__ApplyRow row = new_row();

        fake_accept(d);
        Argosy__Request *q = read_apply(d, true);
        assert(q->job->if_revision == 41);
        done(q);
        reply_plan(d, &row, 0, "");
        q = read_apply(d, false);
        assert(streq(q->job->reason, "first") && q->job->if_revision == 41);
        assert(q->apply->plan == PRINT && q->apply->revision == REVISION);
        assert(q->apply->n_files == 1 && q->apply->units[0]->file == 1);
        assert(q->job->id.len == 16);
        memcpy(seen_id[n_seen++ % 2], q->job->id.data, 16);
        done(q);
        reply_change(d, RESULTS({.name = "a.service", .revision = 7}));
        q = read_apply(d, true); // how are the units now? They have changed since that revision
        assert(q->job->if_revision == 0);
        done(q);
        reply_plan(d, NULL, 1, "");
}

static void a_key_is_the_same_request_again_and_the_plan_goes_with_it(void **state) {
        static const char line[] = "apply --set=shop --key=k1 --reason=first --if-revision=41 --json=short";
        _cleanup_outcome_ Outcome a = run_here(applies_with_a_key, line, ""),
                                  b = run_here(applies_with_a_key, line, "");

        assert_int_equal(a.code + b.code, 0);
        assert_string_equal(a.err, "");
        assert_non_null(strstr(a.out, "\"unit\":\"a.service\",\"ok\":true"));
        assert_memory_equal(seen_id[0], seen_id[1], 16);
}

static void rolls(FakeDaemon *d) {
        Argosy__Response__ApplyRow row = new_row();

        fake_accept(d);
        Argosy__Request *q = read_apply(d, true);
        assert(q->apply->rolling && q->apply->max_unavailable == 2 && q->apply->health_us == 5000000);
        done(q);
        reply_plan(d, &row, 0, "");
        q = read_apply(d, false);
        assert(q->apply->rolling && q->apply->max_unavailable == 2 && !q->apply->percent);
        assert(q->apply->health_us == 5000000);
        done(q);
        reply_change(d, RESULTS({.name = "a.service", .revision = 7}));
        q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT_WAIT);
        assert(streq(q->rollout_wait->name, "a.service") && q->rollout_wait->revision == 7);
        done(q);
        reply_left(d, 0, "", true);
        done(read_apply(d, true)); // how are the units now?
        reply_plan(d, NULL, 1, "");
}

static void an_update_of_a_folder_is_waited_for_as_a_rollout(void **state) {
        _cleanup_outcome_ Outcome o =
                run_here(rolls, "apply --set=shop --max-unavailable=2 --health=5s --verbose", "");

        assert_ended(o, 0, "a.service: applied\n", "");
}

static void refuses(FakeDaemon *d) {
        Argosy__Response__ApplyRow row = new_row();

        fake_accept(d);
        done(read_apply(d, true));
        reply_plan(d, &row, 0, "2 of the 3 units of the set shop would be destroyed");
}

static void what_would_be_refused_is_not_asked_for(void **state) {
        _cleanup_outcome_ Outcome o = run_here(refuses, "apply --set=shop", ""),
                                  plan = run_here(refuses, "apply --plan --set=shop", "");

        assert_warns_of(o, 1, "2 of the 3 units of the set shop would be destroyed; nothing was changed");
        assert_warns_of(plan, 5, "this would be refused: 2 of the 3");
}

// ---- export

static void set_hex(char hex[HASH_HEX_SIZE]) {
        Hash hash = hash_of(SLEEPER, strlen(SLEEPER));

        hash_hex(&hash, HASH_SIZE, hex);
}

static void tells_set(FakeDaemon *d) {
        char hex[HASH_HEX_SIZE];

        set_hex(hex);
        fake_accept(d);
        Argosy__Request *q = read_apply(d, true);
        assert(q->apply->prune && q->apply->n_units == 0);
        done(q);
        Argosy__Response__ApplyRow row = APPLY_ROW_OF(.unit = (char *) "a.service", .removed = true,
                                                      .rev = hex, .desired = (char *) "loaded");
        reply_plan(d, &row, 0, "there are no units in the folder");
}

static void tells_content(FakeDaemon *d, const char *content) {
        Argosy__Response__Cat cat = ARGOSY__RESPONSE__CAT__INIT;
        _cleanup_request_ Argosy__Request *q = fake_read(d);
        char hex[HASH_HEX_SIZE];

        set_hex(hex);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_CAT && streq(q->cat->revs[0], hex));
        cat.name = (char *) "a.service";
        cat.content = (ProtobufCBinaryData){strlen(content), (uint8_t *) content};
        fake_reply(d, A_RESPONSE(CAT, cat, &cat, .final = true));
}

static void tells_all(FakeDaemon *d) {
        tells_set(d);
        tells_content(d, SLEEPER);
}

static void tells_no_content(FakeDaemon *d) {
        tells_set(d);
}

static void tells_other_content(FakeDaemon *d) {
        tells_set(d);
        tells_content(d, SLEEPER "#\n");
}

static void an_export_fetches_what_it_does_not_have(void **state) {
        _cleanup_outcome_ Outcome first = run_here(tells_all, "export", "--set=shop"),
                                  second = run_here(tells_no_content, "export", "");
        _cleanup_buf_ Buf text = {};

        assert_int_equal(first.code + second.code, 0);
        assert_non_null(strstr(first.out, " has the set shop: 1 unit, 1 file written, 0 removed.\n"));
        assert_non_null(strstr(second.out, " is as the set shop: 1 unit, nothing to do.\n"));
        assert_int_equal(file_read(AT_FDCWD, printed("%s/argosy.set", dir), 1000, &text), 0);
        assert_int_equal(buf_append(&text, "", 1), 0);
        assert_string_equal((const char *) text.data,
                            "# argosyctl export of the set shop\nset shop\nloaded a.service\n");
}

static void a_content_that_is_another_one_is_not_written(void **state) {
        _cleanup_outcome_ Outcome o = run_here(tells_other_content, "export", "--set=shop");

        assert_warns_of(o, 1, "did not send the file of a.service; nothing was written");
        assert_int_equal(rmdir(dir), 0); // it is empty
        assert_int_equal(mkdir(dir, 0700), 0);
}

static void a_set_without_units_is_not_exported(void **state) {
        _cleanup_outcome_ Outcome o = run_here(is_the_same, "export", "--set=shop");

        assert_warns_of(o, 1, "no unit belongs to the set shop; nothing was written");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define FOLDER_CASE(f) cmocka_unit_test_setup_teardown(f, setup_folder, teardown)

RUN_TESTS(CASE(a_plan_says_which_networks_change), CASE(a_plan_says_what_is_refused_for_a_volume),
        FOLDER_CASE(a_plan_is_the_difference_and_changes_nothing),
        FOLDER_CASE(programs_get_the_plan_with_its_revision),
        FOLDER_CASE(programs_get_the_parts_that_differ),
        FOLDER_CASE(nothing_to_do_is_said_or_an_empty_list),
        FOLDER_CASE(a_plan_says_by_its_status_what_an_apply_would_do),
        FOLDER_CASE(units_that_are_wrong_after_it_are_named),
        FOLDER_CASE(a_key_is_the_same_request_again_and_the_plan_goes_with_it),
        FOLDER_CASE(an_update_of_a_folder_is_waited_for_as_a_rollout),
        FOLDER_CASE(what_would_be_refused_is_not_asked_for),
        CASE(an_export_fetches_what_it_does_not_have),
        CASE(a_content_that_is_another_one_is_not_written),
        CASE(a_set_without_units_is_not_exported)
)
