// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a Change means, told unit by unit. Two nodes take units: 1, and 2 for those that need disk=ssd; node
// 3 is lost.
#include "request.h"

#include "messages.h"
#include "response.h"
#include "test.h"
#include "unit-file.h"

#define SERVICE "[Service]\nExecStart=/bin/true\n"
#define OTHER "[Service]\nExecStart=/bin/false\n"
#define INACTIVE ARGOSY__TARGET__TARGET_INACTIVE
#define LOADED ARGOSY__TARGET__TARGET_LOADED
#define LAUNCHED ARGOSY__TARGET__TARGET_LAUNCHED

typedef struct World {
        ClusterState *state;
        Argosy__Response *response;
        size_t n_ops; // of the last request
        int error;
        size_t n_siblings_asked;
        const ChangeOps *ops; // NULL: `ops`
} World;

static World w;

static int setup(void **state) {
        w = (World){.state = cluster_state_new()};
        return w.state ? 0 : -1;
}

static int teardown(void **state) {
        message_free(w.response);
        cluster_state_free(w.state);
        return 0;
}

static int on_place(const char *name, const char *activates, const UnitOptions *options,
                    const UnitOptions *mate, ChangePlace *ret, void *userdata) {
        Argosy__Refusal **refusals = NULL;
        size_t n = 0;

        if (options->machine_id) {
                assert_int_equal(
                        FIELD_APPEND(refusals, n, refusal_new("n1", "MachineID= names another machine")), 0);
                *ret = (ChangePlace){.refusals = refusals, .n_refusals = n};
        } else if (options->n_labels && strcmp(options->labels[0].values[0], "nvme") == 0)
                *ret = (ChangePlace){.possible = true};
        else
                *ret = (ChangePlace){.node = options->n_labels ? 2 : 1, .possible = true};
        return 0;
}

static bool on_may_stay(uint32_t node, const UnitOptions *options, void *userdata) {
        return !options || node == (options->n_labels ? 2u : 1u);
}

// As the leader does, of "web@.service" only.
static int on_siblings(const char *template, SpecEntry **ret, void *userdata) {
        const UnitEntry *a = cluster_state_find_unit(w.state, "web@1.service"),
                        *b = cluster_state_find_unit(w.state, "web@2.service");

        w.n_siblings_asked++;
        assert_string_equal(template, "web@.service");
        if (a && b && a->spec != b->spec)
                return -ENOTUNIQ;
        *ret = a ? a->spec : b ? b->spec : NULL;
        return *ret ? 1 : 0;
}

static const ChangeOps ops = {.place = on_place, .may_stay = on_may_stay, .siblings = on_siblings};

static const char *node_name(uint32_t node, void *userdata) {
        return node == 1 ? "n1" : "n2";
}

static void apply(BatchBuilder *d) {
        Argosy__LogBatch *batch = argosy__log_batch__unpack(NULL, d->packed.len, d->packed.data);

        assert_non_null(batch);
        assert_int_equal(cluster_state_apply(w.state, batch), 0);
        message_free(batch);
        cluster_state_drop_dirty(w.state);
}

typedef struct File {
        const char *name, *content;
} File;

// Plans, applies, and returns the first result.
static const Argosy__Response__UnitResult *change_all(Argosy__Verb verb, const char *const *names,
                                                      size_t n_names, const File *files, size_t n_files,
                                                      bool replace) {
        Argosy__Request__Change c = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__NamedFile sent[8], *pointers[8];
        BatchBuilder d = {};

        for (size_t i = 0; i < n_files; i++) {
                argosy__named_file__init(&sent[i]);
                sent[i].name = (char *) files[i].name;
                sent[i].path = (char *) files[i].name;
                sent[i].content.data = (uint8_t *) files[i].content;
                sent[i].content.len = strlen(files[i].content);
                pointers[i] = &sent[i];
        }
        c.verb = verb;
        c.names = (char **) names;
        c.n_names = n_names;
        c.files = pointers;
        c.n_files = n_files;
        c.replace = replace;
        message_free(w.response);
        w.response = NULL;
        w.error = change_plan(w.state, &c, &d, w.ops ?: &ops, NULL, &w.response);
        w.n_ops = d.n_ops;
        if (w.error == 0) {
                apply(&d);
                change_complete(w.state, w.response, node_name, NULL);
        }
        batch_builder_done(&d);
        return w.response && w.response->change->n_units ? w.response->change->units[0] : NULL;
}

