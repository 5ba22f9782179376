// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tag is resolved once, by a host that may run the container, and the digest is in the log with the
// content. The registry that hosts ask is `digest_now`, or `words`.
#include <inttypes.h>

#include "content-image.h"
#include "leader-rig-private.h"
#include "messages.h"
#include "queue-words.h"

#define IMAGE "[Container]\nImage=reg.example/web:1\n"
#define ON_2 IMAGE "[X-Argosy]\nHost=n2\n"
#define OTHER_IMAGE "[Container]\nImage=reg.example/db:1\n"
#define NEW_FILE IMAGE "[Service]\nRestart=always\n"
#define OLD "sha256:" "1111111111111111111111111111111111111111111111111111111111111111"
#define NEW "sha256:" "2222222222222222222222222222222222222222222222222222222222222222"

static struct {
        const char *digest, *words; // of all images
        uint32_t here;     // a host that cannot ask; 0: all can
        uint32_t asked[8]; // hosts, in their order
        char image[256];   // that was asked for last
        size_t n;
} registry;

static const char *answer_of(Rig *rig, uint32_t host, const char *image, const char **ret_why,
                             bool *ret_here) {
        assert_true(registry.n < ELEMENTSOF(registry.asked));
        registry.asked[registry.n++] = host;
        snprintf(registry.image, sizeof(registry.image), "%s", image);
        *ret_here = registry.here == host;
        *ret_why = registry.here == host ? "skopeo is not there" : registry.words ?: "";
        return registry.here == host || registry.words ? NULL : registry.digest;
}

FIXTURE(setup_podman) {
        setup(state);
        memset(&registry, 0, sizeof(registry));
        registry.digest = OLD;
        g.registry = answer_of;
        for (uint32_t i = 2; i <= 3; i++) { // host 1 has no podman
                rig_host_set_labels(&g, i, "podman", "5.4");
                rig_host_off(&g, i);
                rig_host_on(&g, i, false);
        }
        rig_settle(&g);
}

#define IMAGE_TEST(f) cmocka_unit_test_setup_teardown(f, setup_podman, teardown)

// Of the content that the unit has; "": none.
static const char *digest_of(const char *name) {
        static char digest[CONTENT_IMAGE_DIGEST_SIZE];
        const UnitEntry *e = cluster_state_find_unit(g.state, name);
        _cleanup_content_image_ ContentImage image = {};

        assert_non_null(e);
        assert_int_equal(content_image_read(name, e->spec->content, e->spec->len, &image), 0);
        memcpy(digest, image.digest, sizeof(digest));
        return digest;
}

static const Argosy__Response *change(Argosy__Verb verb, const char *name, const char *content,
                                      bool replace) {
        uint64_t id[2] = {++g.id, 55};
        RigAnswer *a = rig_change_with(&g, verb, name, content, replace, (const uint8_t *) id);

        rig_settle(&g);
        return rig_last(a);
}

static void assert_done(const Argosy__Response *r) {
        if (r->status)
                fail_msg("%s", r->message);
        for (size_t i = 0; i < r->change->n_units; i++)
                if (r->change->units[i]->status)
                        fail_msg("%s", r->change->units[i]->message);
}

static void a_tag_is_resolved_by_a_host_that_may_run_it(void **state) {
        assert_done(change(START, "web.service", IMAGE, false));
        assert_int_equal(registry.n, 1);
        assert_true(registry.asked[0] > 1);
        assert_string_equal(registry.image, "reg.example/web:1");
        assert_string_equal(digest_of("web.service"), OLD);
        assert_int_equal(rig_count_running(&g, "web.service"), 1);
}

static void lists_have_the_image_and_its_digest(void **state) {
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        const Argosy__Response__Units *units;

        assert_done(change(START, "a.service", IMAGE, false));
        assert_done(change(START, "b.service", SERVICE, false));
        RigAnswer *answer = rig_ask(&g, A_REQUEST(LIST_UNITS, list_units, &list));
        rig_settle(&g);
        units = rig_last(answer)->units;
        assert_int_equal(units->n_rows, 2);
        assert_string_equal(units->rows[0]->image, "reg.example/web:1");
        assert_string_equal(units->rows[0]->digest, OLD);
        assert_false(units->rows[0]->pulling);
        assert_string_equal(units->rows[1]->image, "");
        assert_string_equal(units->rows[1]->digest, "");
}

static void the_same_file_keeps_its_digest(void **state) {
        assert_done(change(START, "web.service", IMAGE, false));
        uint64_t before = rig_record(&g, "web.service")->revision;
        registry.digest = NEW;
        assert_done(change(SUBMIT, "web.service", IMAGE, true));
        assert_string_equal(change(START, "web.service", IMAGE, false)->change->units[0]->message, "");
        assert_int_equal(registry.n, 1);
        assert_string_equal(digest_of("web.service"), OLD);
        assert_true(rig_record(&g, "web.service")->revision >= before);
        assert_done(change(START, "web.service", NEW_FILE, true));
        assert_string_equal(digest_of("web.service"), NEW);
}

