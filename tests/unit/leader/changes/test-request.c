// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a Change means, told unit by unit.
#include "request-words.h"

static void submit_stores_and_places_nothing(void **state) {
        const Argosy__Response__UnitResult *r = submit("web.service", SERVICE);

        assert_int_equal(r->status, 0);
        assert_int_equal(r->revision, record("web.service")->revision);
        assert_int_equal(record("web.service")->target, INACTIVE);
        assert_int_equal(record("web.service")->node, 0);
        submit("web.service", SERVICE); // again: nothing to do
        assert_int_equal(w.n_ops, 0);
}

static void verbs_lead_to_their_targets(void **state) {
        assert_string_equal(load("web.service", SERVICE)->node, "n1");
        assert_int_equal(record("web.service")->target, LOADED);
        assert_int_equal(record("web.service")->start_rev, 0);
        start("web.service", NULL);
        assert_int_equal(record("web.service")->target, LAUNCHED);
        assert_int_equal(record("web.service")->start_rev, record("web.service")->revision);
        load("web.service", NULL); // is no order to stop
        assert_int_equal(record("web.service")->target, LAUNCHED);
        assert_int_equal(w.n_ops, 0);
        stop("web.service");
        assert_int_equal(record("web.service")->target, LOADED);
        assert_int_equal(record("web.service")->stop_rev, record("web.service")->revision);
        unload("web.service");
        assert_int_equal(record("web.service")->target, INACTIVE);
        assert_int_equal(record("web.service")->node, 0);
        destroy("web.service");
        assert_null(record("web.service"));
}

static void every_start_is_a_new_number(void **state) {
        start("web.service", SERVICE);
        uint64_t first = record("web.service")->start_rev;
        start("web.service", NULL);
        assert_true(record("web.service")->start_rev > first);
}

static void restart_starts_what_is_loaded_and_restarts_what_was_launched(void **state) {
        load("web.service", SERVICE);
        restart("web.service");
        assert_int_equal(record("web.service")->target, LAUNCHED);
        assert_int_equal(record("web.service")->restart_rev, 0);
        restart("web.service");
        assert_int_equal(record("web.service")->restart_rev, record("web.service")->revision);
        assert_int_equal(record("web.service")->start_rev,
                         record("web.service")->revision); // also a finished one-shot
}

static void what_is_not_loaded_can_be_neither_stopped_nor_restarted(void **state) {
        submit("web.service", SERVICE);
        assert_int_equal(stop("web.service")->status, ENOTCONN);
        assert_int_equal(restart("web.service")->status, ENOTCONN);
        assert_int_equal(w.n_ops, 0);
}

static void what_does_not_exist_has_its_own_error(void **state) {
        assert_int_equal(start("web.service", NULL)->status, ENOENT);
        assert_int_equal(stop("web.service")->status, ENOENT);
        assert_int_equal(unload("web.service")->status, ENOENT);
        assert_int_equal(destroy("web.service")->status, ENOENT);
        assert_int_equal(w.n_ops, 0);
}

static void one_bad_unit_does_not_hold_up_the_others(void **state) {
        const char *names[] = {"a.service", "bad name.service", "systemd-journald.service", "broken.service",
                               "b.service"};
        const File files[] = {{"a.service", SERVICE},
                              {"broken.service", "[X-Argosy]\nNoSuchKey=1\n"},
                              {"systemd-journald.service", SERVICE},
                              {"b.service", SERVICE}};

        change_all(ARGOSY__VERB__VERB_START, names, 5, files, 4, false);
        const Argosy__Response__Change *c = w.response->change;
        assert_int_equal(c->n_units, 5);
        assert_int_equal(c->units[0]->status, 0);
        assert_int_equal(c->units[1]->status, EINVAL);
        assert_int_equal(c->units[2]->status, EPERM);
        assert_replies(c->units[3], EINVAL, "broken.service:2");
        assert_int_equal(c->units[4]->status, 0);
        assert_non_null(record("a.service"));
        assert_non_null(record("b.service"));
        assert_null(record("broken.service"));
        assert_int_equal(cluster_state_n_units(w.state), 2);
}