static const Argosy__Response__UnitResult *change(Argosy__Verb verb, const char *name, const char *content) {
        File file = {name, content};

        return change_all(verb, &name, 1, &file, content ? 1 : 0, false);
}

static const Argosy__Response__UnitResult *replace(Argosy__Verb verb, const char *name,
                                                   const char *file_name, const char *content) {
        File file = {file_name, content};

        return change_all(verb, &name, 1, &file, 1, true);
}

#define submit(...) change(ARGOSY__VERB__VERB_SUBMIT, __VA_ARGS__)
#define load(...) change(ARGOSY__VERB__VERB_LOAD, __VA_ARGS__)
#define start(...) change(ARGOSY__VERB__VERB_START, __VA_ARGS__)
#define stop(name) change(ARGOSY__VERB__VERB_STOP, name, NULL)
#define restart(name) change(ARGOSY__VERB__VERB_RESTART, name, NULL)
#define unload(name) change(ARGOSY__VERB__VERB_UNLOAD, name, NULL)
#define destroy(name) change(ARGOSY__VERB__VERB_DESTROY, name, NULL)

static const Argosy__UnitRecord *record(const char *name) {
        const UnitEntry *e = cluster_state_find_unit(w.state, name);

        return e ? e->record : NULL;
}

static bool has_content(const char *name, const char *content) {
        const UnitEntry *e = cluster_state_find_unit(w.state, name);

        return e && e->spec->len == strlen(content) && memcmp(e->spec->content, content, e->spec->len) == 0;
}

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
        assert_int_equal(c->units[3]->status, EINVAL);
        assert_non_null(strstr(c->units[3]->message, "broken.service:2"));
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
        assert_int_equal(r->status, EINVAL);
        assert_non_null(strstr(r->message, "web@1.service"));
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
        assert_int_equal(r->status, EINVAL);
        assert_non_null(strstr(r->message, "different contents"));
        assert_null(record("web@10.service"));
}

static void a_misspelt_section_is_refused_in_what_comes_in(void **state) {
        const char *names[] = {"web@1.service", "web@2.service"};
        const File file = {"web@.service", SERVICE "[X-fleet]\nGlobal=true\n"};

        change_all(ARGOSY__VERB__VERB_START, names, 2, &file, 1, false);
        const Argosy__Response__Change *c = w.response->change;
        assert_int_equal(c->units[0]->status, EINVAL);
        assert_non_null(strstr(c->units[0]->message, "web@.service:3: [X-fleet]"));
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
        assert_int_equal(r->status, 0);
        assert_non_null(strstr(r->message, "--replace"));
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
        assert_int_equal(r->status, EINVAL);
        assert_non_null(strstr(r->message, "data.volume is not as it was"));
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

        assert_int_equal(r->status, ENOSPC);
        assert_non_null(strstr(r->message, "there is no pool 'gold'"));
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

        assert_int_equal(r->status, EINVAL);
        assert_non_null(strstr(r->message, "web.service:4: WantedBy=app: "));
        assert_null(record("web.service"));
        assert_int_equal(submit("web@.service", SERVICE "[Install]\nWantedBy=app-%i.target\n")->status, 0);
}

static void what_is_ignored_of_an_install_section_is_said_where_the_file_comes_in(void **state) {
        const Argosy__Response__UnitResult *r =
                submit("web.service", SERVICE "[Install]\nAlias=dbus-x.service\nUpheldBy=a.target\n");

        assert_int_equal(r->status, 0);
        assert_non_null(strstr(r->message, "web.service:4: Alias=dbus-x.service is ignored: "));
        assert_non_null(strstr(r->message, "web.service:5: UpheldBy=a.target is ignored: "));
        assert_string_equal(start("web.service", NULL)->message, "");
}

static void a_line_of_a_drop_in_is_said_with_its_path(void **state) {
        const Argosy__Response__UnitResult *r =
                submit("web@1.service", SERVICE
                       "\n# web@.service.d/1.conf\n[Install]\nUpheldBy=a.target\n"
                       "\n# web@.service.d/2.conf\n[X-Argosy]\nHost=n1\n[Install]\nUpheldBy=b.target\n");

        assert_int_equal(r->status, 0);
        assert_non_null(strstr(r->message, "web@.service.d/1.conf:2: UpheldBy=a.target is ignored: "));
        assert_non_null(strstr(r->message, "web@.service.d/2.conf:4: UpheldBy=b.target is ignored: "));
        // What depends on the name, and what does not.
        r = submit("web@2.service", SERVICE "\n# web@.service.d/1.conf\n[X-Argosy]\nMachineID=%i\n");
        assert_int_equal(r->status, EINVAL);
        assert_non_null(strstr(r->message, "web@.service.d/1.conf:2: "));
        r = submit("web@3.service", SERVICE "\n# web@.service.d/1.conf\n[X-Argosy]\nGlobal=maybe\n");
        assert_int_equal(r->status, EINVAL);
        assert_non_null(strstr(r->message, "web@.service.d/1.conf:2: "));
}