static void a_file_that_is_not_taken_is_not_asked_about(void **state) {
        assert_done(change(START, "web.service", IMAGE, false));
        assert_done(change(START, "web.service", NEW_FILE, false));
        assert_done(change(STOP, "web.service", NULL, false));
        assert_done(change(START, "web.service", NULL, false));
        assert_done(change(START, "plain.service", SERVICE, false));
        assert_int_equal(registry.n, 1);
}

static void a_file_that_no_unit_can_have_is_refused_for_what_is_wrong_in_it(void **state) {
        static const char *const contents[] = {"[Container]\nImage=web:1\n", "[Container]\nImage=web:%%i\n"};

        for (size_t i = 0; i < ELEMENTSOF(contents); i++) {
                const Argosy__Response *r = change(START, "web.service", contents[i], false);
                const char *said = r->status ? r->message : r->change->units[0]->message;

                if (!strstr(said, "is a short name"))
                        fail_msg("%s", said);
                assert_null(cluster_state_find_unit(g.state, "web.service"));
        }
        assert_int_equal(registry.n, 0);
}

// When it comes the unit has a file; when it is decided the unit is gone.
static void a_file_that_is_taken_after_all_is_asked_about(void **state) {
        uint64_t ids[2][2] = {{71, 1}, {72, 1}};

        assert_done(change(START, "web.service", SERVICE, false));
        (void) rig_change_with(&g, ARGOSY__VERB__VERB_DESTROY, "web.service", NULL, false,
                               (const uint8_t *) ids[0]);
        (void) rig_change_with_and_settle(&g, START, "web.service", IMAGE, false, (const uint8_t *) ids[1]);
        assert_int_equal(registry.n, 1);
        assert_string_equal(digest_of("web.service"), OLD);
}

static RigAnswer *start_unpinned(const char *name, const char *content) {
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) name, .path = (char *) name,
                                            .content = (ProtobufCBinaryData){.data = (uint8_t *) content,
                                                                             .len = strlen(content)}),
                          *files = &file;
        uint64_t id[2] = {++g.id, 66};
        Argosy__Request__Change m = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = START, .names = (char **) &name, .n_names = 1, .files = &files, .n_files = 1,
                .unpinned = true);

        return rig_ask_and_settle(&g, A_REQUEST(CHANGE, change, &m));
}

// One of its units is gone when the registry has answered about the other. Podman is not asked about the
// files, with a digest or without: both contents are known.
static void what_is_taken_by_then_is_asked_about_too(void **state) {
        static const uint64_t id[2] = {74, 1};
        Argosy__NamedFile a = ARGOSY__NAMED_FILE__INIT, b = ARGOSY__NAMED_FILE__INIT, *files[] = {&a, &b};
        char *names[] = {(char *) "a.service", (char *) "b.service"};

        assert_done(change(START, "a.service", IMAGE, false));
        assert_done(change(ARGOSY__VERB__VERB_DESTROY, "a.service", NULL, false));
        assert_done(rig_last(start_unpinned("tagged.service", IMAGE)));
        assert_done(change(START, "b.service", SERVICE, false));
        a.name = a.path = names[0];
        b.name = b.path = names[1];
        a.content = b.content = (ProtobufCBinaryData){strlen(IMAGE), (uint8_t *) IMAGE};
        Argosy__Request__Change m =
                MESSAGE_OF(request__change, .id = (ProtobufCBinaryData){sizeof(id), (uint8_t *) id},
                           .verb = START, .names = names, .n_names = 2, .n_files = 2, .files = files);
        Argosy__Request request = REQUEST_OF(CHANGE, change, &m);
        for (uint32_t i = 1; i <= 3; i++)
                rig_host(&g, i)->mute = true;
        RigAnswer *answer = rig_ask(&g, &request);
        rig_settle(&g);
        assert_done(change(ARGOSY__VERB__VERB_DESTROY, "b.service", NULL, false));
        for (uint32_t i = 1; i <= 3; i++)
                rig_host(&g, i)->mute = false;
        for (uint32_t i = 2; i <= 3 && !answer->final; i++) { // another one is asked
                rig_host_off(&g, i);
                rig_settle(&g);
                rig_host_on(&g, i, true);
        }
        assert_done(rig_last(answer));
        assert_string_equal(digest_of("a.service"), OLD);
        assert_string_equal(digest_of("b.service"), OLD);
}

static const char *never_twice(Rig *rig, uint32_t host, const char *image, const char **ret_why,
                               bool *ret_here) {
        *ret_here = false;
        *ret_why = "manifest unknown";
        return registry.n++ == 0 ? NULL : OLD;
}

static void what_is_asked_twice_is_refused_as_one(void **state) {
        uint64_t id[2] = {73, 1};

        g.registry = never_twice;
        RigAnswer *first = rig_change_with(&g, START, "web.service", IMAGE, false, (const uint8_t *) id);
        RigAnswer *second =
                rig_change_with_and_settle(&g, START, "web.service", IMAGE, false, (const uint8_t *) id);
        assert_int_equal(rig_last(first)->status, EREMOTEIO);
        assert_int_equal(rig_last(second)->status, EREMOTEIO);
        assert_null(rig_record(&g, "web.service"));
}