static void a_template_cannot_be_started_but_its_instances_share_its_content(void **state) {
        const char *names[] = {"web@1.service", "web@2.service", "web@3.service"};

        submit("web@.service", SERVICE);
        const Argosy__Response__UnitResult *r = start("web@.service", NULL);
        assert_replies(r, EINVAL, "web@1.service");
        change_all(ARGOSY__VERB__VERB_START, names, 3, NULL, 0, false);
        assert_int_equal(w.n_ops, 3); // no content is stored again
        assert_true(record("web@2.service")->from_template);
        assert_true(has_content("web@2.service", SERVICE));
}

// In this order: the unit's record, its own file, its template's record, its template's file.
static void an_instance_finds_its_content_in_order(void **state) {
        const char *name = "web@1.service";
        const File both[] = {{"web@.service", OTHER}, {"web@1.service", SERVICE}};

        submit("web@.service", SERVICE "# the record\n");
        change_all(ARGOSY__VERB__VERB_START, &name, 1, both, 1, false);
        assert_true(has_content(name, SERVICE "# the record\n"));
        assert_non_null(strstr(w.response->change->units[0]->message, "differs"));
        destroy(name);
        change_all(ARGOSY__VERB__VERB_START, &name, 1, both, 2, false);
        assert_true(has_content(name, SERVICE));
        assert_false(record(name)->from_template);
        destroy(name);
        destroy("web@.service");
        change_all(ARGOSY__VERB__VERB_START, &name, 1, both, 1, false);
        assert_true(has_content(name, OTHER));
        assert_true(record(name)->from_template);
}

// The template's file was sent with the first instance and is no record of its own.
static void an_instance_without_a_file_is_made_like_its_siblings(void **state) {
        const File template = {"web@.service", SERVICE}, other = {"web@.service", OTHER};
        const char *first = "web@1.service", *second = "web@2.service",
                   *more[] = {"web@7.service", "web@8.service", "web@9.service"};

        assert_int_equal(start("web@7.service", NULL)->status, ENOENT);
        change_all(ARGOSY__VERB__VERB_START, &first, 1, &template, 1, false);
        w.n_siblings_asked = 0;
        const Argosy__Response__UnitResult *r =
                change_all(ARGOSY__VERB__VERB_START, more, 3, NULL, 0, false);
        assert_int_equal(r->status, 0);
        assert_int_equal(w.n_siblings_asked, 1); // not again for each
        assert_true(record("web@7.service")->from_template);
        assert_true(has_content("web@7.service", SERVICE));
        assert_true(has_content("web@9.service", SERVICE));

        change_all(ARGOSY__VERB__VERB_START, &second, 1, &other, 1, false);
        r = start("web@10.service", NULL); // like which?
        assert_replies(r, EINVAL, "different contents");
        assert_null(record("web@10.service"));
}

static void a_misspelt_section_is_refused_in_what_comes_in(void **state) {
        const char *names[] = {"web@1.service", "web@2.service"};
        const File file = {"web@.service", SERVICE "[X-fleet]\nGlobal=true\n"};

        change_all(ARGOSY__VERB__VERB_START, names, 2, &file, 1, false);
        const Argosy__Response__Change *c = w.response->change;
        assert_replies(c->units[0], EINVAL, "web@.service:3: [X-fleet]");
        assert_int_equal(c->units[1]->status, EINVAL); // the file is read once, and refused for both
        assert_int_equal(w.n_ops, 0);
}

static void a_template_that_changes_leaves_its_instances_alone(void **state) {
        submit("web@.service", SERVICE);
        start("web@1.service", NULL);
        assert_int_equal(replace(ARGOSY__VERB__VERB_SUBMIT, "web@.service", "web@.service", OTHER)->status,
                         0);
        assert_true(has_content("web@.service", OTHER));
        assert_true(has_content("web@1.service", SERVICE));
        start("web@2.service", NULL);
        assert_true(has_content("web@2.service", OTHER));
        replace(ARGOSY__VERB__VERB_START, "web@1.service", "web@.service", OTHER);
        assert_true(has_content("web@1.service", OTHER));
}