static void the_hint_for_a_template_names_its_default_instance(void **state) {
        submit("web@.service", SERVICE "[Install]\nDefaultInstance=main\n");
        assert_non_null(strstr(start("web@.service", NULL)->message, "for example web@main.service"));
        submit("db@.service", SERVICE);
        assert_non_null(strstr(start("db@.service", NULL)->message, "for example db@1.service"));
}

// ------------------------------------------------------------------------------------------------ company

#define WITH(unit) SERVICE "[X-Argosy]\n\nMachineOf=" unit "\n"

static void assert_cycle(const Argosy__Response__UnitResult *r, const char *why) {
        assert_non_null(r);
        assert_int_equal(r->status, EINVAL);
        assert_string_equal(r->message, why);
        assert_null(cluster_state_find_unit(w.state, r->name));
}

static void units_that_are_to_be_where_each_other_is_are_refused_whoever_comes_last(void **state) {
        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "a.service", WITH("b.service"))->status, 0);
        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "b.service", WITH("c.service x.service"))->status,
                         0);
        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "d.service", WITH("a.service"))->status,
                         0); // leads into it, no cycle
        assert_cycle(change(ARGOSY__VERB__VERB_SUBMIT, "c.service", WITH("a.service")),
                     "c.service:5: units that are to be where each other is: c.service -> a.service -> "
                     "b.service -> c.service");
        assert_cycle(change(ARGOSY__VERB__VERB_SUBMIT, "e.service", WITH("e.service")),
                     "e.service:5: the unit is to be where it is itself (MachineOf=e.service)");
        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "c.service", WITH("x.service"))->status, 0);
}

static void a_cycle_within_one_request_is_refused(void **state) {
        const char *const names[] = {"a.service", "b.service"};
        const File files[] = {{"a.service", WITH("b.service")}, {"b.service", WITH("a.service")}};

        change_all(ARGOSY__VERB__VERB_SUBMIT, names, 2, files, 2, false);
        assert_int_equal(w.response->change->units[0]->status, 0);
        assert_cycle(w.response->change->units[1],
                     "b.service:5: units that are to be where each other is: b.service -> a.service -> "
                     "b.service");
}

static void a_replaced_file_that_closes_a_cycle_is_refused(void **state) {
        const char *const name = "a.service";
        const File file = {"a.service", WITH("b.service")};

        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "a.service", SERVICE)->status, 0);
        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "b.service", WITH("a.service"))->status, 0);
        assert_int_equal(change_all(ARGOSY__VERB__VERB_SUBMIT, &name, 1, &file, 1, true)->status, EINVAL);
        assert_int_equal(w.n_ops, 0);
}

// Fleet's client unloads a unit with its new content before it starts it: the unit goes on with the old one
// if the new one is no good.
static void a_content_that_an_unload_brings_is_looked_at_as_any_other(void **state) {
        static const char *const wrong[] = {
                WITH("b.service"), SERVICE "[X-Fleet]\nReplaces=c.service\n",
                SERVICE "[X-Argosy]\nRequires=nosuch.service\n",
        };

        assert_int_equal(start("a.service", SERVICE)->status, 0);
        assert_int_equal(submit("b.service", WITH("a.service"))->status, 0);
        assert_int_equal(submit("c.service", SERVICE "[X-Fleet]\nReplaces=a.service\n")->status, 0);
        for (size_t i = 0; i < ELEMENTSOF(wrong); i++) {
                if (replace(ARGOSY__VERB__VERB_UNLOAD, "a.service", "a.service", wrong[i])->status != EINVAL)
                        fail_msg("taken: %s", wrong[i]);
                assert_int_equal(w.n_ops, 0);
                assert_int_equal(record("a.service")->target, LAUNCHED);
        }
}