static void what_the_registry_says_refuses_the_request(void **state) {
        registry.words = "manifest unknown";
        const Argosy__Response *r = change(START, "web.service", IMAGE, false);
        assert_replies(r, EREMOTEIO, "reg.example/web:1 of web.service");
        assert_non_null(strstr(r->message, ": manifest unknown"));
        assert_non_null(strstr(r->message, "digest: n")); // the host that has asked
        assert_null(rig_record(&g, "web.service"));
        assert_int_equal(registry.n, 1);
}

static void a_host_that_cannot_ask_leaves_it_to_another_one(void **state) {
        registry.here = 2;
        assert_done(change(START, "web.service", IMAGE, false));
        assert_string_equal(digest_of("web.service"), OLD);
        registry.here = 3;
        assert_done(change(START, "other.service", IMAGE, false));
        assert_string_equal(digest_of("other.service"), OLD);
}

static const char *never_reached(Rig *rig, uint32_t host, const char *image, const char **ret_why,
                                 bool *ret_here) {
        registry.asked[registry.n++] = host;
        *ret_here = true;
        *ret_why = "dial tcp: connection refused";
        return NULL;
}

static void if_no_host_reaches_the_registry_it_is_said_why(void **state) {
        g.registry = never_reached;
        const Argosy__Response *r = change(START, "web.service", IMAGE, false);
        assert_replies(r, EREMOTEIO, "connection refused");
        assert_int_equal(registry.n, 2); // hosts that may run it
}

static void a_host_that_is_lost_leaves_it_to_another_one(void **state) {
        uint64_t id[2] = {++g.id, 55};

        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = true;
        RigAnswer *a =
                rig_change_with_and_settle(&g, START, "web.service", IMAGE, false, (const uint8_t *) id);
        assert_int_equal(a->n, 0);
        uint32_t asked = rig_host(&g, 2)->calls > 0 ? 2 : 3;
        rig_host(&g, 5 - asked)->mute = false;
        rig_host_off_for(&g, asked, 2 * RIG_LEASE_MS);
        assert_true(a->final);
        assert_string_equal(digest_of("web.service"), OLD);
        assert_int_equal(registry.asked[0], 5 - asked);
}

// Its session lives, and so does its lease.
static void a_host_that_says_nothing_leaves_it_to_another_one(void **state) {
        uint64_t id[2] = {++g.id, 55};

        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = true;
        RigAnswer *a =
                rig_change_with_and_settle(&g, START, "web.service", IMAGE, false, (const uint8_t *) id);
        uint32_t asked = rig_host(&g, 2)->calls > 0 ? 2 : 3;
        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = false; // for what is asked from now on
        rig_pass_ms(&g, 19000);
        assert_int_equal(a->n, 0);
        rig_pass_ms(&g, 1100);
        assert_true(a->final);
        assert_done(rig_last(a));
        assert_string_equal(digest_of("web.service"), OLD);
        assert_int_equal(registry.asked[0], 5 - asked);
        assert_int_equal(deadline_heap_next(&g.leader->request_deadlines), 0);
}

// NULL: it cannot say.
static void reply(uint32_t host, Argosy__ToVoter__ImageAnswer *image) {
        Argosy__Response response = MESSAGE_OF(response, .status = EIO, .final = true);
        Argosy__ToVoter__CallReply m =
                MESSAGE_OF(to_voter__call_reply, .id = rig_host(&g, host)->last_call, .image = image);

        if (!image)
                m.response = &response;

        rig_host_send(rig_host(&g, host), ARGOSY__TO_VOTER__MSG_CALL_REPLY, &m);
}

static void whoever_waits_is_told_for_whom(void **state) {
        uint64_t id[2] = {++g.id, 55};
        char text[64];

        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = true;
        RigAnswer *a =
                rig_change_with_and_settle(&g, START, "web.service", IMAGE, false, (const uint8_t *) id);
        uint32_t asked = rig_host(&g, 2)->calls > 0 ? 2 : 3;
        rig_pass_ms(&g, 500);
        assert_int_equal(a->n_awaits, 0);
        rig_pass_ms(&g, 500);
        snprintf(text, sizeof(text), "n%" PRIu32 " to resolve reg.example/web:1", asked);
        assert_string_equal(a->awaits, text);
        rig_pass_ms(&g, 18000);
        assert_int_equal(a->n_awaits, 1); // the same is not said again
        rig_pass_ms(&g, 2000);
        snprintf(text, sizeof(text), "n%" PRIu32 " to resolve reg.example/web:1", 5 - asked);
        assert_string_equal(a->awaits, text);
        assert_int_equal(a->n_awaits, 2);
        rig_pass_ms(&g, 20000);
        assert_true(a->final);
        assert_int_equal(a->n_awaits, 2);
        assert_int_equal(deadline_heap_next(&g.leader->request_deadlines), 0);
}

