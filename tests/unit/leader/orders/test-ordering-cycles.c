// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Dependencies in a cycle, and what nobody knows: an order is refused, and who only goes along is not.

#include "leader-asks.h"
#include "messages.h"
#include "ordering-words.h"

static const char *refusal(Argosy__Verb verb, const char *name, const char *content) {
        const Argosy__Response__UnitResult *r = rig_change(&g, verb, name, content);

        assert_int_equal(r->status, EINVAL);
        return r->message;
}

static void cycles_are_refused_however_they_come_about(void **state) {
        change(SUBMIT, "a.service", SERVICE "[X-Argosy]\nAfter=b.service\n");
        change(SUBMIT, "b.service", SERVICE "[X-Argosy]\nAfter=c.service\n");
        assert_string_equal(
                refusal(SUBMIT, "c.service", SERVICE "[X-Argosy]\nWants=x.service\nAfter=a.service\n"),
                "c.service:6: the order goes in a cycle: c.service after a.service after b.service after "
                "c.service");
        assert_null(rig_record(&g, "c.service"));
        assert_string_equal(
                refusal(SUBMIT, "d.service", SERVICE "[X-Argosy]\nAfter=a.service\nBefore=b.service\n"),
                "d.service:5: the order goes in a cycle: d.service after a.service after b.service after "
                "d.service");
        assert_string_equal(refusal(SUBMIT, "e.service", SERVICE "[X-Argosy]\nRequires=%n\n"),
                            "e.service:5: the unit depends on itself (e.service)");
        // A template that could have no instance.
        change(SUBMIT, "x@.service", SERVICE "[X-Argosy]\nRequires=y@%i.service\n");
        assert_string_equal(
                refusal(SUBMIT, "y@.service", SERVICE "[X-Argosy]\nAfter=x@%i.service\n"),
                "y@.service:5: the order goes in a cycle: y@.service after x@.service after y@.service");
        change(SUBMIT, "y@.service", SERVICE);
        change(START, "x@1.service", NULL);
        assert_int_equal(rig_record(&g, "y@1.service")->target, LAUNCHED);
        // One that only some instance closes.
        change(SUBMIT, "n@.service", SERVICE "[X-Argosy]\nAfter=n@1.service\n");
        change(START, "n@2.service", NULL);
        assert_string_equal(refusal(START, "n@1.service", NULL),
                            "n@1.service:5: the unit depends on itself (n@1.service)");
}

static void nothing_of_a_cycle_within_one_request_is_stored(void **state) {
        char *names[] = {"a.service", "b.service", "c.service", "d.service"};
        char *contents[] = {SERVICE "[X-Argosy]\nAfter=b.service\n", SERVICE "[X-Argosy]\nAfter=c.service\n",
                            SERVICE "[X-Argosy]\nAfter=a.service\n",
                            SERVICE "[X-Argosy]\nAfter=a.service\n"};
        const Argosy__Response__Change *c = change_many(SUBMIT, 4, names, contents)->responses[0]->change;

        assert_int_equal(c->n_units, 4);
        for (size_t i = 0; i < 3; i++) {
                assert_int_equal(c->units[i]->status, EINVAL);
                assert_string_equal(c->units[i]->message,
                                    "c.service:5: the order goes in a cycle: c.service "
                                    "after a.service after b.service after c.service");
                assert_null(rig_record(&g, names[i]));
        }
        assert_int_equal(c->units[3]->status, 0);
        assert_non_null(rig_record(&g, "d.service"));
}

