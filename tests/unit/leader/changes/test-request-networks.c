// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Networks are a node's: who comes with another file of one than somebody there has goes elsewhere, and who
// changes one takes along whoever has the former file, and nobody else.
#include <errno.h>

#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "nodes.h"
#include "str.h"

#define START ARGOSY__VERB__VERB_START
#define SUBMIT ARGOSY__VERB__VERB_SUBMIT
#define ANYWHERE(image, subnet)                                                  \
        "[Container]\nImage=localhost/" image ":1\nNetwork=front.network\n\n" \
        "# front.network\n[Network]\nSubnet=" subnet "\n"
#define NAMED(node, image, networks) \
        "[Container]\nImage=localhost/" image ":1\n" networks "[X-Argosy]\nHost=" node "\n"
#define FRONT(subnet) "\n# front.network\n[Network]\nSubnet=" subnet "\n"
#define BACK(subnet) "\n# back.network\n[Network]\nSubnet=" subnet "\n"
#define ON(node, image, subnet) NAMED(node, image, "Network=front.network\n") FRONT(subnet)
#define BOTH(node, image, front, back)                                             \
        NAMED(node, image, "Network=front.network\nNetwork=back.network\n") BACK(back) FRONT(front)
#define SHARER(image, subnet) ON("n2", image, subnet)
#define ALONE "[Container]\nImage=localhost/app:1\n[X-Argosy]\nHost="

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        assert_int_equal(rig_change(&g, START, "web.service", SHARER("web", "1"))->status, 0);
}

RIG_TEARDOWN

static const char *node_of(const char *name) {
        const Argosy__UnitRecord *r = rig_record(&g, name);

        assert_non_null(r);
        return r->node ? node_find(g.leader, r->node)->name : "";
}

static const char *refusal_of(const Argosy__Response__UnitResult *r, const char *node) {
        for (size_t i = 0; i < r->n_refusals; i++)
                if (streq(r->refusals[i]->node, node))
                        return r->refusals[i]->reason;
        return "";
}

// Names with their files, in one request.
static const Argosy__Response__Change *start_all(const char *const *names, const char *const *contents,
                                                 size_t n) {
        Argosy__NamedFile files[4], *pointers[4];
        static uint8_t id[16] = {200};
        Argosy__Request__Change m =
                MESSAGE_OF(request__change, .verb = START, .names = (char **) names, .n_names = n,
                           .files = pointers, .n_files = n, .replace = true,
                           .id = (ProtobufCBinaryData){sizeof(id), id});

        id[0]++;
        for (size_t i = 0; i < n; i++) {
                files[i] = (Argosy__NamedFile) MESSAGE_OF(
                        named_file, .name = (char *) names[i], .path = (char *) names[i],
                        .content = (ProtobufCBinaryData){strlen(contents[i]), (uint8_t *) contents[i]});
                pointers[i] = &files[i];
        }
        return rig_change_answered(rig_ask_and_settle(&g, A_REQUEST(CHANGE, change, &m)));
}

static const Argosy__Response__UnitResult *replace(const char *name, const char *content) {
        return start_all(&name, &content, 1)->units[0];
}

static void who_comes_with_another_file_goes_where_nobody_has_one(void **state) {
        assert_int_equal(rig_change(&g, START, "app.service", ANYWHERE("app", "2"))->status, 0);
        assert_string_not_equal(node_of("app.service"), "n2");
        assert_string_not_equal(node_of("app.service"), "");
        assert_string_equal(node_of("web.service"), "n2");
        assert_true(rig_has_content(&g, "web.service", SHARER("web", "1")));
}

static void who_may_only_be_there_waits_and_hears_why(void **state) {
        const Argosy__Response__UnitResult *r = rig_change(&g, START, "app.service", SHARER("app", "2"));

        assert_string_equal(refusal_of(r, "n2"), "web.service there has another network front");
        assert_string_equal(node_of("app.service"), "");
        assert_int_equal(replace("web.service", SHARER("web", "2"))->status, 0);
        rig_pass_ms(&g, 1000);
        assert_string_equal(node_of("app.service"), "n2");
}

// Whatever the request replaces: that is about its own units.
static void who_comes_changes_nobody(void **state) {
        assert_int_equal(replace("app.service", ANYWHERE("app", "2"))->status, 0);
        assert_true(rig_has_content(&g, "web.service", SHARER("web", "1")));
        assert_string_not_equal(node_of("app.service"), "n2");
}

static void who_has_a_third_file_keeps_it(void **state) {
        (void) rig_change(&g, START, "app.service", ON("n2", "app", "1"));
        (void) rig_change(&g, START, "far.service", ON("n1", "far", "1"));
        (void) rig_change(&g, START, "else.service", ON("n3", "else", "3"));
        assert_int_equal(replace("web.service", SHARER("web", "2"))->status, 0);
        assert_true(rig_has_content(&g, "app.service", ON("n2", "app", "2")));
        assert_true(rig_has_content(&g, "far.service", ON("n1", "far", "2")));
        assert_true(rig_has_content(&g, "else.service", ON("n3", "else", "3")));
}