static void a_different_file_is_only_warned_about_without_replace(void **state) {
        submit("web.service", SERVICE);
        const Argosy__Response__UnitResult *r = submit("web.service", OTHER);
        assert_replies(r, 0, "--replace");
        assert_true(has_content("web.service", SERVICE));
        assert_int_equal(replace(ARGOSY__VERB__VERB_SUBMIT, "web.service", "web.service", OTHER)->status, 0);
        assert_true(has_content("web.service", OTHER));
}

#define BOX(image, label)                     \
        "[Container]\nImage=localhost/" image \
        "\nVolume=data.volume:/d\n\n# data.volume\n[Volume]\nLabel=" label "\n"

static void a_volume_that_is_there_is_not_changed(void **state) {
        submit("web.service", BOX("a:1", "x=1"));
        const Argosy__Response__UnitResult *r =
                replace(ARGOSY__VERB__VERB_SUBMIT, "web.service", "web.service", BOX("a:2", "x=2"));
        assert_replies(r, EINVAL, "data.volume is not as it was");
        assert_true(has_content("web.service", BOX("a:1", "x=1")));
        assert_int_equal(
                replace(ARGOSY__VERB__VERB_SUBMIT, "web.service", "web.service", BOX("a:2", "x=1"))->status,
                0);
        assert_int_equal(submit("app.service", BOX("a:2", "x=2"))->status, 0); // on another node, perhaps
}

static void replace_does_not_pull_the_file_from_under_a_unit_that_is_further_along(void **state) {
        start("web.service", SERVICE);
        assert_int_equal(replace(ARGOSY__VERB__VERB_SUBMIT, "web.service", "web.service", OTHER)->status,
                         EEXIST);
        assert_int_equal(replace(ARGOSY__VERB__VERB_LOAD, "web.service", "web.service", OTHER)->status,
                         EEXIST);
        assert_true(has_content("web.service", SERVICE));
        assert_int_equal(replace(ARGOSY__VERB__VERB_START, "web.service", "web.service", OTHER)->status, 0);
        assert_true(has_content("web.service", OTHER));
        assert_int_equal(replace(ARGOSY__VERB__VERB_UNLOAD, "web.service", "web.service", SERVICE)->status,
                         0);
        assert_true(has_content("web.service", SERVICE)); // which is nobody's, as it is unloaded
        assert_int_equal(change(ARGOSY__VERB__VERB_UNLOAD, "web.service", OTHER)->status, 0);
        assert_true(has_content("web.service", SERVICE));
}

static void a_new_file_may_need_another_node(void **state) {
        start("db.service", SERVICE);
        assert_int_equal(record("db.service")->node, 1);
        replace(ARGOSY__VERB__VERB_START, "db.service", "db.service",
                SERVICE "[X-Argosy]\nMachineMetadata=disk=ssd\n");
        assert_int_equal(record("db.service")->node, 2);
}

static void what_no_node_can_ever_take_is_refused_and_not_stored(void **state) {
        const Argosy__Response__UnitResult *r =
                start("pin.service", SERVICE "[X-Argosy]\nMachineID=00000000000000000000000000000001\n");

        assert_int_equal(r->status, ENOSPC);
        assert_int_equal(r->n_refusals, 1);
        assert_null(record("pin.service"));
        assert_int_equal(w.n_ops, 0);
}

static void what_no_node_takes_now_waits_for_one(void **state) {
        const Argosy__Response__UnitResult *r =
                start("db.service", SERVICE "[X-Argosy]\nMachineMetadata=disk=nvme\n");

        assert_int_equal(r->status, 0);
        assert_string_equal(r->node, "");
        assert_int_equal(record("db.service")->target, LAUNCHED);
        assert_int_equal(record("db.service")->node, 0);
}