// One turns around what the other one said until now: only together they are no cycle, whoever is named
// first.
static void a_request_may_turn_an_order_around(void **state) {
        char *names[] = {"b.service", "a.service"};
        char *contents[] = {SERVICE "[X-Argosy]\nAfter=a.service\n", SERVICE};

        change(SUBMIT, "a.service", SERVICE "[X-Argosy]\nAfter=b.service\n");
        replace = true;
        Argosy__Response__Change *c = change_many(SUBMIT, 2, names, contents)->responses[0]->change;
        assert_int_equal(c->units[0]->status | c->units[1]->status, 0);
        contents[0] = SERVICE; // and back, now the one that drops its word comes first
        contents[1] = SERVICE "[X-Argosy]\nAfter=b.service\n";
        c = change_many(SUBMIT, 2, names, contents)->responses[0]->change;
        replace = false;
        assert_int_equal(c->units[0]->status | c->units[1]->status, 0);
        assert_string_equal(
                refusal(SUBMIT, "c.service", SERVICE "[X-Argosy]\nAfter=a.service\nBefore=b.service\n"),
                "c.service:5: the order goes in a cycle: c.service after a.service after b.service after "
                "c.service");
}

// b turns its order around, but a cannot drop its own: b's new word would close the cycle with a's old one.
static void who_is_refused_keeps_its_old_word(void **state) {
        char *names[] = {"b.service", "a.service", "x.service", "y.service"};
        char *contents[] = {SERVICE "[X-Argosy]\nAfter=a.service\n", SERVICE "[X-Argosy]\nAfter=x.service\n",
                            SERVICE "[X-Argosy]\nAfter=a.service\n", SERVICE};

        change(SUBMIT, "a.service", SERVICE "[X-Argosy]\nAfter=b.service\n");
        replace = true;
        Argosy__Response__Change *c = change_many(SUBMIT, 4, names, contents)->responses[0]->change;
        replace = false;
        assert_string_equal(c->units[1]->message,
                            "x.service:5: the order goes in a cycle: x.service after a.service after "
                            "x.service");
        assert_string_equal(c->units[2]->message, c->units[1]->message);
        assert_string_equal(c->units[0]->message,
                            "b.service:5: the order goes in a cycle: b.service after a.service after "
                            "b.service");
        assert_int_equal(c->units[3]->status, 0);
        assert_null(rig_record(&g, "b.service"));
}

// Each one that is refused lets its old order close a cycle with the new one of the next.
static void cycles_one_after_the_other_are_not_followed_for_ever(void **state) {
        enum { CHAIN = 12 };
        char names[CHAIN + 1][16], old[128], new[CHAIN + 1][128];
        char *name[CHAIN + 1], *content[CHAIN + 1];

        for (int i = 0; i <= CHAIN; i++) {
                snprintf(names[i], sizeof(names[i]), "u%d.service", i);
                name[i] = names[i];
                content[i] = new[i];
        }
        for (int i = 0; i < CHAIN; i++) {
                snprintf(old, sizeof(old), SERVICE "[X-Argosy]\n%sAfter=u%d.service\n", i ? "" : "#", i - 1);
                change(SUBMIT, names[i], old);
                snprintf(new[i], sizeof(new[i]), SERVICE "[X-Argosy]\nAfter=u%d.service\n", i + 1);
        }
        snprintf(new[CHAIN], sizeof(new[CHAIN]), SERVICE "[X-Argosy]\nAfter=u%d.service\n", CHAIN - 1);
        replace = true;
        Argosy__Response__Change *c = change_many(SUBMIT, CHAIN + 1, name, content)->responses[0]->change;
        replace = false;
        for (int i = 0; i <= CHAIN; i++) {
                assert_int_equal(c->units[i]->status, EINVAL);
                assert_true(i < CHAIN ? rig_record(&g, names[i]) != NULL : !rig_record(&g, names[i]));
        }
        assert_non_null(strstr(c->units[CHAIN]->message, "goes in a cycle: u12.service after u11.service"));
        assert_non_null(strstr(c->units[CHAIN - 5]->message, "one cycle after the other"));
}