// What it comes to is not there alone.
static void who_runs_and_names_a_network_that_is_another_one_there_gets_another_node(void **state) {
        (void) rig_change(&g, START, "app.service", ALONE "n2\n");
        assert_string_equal(node_of("app.service"), "n2");
        assert_int_equal(replace("app.service", ANYWHERE("app", "2"))->status, 0);
        assert_string_not_equal(node_of("app.service"), "n2");
        assert_string_not_equal(node_of("app.service"), "");
        assert_string_equal(node_of("web.service"), "n2");
}

static void who_runs_and_has_no_other_node_stays_as_it_is(void **state) {
        const Argosy__Response__UnitResult *r;

        (void) rig_change(&g, START, "app.service", ALONE "n2\n");
        r = replace("app.service", SHARER("app", "2"));
        assert_int_equal(r->status, EEXIST);
        assert_string_equal(r->message,
                            "web.service there has another network front, and no other node takes the unit");
        assert_string_equal(node_of("app.service"), "n2");
        assert_true(rig_has_content(&g, "app.service", ALONE "n2\n"));
}

// The network of before is gone with the same request.
static void who_runs_and_comes_to_a_network_that_changes_stays(void **state) {
        static const char *const names[] = {"web.service", "app.service"};
        static const char *const contents[] = {SHARER("web", "2"), SHARER("app", "2")};

        (void) rig_change(&g, START, "app.service", ALONE "n2\n");
        (void) rig_change(&g, START, "side.service", SHARER("side", "1"));
        (void) start_all(names, contents, 2);
        assert_string_equal(node_of("app.service"), "n2");
        assert_true(rig_has_content(&g, "app.service", SHARER("app", "2")));
}

// Who would go along with it counts with what it has.
static void who_is_refused_leaves_the_others_as_they_are(void **state) {
        static const char *const names[] = {"web.service", "new.service"};
        static const char *const contents[] = {BOTH("n2", "web", "2", "2"), ON("n3", "new", "1")};
        const Argosy__Response__Change *c;

        (void) rig_change(&g, START, "side.service", ON("n3", "side", "1"));
        (void) rig_change(&g, START, "db.service", NAMED("n2", "db", "Network=back.network\n") BACK("1"));
        assert_string_equal(node_of("db.service"), "n2");
        c = start_all(names, contents, 2);
        assert_int_equal(c->units[0]->status, EEXIST);
        assert_int_equal(c->units[1]->status, 0);
        assert_string_equal(c->units[1]->message, "");
        assert_string_equal(node_of("new.service"), "n3");
        assert_true(rig_has_content(&g, "side.service", ON("n3", "side", "1")));
        assert_true(rig_has_content(&g, "web.service", SHARER("web", "1")));
}

static void two_that_come_with_two_files_get_two_nodes(void **state) {
        static const char *const names[] = {"a.service", "b.service"};
        static const char *const contents[] = {ANYWHERE("a", "2"), ANYWHERE("b", "3")};
        const Argosy__Response__Change *c = start_all(names, contents, 2);

        assert_int_equal(c->units[0]->status + c->units[1]->status, 0);
        assert_string_not_equal(node_of("a.service"), node_of("b.service"));
        assert_string_not_equal(node_of("a.service"), "n2");
        assert_string_not_equal(node_of("b.service"), "n2");
}

// Of one request there are two files of it for one node.
static void who_shares_a_node_cannot_get_two_files_at_once(void **state) {
        static const char *const names[] = {"app.service", "web.service"};
        static const char *const contents[] = {SHARER("app", "2"), SHARER("web", "3")};
        const Argosy__Response__Change *c;

        (void) rig_change(&g, START, "app.service", SHARER("app", "1"));
        c = start_all(names, contents, 2);
        assert_int_equal(c->units[0]->status, 0);
        assert_replies(c->units[1], EINVAL, "app.service has another network front by the same");
        // it keeps what it has, and that is about a network that the other one has left
        assert_true(rig_has_content(&g, "app.service", SHARER("app", "2")));
        assert_true(rig_has_content(&g, "web.service", SHARER("web", "2")));
}

// Nor can who is named with what it has.
static void who_keeps_its_file_beside_one_that_changes_it_is_refused(void **state) {
        static const char *const names[] = {"app.service", "web.service"};
        static const char *const contents[] = {SHARER("app", "2"), SHARER("web", "1")};
        const Argosy__Response__Change *c;

        (void) rig_change(&g, START, "app.service", SHARER("app", "1"));
        c = start_all(names, contents, 2);
        assert_int_equal(c->units[1]->status, EINVAL);
        assert_true(rig_has_content(&g, "web.service", SHARER("web", "2")));
}