static void who_has_an_answer_soon_is_told_nothing_else(void **state) {
        uint64_t id[2] = {++g.id, 55};
        RigAnswer *a =
                rig_change_with_and_settle(&g, START, "web.service", IMAGE, false, (const uint8_t *) id);

        rig_pass_ms(&g, 5000);
        assert_done(rig_last(a));
        assert_int_equal(a->n_awaits, 0);
}

// One host cannot ask for the one image, while the other one is still asked for.
static void each_image_goes_on_when_its_host_has_answered(void **state) {
        static const uint64_t id[2] = {76, 1};
        Argosy__ToVoter__ImageAnswer cannot =
                MESSAGE_OF(to_voter__image_answer, .error = (char *) "no skopeo", .here = true);
        Argosy__NamedFile a = ARGOSY__NAMED_FILE__INIT, b = ARGOSY__NAMED_FILE__INIT, *files[] = {&a, &b};
        char *names[] = {(char *) "a.service", (char *) "b.service"};
        unsigned calls[4] = {};

        a.name = a.path = names[0];
        b.name = b.path = names[1];
        a.content = (ProtobufCBinaryData){strlen(ON_2), (uint8_t *) ON_2};
        b.content = (ProtobufCBinaryData){strlen(OTHER_IMAGE), (uint8_t *) OTHER_IMAGE};
        Argosy__Request__Change m =
                MESSAGE_OF(request__change, .id = (ProtobufCBinaryData){sizeof(id), (uint8_t *) id},
                           .verb = START, .names = names, .n_names = 2, .n_files = 2, .files = files);
        Argosy__Request request = REQUEST_OF(CHANGE, change, &m);
        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = true;
        RigAnswer *answer = rig_ask(&g, &request);
        rig_settle(&g);
        uint32_t last = rig_host(&g, 3)->calls > 0 ? 3 : 2; // b's, which was asked for last
        rig_pass_ms(&g, 1000);
        assert_string_equal(answer->awaits, "n2 to resolve reg.example/web:1 and 1 more image");
        for (uint32_t h = 2; h <= 3; h++)
                calls[h] = rig_host(&g, h)->calls;
        reply(last, &cannot);
        rig_settle(&g);
        assert_int_equal(rig_host(&g, 5 - last)->calls, calls[5 - last] + 1);
        assert_int_equal(rig_host(&g, last)->calls, calls[last]);
        rig_cancel(&g, answer);
}

static void if_no_host_says_anything_it_is_refused(void **state) {
        uint64_t id[2] = {++g.id, 55};

        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = true;
        RigAnswer *a =
                rig_change_with_and_settle(&g, START, "web.service", IMAGE, false, (const uint8_t *) id);
        rig_pass_ms(&g, 39000);
        assert_int_equal(a->n, 0);
        rig_pass_ms(&g, 1100);
        assert_final(a, EREMOTEIO);
        assert_non_null(
                strstr(rig_last(a)->message, "has not said within 20 seconds what the registry says"));
        assert_null(rig_record(&g, "web.service"));
}

// As one does whose podman is another one; no other could be asked.
static void a_host_that_attaches_anew_is_asked_again(void **state) {
        uint64_t id[2] = {++g.id, 55};
        RigHost *h = rig_host(&g, 2);

        h->mute = true;
        RigAnswer *a =
                rig_change_with_and_settle(&g, START, "web.service", ON_2, false, (const uint8_t *) id);
        assert_int_equal(a->n, 0);
        h->mute = false;
        virtual_host_attach(&h->virtual);
        rig_settle(&g);
        assert_true(a->final);
        assert_done(rig_last(a));
        assert_string_equal(digest_of("web.service"), OLD);
        assert_int_equal(registry.n, 1);
}

// Of which it has so many units that its Attach comes in parts.
static void begin_to_attach(RigHost *h) {
        Argosy__ToVoter__Attach first = ARGOSY__TO_VOTER__ATTACH__INIT;

        h->virtual.ops->attaching(&first, h->virtual.userdata);
        first.seq = ++h->virtual.seq;
        first.parts = true;
        Argosy__ToVoter m = MESSAGE_OF(to_voter, .msg_case = ARGOSY__TO_VOTER__MSG_ATTACH, .attach = &first);
        _cleanup_(message_freep) Argosy__ToVoter *copy = message_copy(&m); // what is in it may be taken
        leader_on_message(g.leader, h->number, copy);
        rig_settle(&g);
}

static void a_host_that_is_attaching_is_waited_for(void **state) {
        uint64_t id[2] = {++g.id, 55};
        RigHost *h = rig_host(&g, 2);

        h->mute = true;
        RigAnswer *a =
                rig_change_with_and_settle(&g, START, "web.service", ON_2, false, (const uint8_t *) id);
        h->mute = false;
        begin_to_attach(h);
        assert_int_equal(a->n, 0);
        virtual_host_attach(&h->virtual); // whole
        rig_settle(&g);
        assert_true(a->final);
        assert_done(rig_last(a));
        assert_string_equal(digest_of("web.service"), OLD);
}