static void templates_whose_instances_would_make_a_cycle_are_refused(void **state) {
        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "web@.service", WITH("db@%i.service"))->status,
                         0);
        assert_cycle(
                change(ARGOSY__VERB__VERB_SUBMIT, "db@.service", WITH("web@%i.service")),
                "db@.service:5: units that are to be where each other is: db@1.service -> web@1.service "
                "-> db@1.service");
        assert_int_equal(change(ARGOSY__VERB__VERB_SUBMIT, "db@.service", WITH("log@%i.service"))->status,
                         0);
        assert_int_equal(change(ARGOSY__VERB__VERB_START, "web@7.service", NULL)->status, 0);
        assert_cycle(change(ARGOSY__VERB__VERB_START, "log@7.service", WITH("web@7.service")),
                     "log@7.service:5: units that are to be where each other is: log@7.service -> "
                     "web@7.service -> db@7.service -> log@7.service");
}

// ---- turns

static struct {
        char names[16][32]; // in the order in which they were placed
        size_t n;
        unsigned placed[3]; // of each role
} turns;

static int on_place_in_turn(const char *name, const char *activates, const UnitOptions *options,
                            const UnitOptions *mate, ChangePlace *ret, void *userdata) {
        snprintf(turns.names[turns.n++], sizeof(turns.names[0]), "%s", name);
        turns.placed[options->role ? atoi(options->role) : 0] += options->cpu_milli;
        *ret = (ChangePlace){.node = 1, .possible = true};
        return 0;
}

static void on_rank(const UnitOptions *options, ChangeRank *ret, void *userdata) {
        *ret = (ChangeRank){.role = options->role ? (uint32_t) atoi(options->role) : 0,
                            .share = options->cpu_milli};
}

static bool on_role_before(uint32_t a, uint32_t b, void *userdata) {
        return turns.placed[a] != turns.placed[b] ? turns.placed[a] < turns.placed[b] : a < b;
}

// Starts units whose files have these options, and says who was placed when.
static const char *placed_in_turns(Argosy__Verb verb, const char *const *names, const char *const *options,
                                   size_t n) {
        static const ChangeOps in_turns = {
                .place = on_place_in_turn, .rank = on_rank, .role_before = on_role_before};
        static char said[512];
        char contents[8][256];
        File files[8];

        turns.n = 0;
        memset(turns.placed, 0, sizeof(turns.placed));
        for (size_t i = 0; i < n; i++) {
                snprintf(contents[i], sizeof(contents[i]), SERVICE "[X-Argosy]\n%s\n", options[i]);
                files[i] = (File){names[i], contents[i]};
        }
        w.ops = &in_turns;
        (void) change_all(verb, names, n, files, n, false);
        w.ops = NULL;
        for (size_t i = 0; i < n; i++) {
                assert_int_equal(w.response->change->units[i]->status, 0);
                assert_string_equal(w.response->change->units[i]->name, names[i]);
        }
        said[0] = 0;
        for (size_t i = 0; i < turns.n; i++)
                (void) strcat(strcat(said, i ? " " : ""), turns.names[i]);
        return said;
}

static void the_units_of_a_request_have_their_turns_as_in_a_round(void **state) {
        static const char *const names[] = {"a.service", "b.service", "c.service", "d.service", "e.service"};

        assert_string_equal(
                placed_in_turns(ARGOSY__VERB__VERB_START, names,
                                (const char *const[]){"ReserveCPU=1", "ReserveCPU=4", "Priority=5",
                                                      "ReserveCPU=2\nPriority=-1", "ReserveCPU=4"},
                                5),
                "c.service b.service e.service a.service d.service");
}

// Who asks for many things in one body finds what became of each by its place.
static void answers_stand_in_the_order_of_the_names(void **state) {
        static const char *const names[] = {"a.timer", "b.service"};

        assert_string_equal(
                placed_in_turns(ARGOSY__VERB__VERB_START, names, (const char *const[]){"", ""}, 2),
                "b.service a.timer");
}

// The first of role 2 is placed, then role 1 has less until it has as much.
static void the_role_that_has_the_least_goes_first(void **state) {
        static const char *const names[] = {"a.service", "b.service", "c.service", "d.service", "e.service"};

        assert_string_equal(
                placed_in_turns(ARGOSY__VERB__VERB_LOAD, names,
                                (const char *const[]){"Role=2\nReserveCPU=1", "Role=2\nReserveCPU=1",
                                                      "Role=2\nReserveCPU=1", "Role=1\nReserveCPU=2",
                                                      "Role=1\nReserveCPU=1\nPriority=1"},
                                5),
                "e.service a.service d.service b.service c.service");
}