// A request that changes it is decided behind one that comes to it in the same entry.
static void who_comes_in_the_same_entry_goes_along(void **state) {
        uint8_t ids[2][16] = {{190}, {191}};
        RigAnswer *a[2] = {rig_change_with(&g, START, "app.service", SHARER("app", "1"), false, ids[0]),
                           rig_change_with(&g, START, "web.service", SHARER("web", "2"), true, ids[1])};

        rig_settle(&g);
        rig_pass_ms(&g, 1000);
        for (size_t i = 0; i < 2; i++)
                assert_int_equal(rig_last(a[i])->status, 0);
        assert_true(rig_has_content(&g, "app.service", SHARER("app", "2")));
        assert_true(rig_has_content(&g, "web.service", SHARER("web", "2")));
}

// Also one that an earlier one of the request has brought the file to.
static void all_that_come_with_the_same_file_have_their_turn(void **state) {
        static const char *const names[] = {"app.service", "web.service"};
        static const char *const contents[] = {SHARER("app", "2"), SHARER("other", "2")};
        const Argosy__Response__Change *c;

        (void) rig_change(&g, START, "app.service", SHARER("app", "1"));
        c = start_all(names, contents, 2);
        assert_int_equal(c->n_units, 2);
        assert_int_equal(c->units[1]->status, 0);
        assert_true(rig_has_content(&g, "app.service", SHARER("app", "2")));
        assert_true(rig_has_content(&g, "web.service", SHARER("other", "2")));
}

// Each of two units of one request brings another file of one, and a record is put once into an entry.
static void who_shares_two_networks_gets_them_one_after_the_other(void **state) {
        static const char *const names[] = {"web.service", "db.service"};
        const char *before = NAMED("n2", "db", "Network=back.network\n") BACK("1"),
                   *contents[] = {SHARER("web", "2"), NAMED("n2", "db", "Network=back.network\n") BACK("2")};
        const Argosy__Response__Change *c;

        assert_int_equal(rig_change(&g, START, "db.service", before)->status, 0);
        assert_int_equal(rig_change(&g, START, "both.service", BOTH("n2", "both", "1", "1"))->status, 0);
        c = start_all(names, contents, 2);
        assert_int_equal(c->units[0]->status, 0);
        assert_replies(c->units[1], EEXIST, "back.network is shared with both.service, which");
        assert_true(rig_has_content(&g, "both.service", BOTH("n2", "both", "2", "1")));
        assert_true(rig_has_content(&g, "db.service", before));
        assert_int_equal(replace("db.service", contents[1])->status, 0);
        assert_true(rig_has_content(&g, "both.service", BOTH("n2", "both", "2", "2")));
}

static void nobody_comes_to_a_network_that_an_update_changes(void **state) {
        RigRollout w = {ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE, "web.service", SHARER("web", "2"),
                        .health_ms = 5000};
        const Argosy__Response__UnitResult *r;

        assert_int_equal(rig_last(rig_rollout(&g, w))->status, 0);
        r = rig_change(&g, START, "app.service", SHARER("app", "2"));
        assert_replies(r, EEXIST, "being changed by an update of web.service");
        assert_int_equal(rig_change(&g, START, "old.service", SHARER("old", "1"))->status, EEXIST);
        assert_int_equal(rig_change(&g, START, "else.service", ANYWHERE("else", "3"))->status, 0);
        assert_string_not_equal(node_of("else.service"), "n2");
        rig_pass_ms(&g, 20000);
        assert_int_equal(rig_change(&g, START, "app.service", SHARER("app", "2"))->status, 0);
}

RUN_TESTS(RIG_TEST(who_comes_with_another_file_goes_where_nobody_has_one),
          RIG_TEST(who_may_only_be_there_waits_and_hears_why),
          RIG_TEST(who_comes_changes_nobody),
          RIG_TEST(who_has_a_third_file_keeps_it),
          RIG_TEST(who_runs_and_names_a_network_that_is_another_one_there_gets_another_node),
          RIG_TEST(who_runs_and_has_no_other_node_stays_as_it_is),
          RIG_TEST(who_runs_and_comes_to_a_network_that_changes_stays),
          RIG_TEST(who_is_refused_leaves_the_others_as_they_are),
          RIG_TEST(two_that_come_with_two_files_get_two_nodes),
          RIG_TEST(who_shares_a_node_cannot_get_two_files_at_once),
          RIG_TEST(who_keeps_its_file_beside_one_that_changes_it_is_refused),
          RIG_TEST(who_comes_in_the_same_entry_goes_along),
          RIG_TEST(all_that_come_with_the_same_file_have_their_turn),
          RIG_TEST(who_shares_two_networks_gets_them_one_after_the_other),
          RIG_TEST(nobody_comes_to_a_network_that_an_update_changes))