// More of them than one turn has time for: each would ask for another turn, for as long as that takes.
static void those_who_wait_for_a_host_that_is_attaching_cost_no_turn(void **state) {
        RigHost *h = rig_host(&g, 2);
        RigAnswer *a[2];

        g.leader->limits.requests_units = 1;
        h->mute = true;
        for (size_t i = 0; i < 2; i++) {
                uint64_t id[2] = {++g.id, 55};

                a[i] = rig_change_with_and_settle(&g, START, i ? "web.service" : "app.service", ON_2, false,
                                                  (const uint8_t *) id);
        }
        h->mute = false;
        begin_to_attach(h);
        assert_int_equal(a[0]->n + a[1]->n, 0);
        virtual_host_attach(&h->virtual);
        rig_settle(&g);
        assert_done(rig_last(a[0]));
        assert_done(rig_last(a[1]));
}

static void a_host_that_goes_for_good_is_not_waited_for(void **state) {
        uint64_t id[2] = {++g.id, 55};

        rig_host(&g, 2)->mute = true;
        RigAnswer *a =
                rig_change_with_and_settle(&g, START, "web.service", ON_2, false, (const uint8_t *) id);
        rig_host_off_for(&g, 2, 2 * RIG_LEASE_MS);
        assert_final(a, EREMOTEIO);
        assert_non_null(strstr(rig_last(a)->message, "no host that may run it"));
}

static void without_a_host_that_may_run_it_nothing_is_taken(void **state) {
        const Argosy__Response *r = change(START, "web.service", IMAGE "[X-Argosy]\nHost=none\n", false);

        assert_replies(r, EREMOTEIO, "no host that may run it");
        assert_int_equal(registry.n, 0);
}

static void others_are_decided_meanwhile(void **state) {
        uint64_t id[2] = {++g.id, 55};

        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = true;
        RigAnswer *a =
                rig_change_with_and_settle(&g, START, "web.service", IMAGE, false, (const uint8_t *) id);
        assert_done(change(START, "plain.service", SERVICE, false));
        assert_int_equal(a->n, 0);
        rig_cancel(&g, a);
        rig_settle(&g);
        assert_null(rig_record(&g, "web.service"));
}

// Who asks may only operate by the time that its image is known, and somebody else has made the unit.
static void ask_and_lose_the_right(const char *name, const char *content) {
        Argosy__Author alice = user("alice", 1000);
        uint64_t id[2] = {++g.id, 55};

        give(ARGOSY__RIGHT__RIGHT_DEPLOY, "alice", false);
        g.author = &alice;
        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = true;
        RigAnswer *a = rig_change_with_and_settle(&g, START, name, content, false, (const uint8_t *) id);
        g.author = NULL;
        assert_int_equal(a->n, 0);
        assert_done(change(SUBMIT, name, SERVICE, false));
        give(ARGOSY__RIGHT__RIGHT_OPERATE, "alice", false);
        give(ARGOSY__RIGHT__RIGHT_DEPLOY, "alice", true);
        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = false;
        for (uint32_t i = 2; i <= 3; i++) {
                rig_host_off(&g, i);
                rig_host_on(&g, i, false);
        }
        rig_settle(&g);
        assert_true(a->final);
        assert_done(rig_last(a));
        assert_int_equal(rig_count_running(&g, name), 1);
        assert_int_equal(registry.n, 0);
}

static void who_may_bring_nothing_by_then_starts_what_is_there(void **state) {
        ask_and_lose_the_right("web.service", IMAGE);
}

// Its content comes from the leader.
static void who_may_make_no_instance_by_then_starts_what_is_there(void **state) {
        assert_done(change(SUBMIT, "db@.service", "[Container]\nImage=reg.example/db:%i\n", false));
        ask_and_lose_the_right("db@16.service", NULL);
}

// What it was told is gone with it: the request comes again, and is asked about again.
static void the_next_leader_asks_again(void **state) {
        uint64_t id[2] = {++g.id, 55};

        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = true;
        (void) rig_change_with_and_settle(&g, START, "web.service", IMAGE, false, (const uint8_t *) id);
        rig_depose(&g);
        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = false;
        rig_elect(&g);
        assert_null(rig_record(&g, "web.service"));
        (void) rig_change_with_and_settle(&g, START, "web.service", IMAGE, false, (const uint8_t *) id);
        assert_string_equal(digest_of("web.service"), OLD);
}