static void a_pool_that_nobody_made_is_named(void **state) {
        const Argosy__Response__UnitResult *r = start(
                "a.service", SERVICE "[X-Argosy]\nMachineID=0123456789abcdef0123456789abcdef\nPool=gold\n");

        assert_replies(r, ENOSPC, "there is no pool 'gold'");
}

static void a_global_unit_has_no_node(void **state) {
        start("agent.service", SERVICE "[X-Argosy]\nGlobal=yes\n");
        assert_true(record("agent.service")->global);
        assert_int_equal(record("agent.service")->node, 0);
}

static void a_unit_named_twice_is_changed_once(void **state) {
        const char *names[] = {"a.service", "a.service"};
        const File file = {"a.service", SERVICE};

        change_all(ARGOSY__VERB__VERB_START, names, 2, &file, 1, false);
        assert_int_equal(w.response->change->n_units, 1);
        assert_int_equal(w.n_ops, 2); // content and unit
}

static void a_unit_named_twice_is_refused_once(void **state) {
        const char *names[] = {"no.service", "a.service", "no.service", "a.service", "b.service"};
        const File files[] = {{"a.service", SERVICE}, {"b.service", SERVICE}};

        change_all(ARGOSY__VERB__VERB_START, names, 5, files, 2, false);
        assert_int_equal(w.response->change->n_units, 3);
        assert_string_equal(w.response->change->units[0]->name, "no.service");
        assert_string_equal(w.response->change->units[1]->name, "a.service");
        assert_string_equal(w.response->change->units[2]->name, "b.service");
}

// What a batch decides about a unit is decided on the state before it, so nothing else may be decided about
// it there.
static void a_unit_that_the_entry_touches_already_waits_for_the_next(void **state) {
        const char *name = "web.service";
        Argosy__Response *response = NULL;
        _cleanup_(batch_builder_done) BatchBuilder d = {};

        submit(name, SERVICE);
        Argosy__Request__Change c = MESSAGE_OF(request__change, .verb = ARGOSY__VERB__VERB_START,
                                               .names = (char **) &name, .n_names = 1);
        assert_int_equal(change_plan(w.state, &c, &d, &ops, NULL, &response), 0);
        message_free(response);
        response = NULL;
        BatchBuilderMark mark = batch_builder_mark(&d);
        assert_int_equal(change_plan(w.state, &c, &d, &ops, NULL, &response), -EBUSY);
        assert_null(response);
        assert_int_equal(d.packed.len, mark.len);
        assert_int_equal(d.n_ops, mark.n_ops);
}

// One request unloads two units, one of which is unloaded already, and the next one of the same entry starts
// that.
static void a_unit_that_stays_as_it_is_is_answered_by_the_revision_that_it_had(void **state) {
        const char *names[] = {"web.service", "db.service"};
        Argosy__Request__Change c = MESSAGE_OF(request__change, .names = (char **) names, .n_names = 2,
                                               .verb = ARGOSY__VERB__VERB_UNLOAD);
        _cleanup_response_ Argosy__Response *unloads = NULL, *starts = NULL;
        BatchBuilder d = {};
        BatchBuilderMark mark = batch_builder_mark(&d);

        start("web.service", SERVICE);
        submit("db.service", SERVICE);
        uint64_t before = record("db.service")->revision;
        assert_int_equal(change_plan(w.state, &c, &d, &ops, NULL, &unloads), 0);
        // who only asks what would be has nothing to wait for
        assert_int_equal(unloads->change->units[1]->revision, 0);
        change_note_kept(w.state, &d, mark, unloads);
        mark = batch_builder_mark(&d);
        c.names = (char **) names + 1;
        c.n_names = 1;
        c.verb = ARGOSY__VERB__VERB_START;
        assert_int_equal(change_plan(w.state, &c, &d, &ops, NULL, &starts), 0);
        change_note_kept(w.state, &d, mark, starts);
        apply(&d);
        batch_builder_done(&d);
        change_complete(w.state, unloads, node_name, NULL);
        change_complete(w.state, starts, node_name, NULL);
        assert_int_equal(unloads->change->units[0]->revision, record("web.service")->revision);
        assert_int_equal(unloads->change->units[1]->revision, before);
        assert_int_equal(starts->change->units[0]->revision, record("db.service")->revision);
        assert_int_equal(record("db.service")->target, LAUNCHED);
}

