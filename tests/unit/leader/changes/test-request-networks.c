// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who comes to a network that others have: a node has one of each name.
#include <errno.h>

#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "str.h"

#define START ARGOSY__VERB__VERB_START
#define SUBMIT ARGOSY__VERB__VERB_SUBMIT
#define SHARER(image, subnet)                                                                         \
        "[Container]\nImage=localhost/" image ":1\nNetwork=front.network\n[X-Argosy]\nHost=n2\n\n"   \
        "# front.network\n[Network]\nSubnet=" subnet "\n"

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        assert_int_equal(rig_change(&g, START, "web.service", SHARER("web", "1"))->status, 0);
}

RIG_TEARDOWN

static void who_comes_with_another_file_of_a_network_is_refused(void **state) {
        static const Argosy__Verb verbs[] = {START, SUBMIT};

        for (size_t i = 0; i < ELEMENTSOF(verbs); i++) {
                const Argosy__Response__UnitResult *r =
                        rig_change(&g, verbs[i], "app.service", SHARER("app", "2"));

                assert_int_equal(r->status, EEXIST);
                assert_non_null(strstr(r->message, "front.network is another one for web.service"));
                assert_null(rig_record(&g, "app.service"));
        }
        assert_int_equal(rig_change(&g, START, "app.service", SHARER("app", "1"))->status, 0);
}

static void with_replace_all_get_the_file_of_who_comes(void **state) {
        uint8_t id[16] = {9};
        RigAnswer *a = rig_change_with_and_settle(&g, START, "app.service", SHARER("app", "2"), true, id);

        assert_int_equal(rig_change_answered(a)->units[0]->status, 0);
        assert_true(rig_has_content(&g, "web.service", SHARER("web", "2")));
        assert_true(rig_has_content(&g, "app.service", SHARER("app", "2")));
}

// Of one request both would be new.
static void two_that_come_with_two_files_are_not_both_taken(void **state) {
        Argosy__NamedFile files[2], *pointers[] = {&files[0], &files[1]};
        char *names[] = {(char *) "a.service", (char *) "b.service"};
        const char *contents[] = {SHARER("a", "1"), SHARER("b", "3")};
        uint8_t id[16] = {7};
        Argosy__Request__Change m = MESSAGE_OF(request__change, .verb = START, .names = names, .n_names = 2,
                                               .files = pointers, .n_files = 2, .replace = true,
                                               .id = (ProtobufCBinaryData){sizeof(id), id});
        const Argosy__Response__Change *c;

        for (size_t i = 0; i < 2; i++) {
                files[i] = (Argosy__NamedFile) MESSAGE_OF(
                        named_file, .name = names[i], .path = names[i],
                        .content = (ProtobufCBinaryData){strlen(contents[i]), (uint8_t *) contents[i]});
        }
        c = rig_change_answered(rig_ask_and_settle(&g, A_REQUEST(CHANGE, change, &m)));
        assert_int_equal(c->units[0]->status, 0);
        assert_int_equal(c->units[1]->status, EINVAL);
        assert_non_null(strstr(c->units[1]->message, "another one for a.service in the same request"));
}

// And of two requests that meet in an entry the later one is judged by what the first one has made.
static void one_of_two_at_once_is_refused(void **state) {
        static const char *const names[] = {"a.service", "b.service"};
        RigAnswer *a[2];

        (void) rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "web.service", NULL);
        for (size_t i = 0; i < 2; i++) {
                uint8_t id[16] = {1, (uint8_t) i};

                a[i] = rig_change_with(&g, START, names[i], i ? SHARER("b", "2") : SHARER("a", "1"), false,
                                       id);
        }
        rig_settle(&g);
        assert_int_equal(rig_last(a[0])->status + rig_last(a[1])->status, EEXIST);
        assert_true(!rig_record(&g, "a.service") != !rig_record(&g, "b.service"));
}

// Also one that an earlier one of the request has brought the file to.
static void all_that_come_with_the_same_file_have_their_turn(void **state) {
        Argosy__NamedFile files[2], *pointers[] = {&files[0], &files[1]};
        char *names[] = {(char *) "app.service", (char *) "web.service"};
        const char *contents[] = {SHARER("app", "2"), SHARER("other", "2")};
        uint8_t id[16] = {8};
        Argosy__Request__Change m = MESSAGE_OF(request__change, .verb = START, .names = names, .n_names = 2,
                                               .files = pointers, .n_files = 2, .replace = true,
                                               .id = (ProtobufCBinaryData){sizeof(id), id});
        const Argosy__Response__Change *c;

        for (size_t i = 0; i < 2; i++) {
                argosy__named_file__init(&files[i]);
                files[i].name = files[i].path = names[i];
                files[i].content = (ProtobufCBinaryData){strlen(contents[i]), (uint8_t *) contents[i]};
        }
        c = rig_change_answered(rig_ask_and_settle(&g, A_REQUEST(CHANGE, change, &m)));
        assert_int_equal(c->n_units, 2);
        assert_int_equal(c->units[1]->status, 0);
        assert_true(rig_has_content(&g, "app.service", SHARER("app", "2")));
        assert_true(rig_has_content(&g, "web.service", SHARER("other", "2")));
}

// It keeps what it has, which is about a network that the others have left.
static void who_is_refused_in_the_request_shares_all_the_same(void **state) {
        Argosy__NamedFile files[2], *pointers[] = {&files[0], &files[1]};
        char *names[] = {(char *) "app.service", (char *) "web.service"};
        const char *contents[] = {SHARER("app", "2"), SHARER("web", "3")};
        uint8_t id[16] = {8};
        Argosy__Request__Change m = MESSAGE_OF(request__change, .verb = START, .names = names, .n_names = 2,
                                               .files = pointers, .n_files = 2, .replace = true,
                                               .id = (ProtobufCBinaryData){sizeof(id), id});

        for (size_t i = 0; i < 2; i++) {
                files[i] = (Argosy__NamedFile) MESSAGE_OF(
                        named_file, .name = names[i], .path = names[i],
                        .content = (ProtobufCBinaryData){strlen(contents[i]), (uint8_t *) contents[i]});
        }
        (void) rig_ask_and_settle(&g, A_REQUEST(CHANGE, change, &m));
        assert_true(rig_has_content(&g, "app.service", SHARER("app", "2")));
        assert_true(rig_has_content(&g, "web.service", SHARER("web", "2")));
}

static void nobody_comes_to_a_network_that_an_update_changes(void **state) {
        RigRollout w = {ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE, "web.service", SHARER("web", "2"),
                        .health_ms = 5000};
        const Argosy__Response__UnitResult *r;

        assert_int_equal(rig_last(rig_rollout(&g, w))->status, 0);
        r = rig_change(&g, START, "app.service", SHARER("app", "2"));
        assert_int_equal(r->status, EEXIST);
        assert_non_null(strstr(r->message, "being changed by an update of web.service"));
        rig_pass_ms(&g, 20000);
        assert_int_equal(rig_change(&g, START, "app.service", SHARER("app", "2"))->status, 0);
}

RUN_TESTS(RIG_TEST(who_comes_with_another_file_of_a_network_is_refused),
          RIG_TEST(with_replace_all_get_the_file_of_who_comes),
          RIG_TEST(two_that_come_with_two_files_are_not_both_taken),
          RIG_TEST(one_of_two_at_once_is_refused),
          RIG_TEST(all_that_come_with_the_same_file_have_their_turn),
          RIG_TEST(who_is_refused_in_the_request_shares_all_the_same),
          RIG_TEST(nobody_comes_to_a_network_that_an_update_changes))