static void it_runs_with_that_image_everywhere_and_after_undo(void **state) {
        assert_done(change(START, "web.service", IMAGE, false));
        registry.digest = NEW;
        uint64_t job = rig_change_as_job(&g, START, "web.service", NEW_FILE);
        assert_string_equal(digest_of("web.service"), NEW);
        uint32_t host = rig_host_of(&g, "web.service");
        rig_host_off_for(&g, host, 4 * RIG_LEASE_MS);
        assert_int_equal(rig_host_of(&g, "web.service"), 5 - host);
        assert_string_equal(digest_of("web.service"), NEW);
        rig_host_on(&g, host, true);
        assert_int_equal(rig_undo(&g, (RigUndo){.job = job})->status, 0);
        assert_string_equal(digest_of("web.service"), OLD);
        assert_int_equal(registry.n, 2);
}

static void a_held_job_is_resolved_when_it_begins(void **state) {
        uint64_t job = hold((Ask){START, "web.service", IMAGE, .hold = true});

        assert_int_equal(registry.n, 0);
        registry.digest = NEW;
        assert_int_equal(release(job), 0);
        rig_settle(&g);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(registry.n, 1);
        assert_string_equal(digest_of("web.service"), NEW);
        assert_int_equal(state_of(job), DONE);
}

// The host that was asked last, since it had heard of so many.
static uint32_t asked_behind(const unsigned calls[static 4]) {
        uint32_t host = rig_host(&g, 2)->calls > calls[2] ? 2 : 3;

        assert_true(rig_host(&g, host)->calls > calls[host]);
        return host;
}

// It has been let go by another rule, and waits for what a host says of its file while its unit comes to
// another role: the limit counts for it from then on, and has a place in the moment in which the answer is
// here.
static void who_goes_by_another_rule_takes_no_place_of_a_limit_from_an_older_job(void **state) {
        Argosy__ToVoter__ImageAnswer digest = MESSAGE_OF(to_voter__image_answer, .digest = (char *) OLD);
        Argosy__QueueRule one = rule(ARGOSY__QUEUE_ACTION__QUEUE_LIMIT, ""),
                          ops = rule(ARGOSY__QUEUE_ACTION__QUEUE_ACCEPT, ""),
                          submits = rule(ARGOSY__QUEUE_ACTION__QUEUE_ACCEPT, "");
        unsigned calls[4] = {};

        rig_make_role(&g, "ops");
        uint32_t holds = add_rule(rule(ARGOSY__QUEUE_ACTION__QUEUE_HOLD, "web.service"));
        ops.role = (char *) "ops";
        submits.verb = (char *) "submit";
        one.limit = 1;
        (void) add_rule(ops);
        (void) add_rule(submits);
        (void) add_rule(one);
        rig_set_lazy(&g, true);
        uint64_t first = answer((Ask){START, "first.service", SERVICE})->job;
        (void) hold((Ask){START, "older.service", SERVICE});
        (void) hold((Ask){START, "web.service", IMAGE "[X-Argosy]\nRole=ops\n"});
        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = true;
        assert_int_equal(delete_rule(holds), 0);
        uint32_t host = asked_behind(calls);
        for (uint32_t h = 2; h <= 3; h++)
                calls[h] = rig_host(&g, h)->calls;
        reply(host, &digest);
        rig_settle(&g);
        host = asked_behind(calls); // whether podman takes it
        assert_false(answer((Ask){SUBMIT, "web.service", SERVICE})->held);
        assert_null(rig_record(&g, "older.service"));
        (void) wait_for(first);
        g.slow = true;
        for (uint32_t h = 1; h <= 3; h++)
                rig_host(&g, h)->lazy = false;
        rig_turns(&g, 10); // its end is on its way to the log
        reply(host, NULL); // in one turn with that end
        rig_hurry_and_settle(&g);
        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = false;
        rig_pass_ms(&g, 4 * LATER_MS);
        assert_true(is_launched("older.service"));
        assert_true(is_launched("web.service"));
        assert_true(rig_record(&g, "older.service")->revision < rig_record(&g, "web.service")->revision);
}

// It was let go by another rule, and waits for a registry as that one is deleted: the limit counts for it
// from then on.
static void who_goes_by_a_rule_that_is_deleted_has_a_place_of_the_limit_before_who_comes(void **state) {
        uint32_t holds = add_rule(rule(ARGOSY__QUEUE_ACTION__QUEUE_HOLD, "web.service"));
        uint32_t accepts = add_rule(rule(ARGOSY__QUEUE_ACTION__QUEUE_ACCEPT, "web.service"));
        Argosy__ToVoter__ImageAnswer digest = MESSAGE_OF(to_voter__image_answer, .digest = (char *) OLD);
        Argosy__QueueRule one = rule(ARGOSY__QUEUE_ACTION__QUEUE_LIMIT, "");
        unsigned calls[4] = {};

        one.limit = 1;
        (void) add_rule(one);
        uint64_t job = hold((Ask){START, "web.service", IMAGE});
        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = true;
        assert_int_equal(delete_rule(holds), 0);
        (void) asked_behind(calls);
        for (uint32_t h = 2; h <= 3; h++)
                calls[h] = rig_host(&g, h)->calls;
        assert_int_equal(delete_rule(accepts), 0);
        uint32_t host = asked_behind(calls); // it is judged anew, and asks again
        uint64_t younger = hold((Ask){START, "younger.service", SERVICE});
        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = false;
        reply(host, &digest);
        rig_pass_ms(&g, 4 * LATER_MS);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(state_of(younger), DONE);
        assert_true(rig_record(&g, "web.service")->revision < rig_record(&g, "younger.service")->revision);
}