static void an_install_section_that_cannot_work_is_refused_with_its_line(void **state) {
        const Argosy__Response__UnitResult *r = submit("web.service", SERVICE "[Install]\nWantedBy=app\n");

        assert_replies(r, EINVAL, "web.service:4: WantedBy=app: ");
        assert_null(record("web.service"));
        assert_int_equal(submit("web@.service", SERVICE "[Install]\nWantedBy=app-%i.target\n")->status, 0);
}

static void what_is_ignored_of_an_install_section_is_said_where_the_file_comes_in(void **state) {
        const Argosy__Response__UnitResult *r =
                submit("web.service", SERVICE "[Install]\nAlias=dbus-x.service\nUpheldBy=a.target\n");

        assert_replies(r, 0, "web.service:4: Alias=dbus-x.service is ignored: ");
        assert_non_null(strstr(r->message, "web.service:5: UpheldBy=a.target is ignored: "));
        assert_string_equal(start("web.service", NULL)->message, "");
}

static void a_line_of_a_drop_in_is_said_with_its_path(void **state) {
        const Argosy__Response__UnitResult *r =
                submit("web@1.service", SERVICE
                       "\n# web@.service.d/1.conf\n[Install]\nUpheldBy=a.target\n"
                       "\n# web@.service.d/2.conf\n[X-Argosy]\nHost=n1\n[Install]\nUpheldBy=b.target\n");

        assert_replies(r, 0, "web@.service.d/1.conf:2: UpheldBy=a.target is ignored: ");
        assert_non_null(strstr(r->message, "web@.service.d/2.conf:4: UpheldBy=b.target is ignored: "));
        // What depends on the name, and what does not.
        r = submit("web@2.service", SERVICE "\n# web@.service.d/1.conf\n[X-Argosy]\nMachineID=%i\n");
        assert_replies(r, EINVAL, "web@.service.d/1.conf:2: ");
        r = submit("web@3.service", SERVICE "\n# web@.service.d/1.conf\n[X-Argosy]\nGlobal=maybe\n");
        assert_replies(r, EINVAL, "web@.service.d/1.conf:2: ");
}

static void the_hint_for_a_template_names_its_default_instance(void **state) {
        submit("web@.service", SERVICE "[Install]\nDefaultInstance=main\n");
        assert_non_null(strstr(start("web@.service", NULL)->message, "for example web@main.service"));
        submit("db@.service", SERVICE);
        assert_non_null(strstr(start("db@.service", NULL)->message, "for example db@1.service"));
}

#define SHARER(subnet)                                                                        \
        "[Container]\nImage=localhost/web\nNetwork=front.network\n\n# front.network\n[Network]\n" \
        "Subnet=" subnet "\n"

static unsigned n_sharers_asked;

static int on_place_of_sharer(const char *name, const char *activates, const UnitOptions *options,
                              const UnitOptions *mate, ChangePlace *ret, void *userdata) {
        *ret = (ChangePlace){.node = 1, .possible = true};
        return 0;
}

static bool on_may_stay_with_sharers(uint32_t node, const UnitOptions *options, void *userdata) {
        return true;
}

static void on_each_sharer(const char *network, void (*each)(const char *name, void *userdata),
                           void *each_data, void *userdata) {
        n_sharers_asked++;
        assert_string_equal(network, "front.network");
        each("app.service", each_data);
        each("web@1.service", each_data);
        each("web@2.service", each_data);
}

static const ChangeOps sharing = {.place = on_place_of_sharer,
                                  .may_stay = on_may_stay_with_sharers,
                                  .siblings = on_siblings,
                                  .each_sharer = on_each_sharer};