static void what_is_required_must_be_known(void **state) {
        char *names[] = {"a.service", "b.service"};
        char *contents[] = {SERVICE "[X-Argosy]\nRequires=b.service\n", SERVICE};

        assert_string_equal(refusal(SUBMIT, "a.service", contents[0]),
                            "a.service:5: it requires b.service, which the cluster does not know");
        assert_null(rig_record(&g, "a.service"));
        change_many(SUBMIT, 2, names, contents); // named in the same request
        assert_non_null(rig_record(&g, "a.service"));
        change(START, "c.service",
               SERVICE "[X-Argosy]\nAfter=x.service\nWants=y.service\nPartOf=z.service\n");
        rig_pass_ms(&g, 1250);
        assert_int_equal(rig_count_running(&g, "c.service"), 1);
}

static void an_update_may_close_no_cycle_either(void **state) {
        static const char content[] = SERVICE "[X-Argosy]\nAfter=a.service\n";
        uint8_t id[16] = "an update"; // no other request has it

        change(SUBMIT, "w@.service", SERVICE);
        change(START, "w@1.service", NULL);
        change(SUBMIT, "a.service", SERVICE "[X-Argosy]\nAfter=w@1.service\n");
        Argosy__NamedFile file = MESSAGE_OF(
                named_file, .name = (char *) "w@.service", .path = (char *) "w@.service",
                .content = (ProtobufCBinaryData){.data = (uint8_t *) content, .len = strlen(content)});
        Argosy__Request__Rollout rollout =
                ROLLOUT_OF(.name = (char *) "w@.service", .kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE,
                           .file = &file, .id = (ProtobufCBinaryData){.data = id, .len = 16});
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(ROLLOUT, rollout, &rollout));
        assert_true(a->final);
        assert_replies(a->responses[0], EINVAL, "w@1.service:5: the order goes in a cycle: w@1.service "
                                                "after a.service after w@1.service");
}

static void a_content_that_an_unload_brings_may_close_none_either(void **state) {
        char *name = "a.service", *content = SERVICE "[X-Argosy]\nAfter=b.service\n";

        change(START, "a.service", SERVICE);
        change(SUBMIT, "b.service", SERVICE "[X-Argosy]\nAfter=a.service\n");
        replace = true;
        Argosy__Response__Change *c =
                change_many(ARGOSY__VERB__VERB_UNLOAD, 1, &name, &content)->responses[0]->change;
        replace = false;
        assert_int_equal(c->units[0]->status, EINVAL);
        assert_string_equal(
                c->units[0]->message,
                "a.service:5: the order goes in a cycle: a.service after b.service after a.service");
        assert_int_equal(rig_record(&g, "a.service")->target, LAUNCHED);
}

enum { SHORT_ENTRY = 1000 }; // of a few records

static void is_short(Rig *rig) {
        assert_in_range(rig->entry_len, 0, SHORT_ENTRY);
}

// PartOf= says no order.
static void those_that_go_along_with_each_other_go_along_once(void **state) {
        change(START, "c.service", SERVICE ON("two"));
        change(START, "a.service", SERVICE ON("one") "PartOf=b.service\n");
        change(START, "b.service", SERVICE ON("one") "PartOf=c.service a.service\n");
        g.on_entry = is_short;
        const Argosy__Response__UnitResult *r = rig_change(&g, STOP, "c.service", NULL);
        assert_int_equal(r->status, 0);
        assert_string_equal(r->message, "b.service is stopped too, since it depends on it");
        assert_int_equal(rig_record(&g, "a.service")->target, LOADED);
        assert_int_equal(rig_record(&g, "b.service")->target, LOADED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
                T(cycles_are_refused_however_they_come_about),
                T(who_is_refused_keeps_its_old_word),
                T(cycles_one_after_the_other_are_not_followed_for_ever),
                T(nothing_of_a_cycle_within_one_request_is_stored),
                T(a_request_may_turn_an_order_around),
                T(what_is_required_must_be_known),
                T(those_that_go_along_with_each_other_go_along_once),
                T(an_update_may_close_no_cycle_either),
                T(a_content_that_an_unload_brings_may_close_none_either),
#undef T
        };

        return cmocka_run_group_tests_name("ordering", tests, NULL, NULL);
}