static void a_held_job_that_waits_for_a_registry_holds_up_no_other(void **state) {
        uint64_t job = hold((Ask){START, "web.service", IMAGE, .hold = true}),
                 other = hold((Ask){START, "plain.service", SERVICE, .hold = true});

        g.leader->limits.held_going = 1;
        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = true;
        assert_int_equal(release(job), 0);
        rig_settle(&g);
        assert_int_equal(release(other), 0);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(other), DONE);
        assert_true(is_launched("plain.service"));
        assert_non_null(strstr(rig_show_job(&g, job)->held_by, " to resolve reg.example/web:1"));
        rig_host(&g, 2)->mute = rig_host(&g, 3)->mute = false;
        rig_pass_ms(&g, 25000);
        assert_int_equal(state_of(job), DONE);
        assert_int_equal(g.leader->n_held_going + g.leader->n_held_asking, 0);
}

static void a_held_job_that_is_not_resolved_is_over(void **state) {
        uint64_t job = hold((Ask){START, "web.service", IMAGE, .hold = true});

        registry.words = "unauthorized";
        assert_int_equal(release(job), 0);
        rig_settle(&g);
        rig_pass_ms(&g, LATER_MS);
        assert_int_equal(state_of(job), CANCELLED);
        assert_non_null(strstr(rig_show_job(&g, job)->message, "unauthorized"));
        assert_null(rig_record(&g, "web.service"));
}

static void unpinned_it_is_taken_as_it_is(void **state) {
        registry.words = "no route to host";
        assert_done(rig_last(start_unpinned("web.service", IMAGE)));
        assert_int_equal(registry.n, 0);
        assert_string_equal(digest_of("web.service"), "");
        assert_done(change(SUBMIT, "web.service", IMAGE, true)); // it is the same file
        assert_int_equal(registry.n, 0);
}

static void update(RigRollout w) {
        w.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        const Argosy__Response *r = rig_last(rig_rollout(&g, w));
        if (r->status)
                fail_msg("%s", r->message);
        rig_pass_ms(&g, 20000);
}

static void an_update_with_pull_resolves_the_same_file_anew(void **state) {
        assert_done(change(START, "web.service", IMAGE, false));
        registry.digest = NEW;
        update((RigRollout){.name = "web.service", .content = IMAGE});
        assert_string_equal(digest_of("web.service"), OLD);
        assert_int_equal(registry.n, 1);
        update((RigRollout){.name = "web.service", .content = IMAGE, .pull = true});
        assert_string_equal(digest_of("web.service"), NEW);
        registry.digest = OLD;
        update((RigRollout){.name = "web.service", .pull = true});
        assert_string_equal(digest_of("web.service"), OLD);
        assert_int_equal(registry.n, 3);
}

static void instances_of_a_template_share_a_digest(void **state) {
        const Argosy__Response *r = rig_last(rig_change_many(&g, START, "web", 3, IMAGE));

        assert_done(r);
        registry.digest = NEW;
        r = rig_last(rig_change_many(&g, START, "web", 5, IMAGE));
        assert_done(r);
        assert_int_equal(registry.n, 1);
        assert_string_equal(digest_of("web@4.service"), OLD);
        update((RigRollout){.name = "web@.service", .pull = true});
        assert_string_equal(digest_of("web@0.service"), NEW);
        assert_string_equal(digest_of("web@4.service"), NEW);
}

static const char *refuse_pull(Rig *rig, uint32_t host, const char *image) {
        return host == 3 ? "dial tcp: connection refused" : NULL;
}

static void units_whose_digests_differ_have_one_file_to_pull(void **state) {
        unsigned n_old = 0;

        assert_done(rig_last(rig_change_many(&g, START, "web", 2, IMAGE "[X-Argosy]\nSpreadOver=host\n")));
        registry.digest = NEW;
        g.pull = refuse_pull;
        update((RigRollout){.name = "web@.service", .pull = true}); // host 3 keeps what it has
        n_old += streq(digest_of("web@0.service"), OLD);
        n_old += streq(digest_of("web@1.service"), OLD);
        assert_int_equal(n_old, 1);
        g.pull = NULL;
        update((RigRollout){.name = "web@.service", .pull = true});
        assert_string_equal(digest_of("web@0.service"), NEW);
        assert_string_equal(digest_of("web@1.service"), NEW);
}

static void units_of_several_files_have_none_to_pull(void **state) {
        assert_done(rig_last(rig_change_many(&g, START, "web", 2, IMAGE "[X-Argosy]\nSpreadOver=host\n")));
        g.pull = refuse_pull;
        update((RigRollout){.name = "web@.service", .content = NEW_FILE, .pull = true});
        g.pull = NULL;
        const Argosy__Response *r =
                rig_last(rig_rollout(&g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE,
                                                      .name = "web@.service",
                                                      .pull = true}));
        assert_replies(r, ENOENT, "its units have several files");
}