// Instances mostly go from one content to another together: who shares the network is looked at once.
static void who_shares_a_network_is_looked_at_once_for_all_instances(void **state) {
        const char *names[] = {"web@1.service", "web@2.service"};

        w.ops = &sharing;
        submit("app.service", SHARER("1"));
        (void) change_all(ARGOSY__VERB__VERB_START, names, 2, &(File){"web@.service", SHARER("1")}, 1,
                          false);
        n_sharers_asked = 0;
        (void) change_all(ARGOSY__VERB__VERB_START, names, 2, &(File){"web@.service", SHARER("2")}, 1,
                          true);
        assert_true(has_content("app.service", SHARER("2")) && has_content("web@2.service", SHARER("2")));
        assert_int_equal(n_sharers_asked, 1);
}

// Neither is it for those that are refused.
static void an_instance_is_refused_for_its_network_as_the_one_before_was(void **state) {
        const char *names[] = {"web@1.service", "web@2.service"};
        const File one = {"web@.service", SHARER("1")}, two = {"web@.service", SHARER("2")};

        w.ops = &sharing;
        start("app.service", SHARER("1"));
        (void) change_all(ARGOSY__VERB__VERB_SUBMIT, names, 2, &one, 1, false);
        n_sharers_asked = 0;
        (void) change_all(ARGOSY__VERB__VERB_SUBMIT, names, 2, &two, 1, true);
        for (size_t i = 0; i < 2; i++)
                assert_non_null(strstr(w.response->change->units[i]->message, "is shared with app.service"));
        assert_int_equal(n_sharers_asked, 1);
}

RUN_TESTS(
        REQUEST_TEST(who_shares_a_network_is_looked_at_once_for_all_instances),
        REQUEST_TEST(an_instance_is_refused_for_its_network_as_the_one_before_was),
        REQUEST_TEST(submit_stores_and_places_nothing),
        REQUEST_TEST(a_line_of_a_drop_in_is_said_with_its_path),
        REQUEST_TEST(verbs_lead_to_their_targets),
        REQUEST_TEST(every_start_is_a_new_number),
        REQUEST_TEST(restart_starts_what_is_loaded_and_restarts_what_was_launched),
        REQUEST_TEST(what_is_not_loaded_can_be_neither_stopped_nor_restarted),
        REQUEST_TEST(what_does_not_exist_has_its_own_error),
        REQUEST_TEST(one_bad_unit_does_not_hold_up_the_others),
        REQUEST_TEST(a_template_cannot_be_started_but_its_instances_share_its_content),
        REQUEST_TEST(an_instance_finds_its_content_in_order),
        REQUEST_TEST(an_instance_without_a_file_is_made_like_its_siblings),
        REQUEST_TEST(a_volume_that_is_there_is_not_changed),
        REQUEST_TEST(a_misspelt_section_is_refused_in_what_comes_in),
        REQUEST_TEST(a_template_that_changes_leaves_its_instances_alone),
        REQUEST_TEST(a_different_file_is_only_warned_about_without_replace),
        REQUEST_TEST(replace_does_not_pull_the_file_from_under_a_unit_that_is_further_along),
        REQUEST_TEST(a_new_file_may_need_another_node),
        REQUEST_TEST(what_no_node_can_ever_take_is_refused_and_not_stored),
        REQUEST_TEST(what_no_node_takes_now_waits_for_one),
        REQUEST_TEST(a_pool_that_nobody_made_is_named),
        REQUEST_TEST(a_global_unit_has_no_node),
        REQUEST_TEST(a_unit_named_twice_is_changed_once),
        REQUEST_TEST(a_unit_named_twice_is_refused_once),
        REQUEST_TEST(a_unit_that_the_entry_touches_already_waits_for_the_next),
        REQUEST_TEST(a_unit_that_stays_as_it_is_is_answered_by_the_revision_that_it_had),
        REQUEST_TEST(an_install_section_that_cannot_work_is_refused_with_its_line),
        REQUEST_TEST(what_is_ignored_of_an_install_section_is_said_where_the_file_comes_in),
        REQUEST_TEST(the_hint_for_a_template_names_its_default_instance)
)