static void who_goes_where_others_are_comes_after_them(void **state) {
        static const char *const names[] = {"a.service", "b.service", "c.timer"};

        assert_string_equal(
                placed_in_turns(ARGOSY__VERB__VERB_START, names,
                                (const char *const[]){"MachineOf=b.service\nPriority=9\nReserveCPU=9",
                                                      "Priority=-9", "Priority=10"},
                                3),
                "b.service a.service c.timer");
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

// Instances mostly go from one content to another together: who shares the network is looked at once.
static void who_shares_a_network_is_looked_at_once_for_all_instances(void **state) {
        static const ChangeOps sharing = {.place = on_place_of_sharer,
                                          .may_stay = on_may_stay_with_sharers,
                                          .siblings = on_siblings,
                                          .each_sharer = on_each_sharer};
        const char *names[] = {"web@1.service", "web@2.service"};

        w.ops = &sharing;
        n_sharers_asked = 0;
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
        static const ChangeOps sharing = {.place = on_place_of_sharer,
                                          .may_stay = on_may_stay_with_sharers,
                                          .siblings = on_siblings,
                                          .each_sharer = on_each_sharer};
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
        cmocka_unit_test_setup_teardown(who_shares_a_network_is_looked_at_once_for_all_instances, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_instance_is_refused_for_its_network_as_the_one_before_was, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(submit_stores_and_places_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_line_of_a_drop_in_is_said_with_its_path, setup, teardown),
        cmocka_unit_test_setup_teardown(verbs_lead_to_their_targets, setup, teardown),
        cmocka_unit_test_setup_teardown(every_start_is_a_new_number, setup, teardown),
        cmocka_unit_test_setup_teardown(restart_starts_what_is_loaded_and_restarts_what_was_launched,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_loaded_can_be_neither_stopped_nor_restarted,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_does_not_exist_has_its_own_error, setup, teardown),
        cmocka_unit_test_setup_teardown(one_bad_unit_does_not_hold_up_the_others, setup, teardown),
        cmocka_unit_test_setup_teardown(
                a_template_cannot_be_started_but_its_instances_share_its_content, setup, teardown),
        cmocka_unit_test_setup_teardown(an_instance_finds_its_content_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(an_instance_without_a_file_is_made_like_its_siblings, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_volume_that_is_there_is_not_changed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_misspelt_section_is_refused_in_what_comes_in, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_template_that_changes_leaves_its_instances_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_different_file_is_only_warned_about_without_replace, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
                replace_does_not_pull_the_file_from_under_a_unit_that_is_further_along, setup,
                teardown),
        cmocka_unit_test_setup_teardown(a_new_file_may_need_another_node, setup, teardown),
        cmocka_unit_test_setup_teardown(what_no_node_can_ever_take_is_refused_and_not_stored, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_no_node_takes_now_waits_for_one, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pool_that_nobody_made_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(a_global_unit_has_no_node, setup, teardown),
        cmocka_unit_test_setup_teardown(a_unit_named_twice_is_changed_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_unit_named_twice_is_refused_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_unit_that_the_entry_touches_already_waits_for_the_next,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
                a_unit_that_stays_as_it_is_is_answered_by_the_revision_that_it_had, setup, teardown),
        cmocka_unit_test_setup_teardown(an_install_section_that_cannot_work_is_refused_with_its_line,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
                what_is_ignored_of_an_install_section_is_said_where_the_file_comes_in, setup,
                teardown),
        cmocka_unit_test_setup_teardown(the_hint_for_a_template_names_its_default_instance, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
                units_that_are_to_be_where_each_other_is_are_refused_whoever_comes_last, setup,
                teardown),
        cmocka_unit_test_setup_teardown(a_cycle_within_one_request_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_content_that_an_unload_brings_is_looked_at_as_any_other,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_replaced_file_that_closes_a_cycle_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(templates_whose_instances_would_make_a_cycle_are_refused,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(the_units_of_a_request_have_their_turns_as_in_a_round, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(answers_stand_in_the_order_of_the_names, setup, teardown),
        cmocka_unit_test_setup_teardown(the_role_that_has_the_least_goes_first, setup, teardown),
        cmocka_unit_test_setup_teardown(who_goes_where_others_are_comes_after_them, setup, teardown)
)