static void an_image_that_depends_on_the_instance_is_resolved_for_each(void **state) {
        static const char file[] = "[Container]\nImage=reg.example/db:%i\n";

        assert_done(change(SUBMIT, "db@.service", file, false));
        assert_int_equal(registry.n, 0);
        assert_done(change(START, "db@15.service", NULL, false));
        assert_string_equal(registry.image, "reg.example/db:15");
        assert_string_equal(digest_of("db@15.service"), OLD);
        registry.digest = NEW;
        assert_done(change(START, "db@16.service", NULL, false));
        assert_string_equal(registry.image, "reg.example/db:16");
        assert_string_equal(digest_of("db@16.service"), NEW);
        assert_string_equal(digest_of("db@15.service"), OLD);
        assert_done(rig_last(rig_change_many(&g, START, "kv", 2, file)));
        assert_string_equal(digest_of("kv@1.service"), NEW);
        assert_int_equal(registry.n, 4);
}

static void an_update_of_these_is_refused(void **state) {
        static const char file[] = "[Container]\nImage=reg.example/db:%i\n",
                          next[] = "[Container]\nImage=reg.example/db:%i\nExec=x\n";

        assert_done(rig_last(rig_change_many(&g, START, "db", 2, file)));
        const Argosy__Response *r =
                rig_last(rig_rollout(&g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE,
                                                      .name = "db@.service",
                                                      .content = next}));
        assert_replies(r, EOPNOTSUPP, "--replace");
}

RUN_TESTS(IMAGE_TEST(a_tag_is_resolved_by_a_host_that_may_run_it),
          IMAGE_TEST(lists_have_the_image_and_its_digest), IMAGE_TEST(the_same_file_keeps_its_digest),
          IMAGE_TEST(a_file_that_is_not_taken_is_not_asked_about),
          IMAGE_TEST(a_file_that_no_unit_can_have_is_refused_for_what_is_wrong_in_it),
          IMAGE_TEST(a_file_that_is_taken_after_all_is_asked_about),
          IMAGE_TEST(what_is_taken_by_then_is_asked_about_too),
          IMAGE_TEST(what_is_asked_twice_is_refused_as_one),
          IMAGE_TEST(what_the_registry_says_refuses_the_request),
          IMAGE_TEST(a_host_that_cannot_ask_leaves_it_to_another_one),
          IMAGE_TEST(if_no_host_reaches_the_registry_it_is_said_why),
          IMAGE_TEST(a_host_that_is_lost_leaves_it_to_another_one),
          IMAGE_TEST(a_host_that_says_nothing_leaves_it_to_another_one),
          IMAGE_TEST(whoever_waits_is_told_for_whom),
          IMAGE_TEST(who_has_an_answer_soon_is_told_nothing_else),
          IMAGE_TEST(each_image_goes_on_when_its_host_has_answered),
          IMAGE_TEST(if_no_host_says_anything_it_is_refused),
          IMAGE_TEST(a_host_that_attaches_anew_is_asked_again),
          IMAGE_TEST(a_host_that_is_attaching_is_waited_for),
          IMAGE_TEST(those_who_wait_for_a_host_that_is_attaching_cost_no_turn),
          IMAGE_TEST(a_host_that_goes_for_good_is_not_waited_for),
          IMAGE_TEST(without_a_host_that_may_run_it_nothing_is_taken),
          IMAGE_TEST(others_are_decided_meanwhile),
          IMAGE_TEST(who_may_bring_nothing_by_then_starts_what_is_there),
          IMAGE_TEST(who_may_make_no_instance_by_then_starts_what_is_there),
          IMAGE_TEST(the_next_leader_asks_again),
          IMAGE_TEST(it_runs_with_that_image_everywhere_and_after_undo),
          IMAGE_TEST(a_held_job_is_resolved_when_it_begins),
          IMAGE_TEST(who_goes_by_another_rule_takes_no_place_of_a_limit_from_an_older_job),
          IMAGE_TEST(who_goes_by_a_rule_that_is_deleted_has_a_place_of_the_limit_before_who_comes),
          IMAGE_TEST(a_held_job_that_waits_for_a_registry_holds_up_no_other),
          IMAGE_TEST(a_held_job_that_is_not_resolved_is_over), IMAGE_TEST(unpinned_it_is_taken_as_it_is),
          IMAGE_TEST(an_update_with_pull_resolves_the_same_file_anew),
          IMAGE_TEST(instances_of_a_template_share_a_digest),
          IMAGE_TEST(units_whose_digests_differ_have_one_file_to_pull),
          IMAGE_TEST(units_of_several_files_have_none_to_pull),
          IMAGE_TEST(an_image_that_depends_on_the_instance_is_resolved_for_each),
          IMAGE_TEST(an_update_of_these_is_refused))
