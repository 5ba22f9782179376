// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Secrets with a whole leader: sealed in the log, sent to the hosts of their units and to nobody else, in
// the version that each unit has.
#include <errno.h>

#include "test.h"

#include "access.h"
#include "batch.h"
#include "buf.h"
#include "carried-files.h"
#include "event-asks.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "log.h"
#include "message.h"
#include "messages.h"
#include "secret-name.h"
#include "str.h"
#include "voter-secrets.h"

#define SUBMIT ARGOSY__VERB__VERB_SUBMIT
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define RESTART ARGOSY__VERB__VERB_RESTART
#define DESTROY ARGOSY__VERB__VERB_DESTROY
#define APP "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nSecret=db:password\n"
#define OTHER "[Service]\nExecStart=/bin/sleep 1001\n[X-Argosy]\nSecret=db:password\n"
#define BOX "[Container]\nImage=reg.example/box:1\n[X-Argosy]\nRegistryAuth=db\n"
#define PLAIN "[Service]\nExecStart=/bin/sleep 1000\n"

static Rig g;
static VoterSecrets keys;

// What a host was sent last, and ever.
static struct Sent {
        uint64_t version; // of the last order that names a secret
        uint64_t latest;  // the highest that an order has named
        char value[64], id[16];
        unsigned n; // values
} sent[8];
static char shown[256]; // to a registry, by the last host that was asked about an image

static void on_secrets(uint32_t host, Argosy__UnitOrder **orders, size_t n_orders,
                       Argosy__SecretValue **values, size_t n) {
        struct Sent *s = &sent[host];

        for (size_t i = 0; i < n; i++) {
                snprintf(s->value, sizeof(s->value), "%.*s", (int) values[i]->value.len,
                         values[i]->value.data);
                s->n++;
        }
        for (size_t i = 0; i < n_orders; i++)
                if (orders[i]->n_secrets > 0) {
                        s->version = orders[i]->secrets[0]->version;
                        s->latest = MAX_OF(s->latest, s->version);
                        snprintf(s->id, sizeof(s->id), "%s", orders[i]->secrets[0]->id);
                }
}

static void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case == ARGOSY__TO_HOST__MSG_CALL && m->call->registry_auth)
                snprintf(shown, sizeof(shown), "%s of %s for %s%s", m->call->registry_auth->value.data,
                         m->call->registry_auth->name, m->call->image, m->call->pull ? ", pulled" : "");
        if (m->msg_case == ARGOSY__TO_HOST__MSG_ORDERS)
                on_secrets(host, m->orders->orders, m->orders->n_orders, m->orders->secrets,
                           m->orders->n_secrets);
        else if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME)
                on_secrets(host, m->welcome->orders, m->welcome->n_orders, m->welcome->secrets,
                           m->welcome->n_secrets);
        else if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME_PART)
                on_secrets(host, m->welcome_part->orders, m->welcome_part->n_orders,
                           m->welcome_part->secrets, m->welcome_part->n_secrets);
}

static int begin(unsigned n_hosts) {
        rig_start(&g, n_hosts);
        rig_give_secrets_key(&g, &keys, 1);
        g.author = NULL;
        memset(sent, 0, sizeof(sent));
        *shown = 0;
        g.on_host_message = on_host_message;
        return 0;
}

static int setup(void **state) {
        return begin(3);
}

// Three of them vote.
static int setup_with_spare(void **state) {
        return begin(4);
}

static int teardown(void **state) {
        rig_stop(&g);
        voter_secrets_done(&keys);
        return 0;
}

// ------------------------------------------------------------------------------------------------ asking

static const Argosy__Response *ask(Argosy__Request *request) {
        RigAnswer *a = rig_ask_and_settle(&g, request);

        assert_true(a->final);
        return rig_last(a);
}

static RigAnswer *begin_set(const char *name, const void *value, size_t len) {
        Argosy__Request__SecretSet m = MESSAGE_OF(request__secret_set, .name = (char *) name,
                                                  .value = (ProtobufCBinaryData){len, (uint8_t *) value});

        return rig_ask(&g, A_REQUEST(SECRET_SET, secret_set, &m));
}

static const Argosy__Response *set_bytes(const char *name, const void *value, size_t len) {
        RigAnswer *a = begin_set(name, value, len);

        rig_settle(&g);
        assert_true(a->final);
        return rig_last(a);
}

static void set(const char *name, const char *value) {
        const Argosy__Response *r = set_bytes(name, value, strlen(value));

        assert_string_equal(r->message, "");
        assert_int_equal(r->status, 0);
}

static const Argosy__Response *delete(const char *name) {
        Argosy__Request__SecretDelete m =
                MESSAGE_OF(request__secret_delete, .names = (char **) &name, .n_names = 1);

        return ask(A_REQUEST(SECRET_DELETE, secret_delete, &m));
}

static const Argosy__Response__SecretRow *row(const char *name) {
        Argosy__Request__SecretList m =
                MESSAGE_OF(request__secret_list, .names = (char **) &name, .n_names = 1);
        const Argosy__Response *r = ask(A_REQUEST(SECRET_LIST, secret_list, &m));

        return r->status == 0 ? r->secrets->rows[0] : NULL;
}

static const Argosy__Response__UnitResult *change(Argosy__Verb verb, const char *name, const char *content) {
        RigAnswer *a = rig_change_with(&g, verb, name, content, true, NULL);

        rig_settle(&g);
        return rig_change_answered(a)->units[0];
}

static void do_well(Argosy__Verb verb, const char *name, const char *content) {
        const Argosy__Response__UnitResult *r = change(verb, name, content);

        assert_string_equal(r->message, "");
        assert_int_equal(r->status, 0);
}

static size_t n_versions(const char *name) {
        return cluster_state_find_secret(g.state, name)->n_versions;
}

static struct Sent *at_unit(const char *name) {
        return &sent[rig_host_of(&g, name)];
}

// ------------------------------------------------------------------------------------------------ tests

static void it_comes_with_the_order_that_names_it(void **state) {
        unsigned n = 0;

        set("db", "hunter2");
        for (unsigned i = 1; i <= 3; i++)
                n += sent[i].n;
        assert_int_equal(n, 0); // nobody has it
        do_well(START, "a.service", APP);
        assert_string_equal(at_unit("a.service")->value, "hunter2");
        assert_string_equal(at_unit("a.service")->id, "password");
        assert_int_equal(at_unit("a.service")->version, 1);
        for (unsigned i = 1; i <= 3; i++)
                n += sent[i].n;
        assert_int_equal(n, at_unit("a.service")->n); // and nobody else
}

static void the_log_has_it_sealed_only(void **state) {
        _cleanup_buf_ Buf image = {};

        set("db", "hunter2-that-nobody-sees");
        assert_int_equal(cluster_state_encode(g.state, &image), 0);
        assert_null(memmem(image.data, image.len, "hunter2", 7));
        assert_non_null(memmem(image.data, image.len, "db", 2));
}

static void a_unit_gets_another_version_when_it_is_started_or_restarted(void **state) {
        set("db", "one");
        do_well(START, "a.service", APP);
        set("db", "two");
        assert_int_equal(at_unit("a.service")->version, 1);
        assert_int_equal(row("db")->stale, 1);
        do_well(START, "a.service", NULL); // it is up: nothing happens to it
        assert_int_equal(at_unit("a.service")->version, 1);
        do_well(RESTART, "a.service", NULL);
        assert_int_equal(at_unit("a.service")->version, 2);
        assert_string_equal(at_unit("a.service")->value, "two");
        assert_int_equal(row("db")->stale, 0);
        set("db", "three");
        do_well(STOP, "a.service", NULL);
        assert_int_equal(at_unit("a.service")->version, 2);
        do_well(START, "a.service", NULL);
        assert_int_equal(at_unit("a.service")->version, 3);
        set("db", "four");
        do_well(START, "a.service", OTHER); // another file
        assert_int_equal(at_unit("a.service")->version, 4);
}

static void a_unit_that_moves_keeps_its_version(void **state) {
        set("db", "one");
        do_well(START, "a.service", APP);
        uint32_t host = rig_host_of(&g, "a.service");
        set("db", "two");
        assert_int_equal(n_versions("db"), 2);
        if (host == 1) // the leader's own
                return;
        rig_host_off_for(&g, host, 3 * RIG_LEASE_MS);
        assert_int_not_equal(rig_host_of(&g, "a.service"), host);
        assert_int_equal(at_unit("a.service")->version, 1);
        assert_string_equal(at_unit("a.service")->value, "one");
}

// Of two units one is on another host than the leader's.
static const char *start_elsewhere(const char *content) {
        do_well(START, "a.service", content);
        do_well(START, "b.service", content);
        return rig_host_of(&g, "a.service") == 1 ? "b.service" : "a.service";
}

// It may run on there, and nobody would know with what.
static void a_start_where_nobody_hears_of_it_keeps_its_version(void **state) {
        set("db", "one");
        const char *name = start_elsewhere(APP "NodeLost=keep\n");
        uint32_t host = rig_host_of(&g, name);
        rig_host_off_for(&g, host, 3 * RIG_LEASE_MS);
        set("db", "two");
        (void) change(START, name, NULL);
        assert_int_equal(row("db")->stale, 2);
        rig_host_on(&g, host, false);
        rig_pass_ms(&g, RIG_LEASE_MS);
        assert_int_equal(sent[host].version, 1);
        do_well(RESTART, name, NULL);
        assert_int_equal(sent[host].version, 2);
}

static void what_was_destroyed_and_comes_again_is_not_what_its_host_has(void **state) {
        set("db", "one");
        const char *name = start_elsewhere(APP "NodeLost=keep\n");
        uint32_t host = rig_host_of(&g, name);
        rig_host_off_for(&g, host, 3 * RIG_LEASE_MS);
        (void) change(DESTROY, name, NULL);
        assert_null(cluster_state_find_unit(g.state, name));
        do_well(SUBMIT, name, APP "NodeLost=keep\n");
        assert_int_equal(cluster_state_find_unit(g.state, name)->record->stop_rev, 0);
        (void) change(START, name, NULL);
        assert_true(cluster_state_find_unit(g.state, name)->record->stop_rev > 0);
        do_well(START, "c.service", APP); // it is nowhere
        assert_int_equal(cluster_state_find_unit(g.state, "c.service")->record->stop_rev, 0);
}

static void a_version_goes_when_nobody_has_it(void **state) {
        set("db", "one");
        do_well(START, "a.service", APP);
        do_well(START, "b.service", OTHER);
        set("db", "two");
        set("db", "three"); // nobody had the second
        rig_settle(&g);
        assert_int_equal(n_versions("db"), 2);
        do_well(RESTART, "a.service", NULL);
        assert_int_equal(n_versions("db"), 2);
        do_well(RESTART, "b.service", NULL);
        rig_settle(&g);
        assert_int_equal(n_versions("db"), 1);
        assert_int_equal(row("db")->version, 3);
}

static void has_no_room_for_more(Rig *rig) {
        store_memory_fail(rig->store, -ENOSPC);
}

// The entry that was to say so was not taken.
static void a_version_goes_when_the_log_has_room_again(void **state) {
        set("db", "one");
        g.on_entry = has_no_room_for_more;
        set("db", "two");
        g.on_entry = NULL;
        assert_int_equal(n_versions("db"), 2);
        store_memory_fail(g.store, 0);
        rig_pass_ms(&g, 2000);
        assert_int_equal(n_versions("db"), 1);
}

static void a_list_says_who_has_what_and_no_value(void **state) {
        set("db", "hunter2");
        do_well(START, "a.service", APP);
        do_well(SUBMIT, "b.service", APP);
        const Argosy__Response__SecretRow *r = row("db");
        assert_int_equal(r->version, 1);
        assert_int_equal(r->bytes, 7);
        assert_int_equal(r->units, 2);
        assert_int_equal(r->stale, 0);
        assert_int_equal(r->n_uses, 2);
        assert_string_equal(r->uses[0]->unit, "a.service");
        assert_int_equal(r->uses[0]->version, 1);
        assert_int_equal(r->uses[0]->n_nodes, 1);
        assert_string_equal(r->uses[1]->unit, "b.service");
        assert_int_equal(r->uses[1]->version, 0);
        assert_int_equal(r->uses[1]->n_nodes, 0);
        assert_non_null(strstr(r->by, "@"));
        assert_null(row("none"));
}

static void what_is_used_is_not_deleted(void **state) {
        set("db", "hunter2");
        do_well(START, "a.service", APP);
        assert_int_equal(delete("db")->status, EBUSY);
        assert_string_equal(delete ("db")->message,
                            "1 unit has the secret db (a.service): nothing was changed");
        do_well(START, "a.service", PLAIN);
        assert_int_equal(delete("db")->status, 0);
        assert_null(cluster_state_find_secret(g.state, "db"));
        assert_int_equal(delete("db")->status, ENOENT);
}

static void what_is_not_there_starts_nothing(void **state) {
        const Argosy__Response__UnitResult *r = change(START, "a.service", APP);

        assert_int_equal(r->status, ENOENT);
        assert_non_null(strstr(r->message,
                               "Secret=db: there is no such secret; `argosyctl secret set db` makes it"));
        assert_null(rig_record(&g, "a.service"));
        do_well(SUBMIT, "a.service", APP); // it may come later
        set("db", "hunter2");
        do_well(START, "a.service", NULL);
        assert_string_equal(at_unit("a.service")->value, "hunter2");
}

static void bad_ones_are_refused_without_a_word_of_them(void **state) {
        static uint8_t large[SECRET_VALUE_MAX + 1];

        assert_int_equal(set_bytes("db", "", 0)->status, EINVAL);
        assert_int_equal(set_bytes("db", large, sizeof(large))->status, E2BIG);
        assert_int_equal(set_bytes("../db", "x", 1)->status, EINVAL);
        assert_int_equal(set_bytes("", "x", 1)->status, EINVAL);
        assert_null(strstr(set_bytes("a b", "hunter2", 7)->message, "hunter2"));
        assert_int_equal(cluster_state_secrets_bytes(g.state), 0);
}

static void give_podman(void) {
        for (uint32_t i = 1; i <= 3; i++) {
                rig_host_set_labels(&g, i, "podman", "5.4");
                rig_host_off(&g, i);
                rig_host_on(&g, i, false);
        }
        rig_settle(&g);
}

static void what_a_registry_is_to_see_is_the_newest_and_restarts_nothing(void **state) {
        uint64_t revision;

        give_podman();
        set("db", "me:first");
        do_well(START, "box.service", BOX);
        assert_string_equal(shown, "me:first of db for reg.example/box:1");
        assert_string_equal(at_unit("box.service")->value, "me:first");
        assert_string_equal(at_unit("box.service")->id, "");
        revision = cluster_state_find_unit(g.state, "box.service")->record->revision;
        set("db", "me:second");
        assert_string_equal(at_unit("box.service")->value, "me:second");
        assert_int_equal(at_unit("box.service")->version, 2);
        assert_int_equal(cluster_state_find_unit(g.state, "box.service")->record->revision, revision);
        assert_int_equal(row("db")->units, 1);
        assert_int_equal(row("db")->stale, 0);
        assert_int_equal(n_versions("db"), 1); // nobody has the first
        (void) rig_rollout(&g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE,
                                            .name = "box.service",
                                            .content = BOX "[Service]\nRestart=always\n"});
        assert_non_null(strstr(shown, ", pulled"));
        assert_memory_equal(shown, "me:second", strlen("me:second"));
        assert_int_equal(delete("db")->status, EBUSY);
}

static void without_the_secret_no_registry_is_asked(void **state) {
        give_podman();
        RigAnswer *a = rig_change_with_and_settle(&g, START, "box.service", BOX, true, NULL);
        assert_int_equal(rig_last(a)->status, EIO);
        assert_non_null(strstr(rig_last(a)->message, "RegistryAuth=db: there is no such secret"));
        assert_string_equal(shown, "");
}

static void it_outlives_its_leader(void **state) {
        set("db", "one");
        do_well(START, "a.service", APP);
        set("db", "two");
        rig_depose(&g);
        rig_turns(&g, 3);
        rig_elect(&g);
        assert_int_equal(at_unit("a.service")->version, 1);
        assert_int_equal(row("db")->stale, 1);
        do_well(RESTART, "a.service", NULL);
        assert_string_equal(at_unit("a.service")->value, "two");
}

static void without_its_key_nothing_is_sealed_or_sent(void **state) {
        set("db", "one");
        voter_secrets_done(&keys);
        assert_int_equal(set_bytes("db", "two", 3)->status, ENOKEY);
        do_well(START, "a.service", APP);
        assert_int_equal(at_unit("a.service")->n, 0);
        assert_int_equal(at_unit("a.service")->version, 1); // named all the same: it waits there
}

// As many of the voters say that the key is on their disks.
static void keep_key_on(size_t n_voters) {
        _cleanup_(batch_done) Batch b = {};
        Argosy__ClusterRecord next = *cluster_state_cluster(g.state);
        Argosy__VoterSecretRecord key = *next.voter_secrets[0], *only = &key;
        uint32_t kept_by[3];

        for (size_t i = 0; i < n_voters; i++)
                kept_by[i] = g.members[i].raft_id;
        key.kept_by = kept_by;
        key.n_kept_by = n_voters;
        next.voter_secrets = &only;
        next.n_voter_secrets = 1;
        batch_op(&b, ARGOSY__LOG_OP__OP_CLUSTER)->cluster = &next;
        rig_propose(&g, &b);
        rig_settle(&g);
}

static void while_the_first_waits_for_its_key_others_are_served(void **state) {
        keep_key_on(1);
        RigAnswer *first = begin_set("db", "one", 3);
        rig_settle(&g);
        assert_false(first->final);
        do_well(START, "c.service", PLAIN); // by the same author
        assert_false(first->final);
        keep_key_on(2);
        assert_true(first->final);
        assert_int_equal(rig_last(first)->status, 0);
}

// Each is the next version, and neither is lost.
static void two_authors_at_once_get_a_version_each(void **state) {
        Argosy__Request__SecretSet m[2] = {ARGOSY__REQUEST__SECRET_SET__INIT,
                                           ARGOSY__REQUEST__SECRET_SET__INIT};
        static const char *const values[] = {"one", "two"};
        RigAnswer *a[2];

        for (size_t i = 0; i < 2; i++) {
                Argosy__Request request = REQUEST_OF(SECRET_SET, secret_set, &m[i]);

                m[i].name = (char *) "db";
                m[i].value = (ProtobufCBinaryData){3, (uint8_t *) values[i]};
                a[i] = rig_ask(&g, &request);
        }
        rig_settle(&g);
        for (size_t i = 0; i < 2; i++) {
                assert_true(a[i]->final);
                assert_int_equal(rig_last(a[i])->status, 0);
                assert_int_equal(rig_last(a[i])->secrets->rows[0]->version, i + 1);
        }
        do_well(START, "a.service", APP);
        assert_string_equal(at_unit("a.service")->value, "two");
}

static const Argosy__Response__SecretRow *stale_row(const char *name) {
        Argosy__Request__SecretList m =
                MESSAGE_OF(request__secret_list, .names = (char **) &name, .n_names = 1, .stale = true);

        return ask(A_REQUEST(SECRET_LIST, secret_list, &m))->secrets->rows[0];
}

// What `secret set --restart` restarts.
static void those_that_run_with_an_older_version_are_found(void **state) {
        set("db", "one");
        do_well(START, "a.service", APP);
        do_well(START, "b.service", APP);
        do_well(START, "c.service", APP);
        do_well(SUBMIT, "d.service", APP);
        do_well(STOP, "b.service", NULL);
        assert_int_equal(stale_row("db")->n_uses, 0);
        set("db", "two");
        do_well(RESTART, "c.service", NULL);
        assert_int_equal(stale_row("db")->n_uses, 1);
        assert_string_equal(stale_row("db")->uses[0]->unit, "a.service");
        assert_true(stale_row("db")->uses[0]->launched);
        assert_int_equal(stale_row("db")->units, 4);
}

static const char *note_of(const char *unit) {
        return rig_why(&g, unit)->status_reply->row->note;
}

static void thousands_that_have_an_older_version_are_noted_in_turns(void **state) {
        enum { MANY = 3000 };
        unsigned n_turns = 0;

        set("db", "one");
        (void) rig_change_many(&g, START, "m", MANY, APP);
        RigAnswer *a = begin_set("db", "two", 3);
        while (!a->final)
                rig_turns(&g, 1);
        for (; g.leader->secret_users.due; n_turns++)
                rig_turns(&g, 1);
        assert_in_range(n_turns, 2, 4);
        assert_string_equal(note_of("m@2999.service"), "older-secret");
}

// As whoever watches is told.
static const char *told_note(Asked *a, const char *unit) {
        const Argosy__Event *e =
                asked_pull(&g, a) ? asked_find(a, ARGOSY__EVENT_KIND__EVENT_STATE, unit) : NULL;

        return e ? event_field(e, "note") : "nothing";
}

static void what_has_an_older_version_is_noted_and_told(void **state) {
        Asked a = {.from_now = true};

        set("db", "one");
        do_well(START, "a.service", APP);
        do_well(START, "b.service", APP);
        do_well(STOP, "b.service", NULL);
        do_well(START, "c.service", PLAIN);
        rig_settle(&g);
        assert_string_equal(note_of("a.service"), "");
        (void) asked_pull(&g, &a);
        set("db", "two");
        assert_string_equal(told_note(&a, "a.service"), "older-secret");
        assert_null(asked_find(&a, ARGOSY__EVENT_KIND__EVENT_STATE, "c.service"));
        assert_string_equal(note_of("a.service"), "older-secret");
        assert_string_equal(rig_why(&g, "a.service")->status_reply->why,
                            "its secret db has a newer version; `restart` gives it that");
        assert_string_equal(note_of("b.service"), ""); // its next start has it
        assert_string_equal(note_of("c.service"), "");
        do_well(RESTART, "a.service", NULL);
        assert_string_equal(told_note(&a, "a.service"), "");
        assert_string_equal(note_of("a.service"), "");
        assert_string_equal(rig_why(&g, "a.service")->status_reply->why, "");
        asked_forget(&a);
}

static void an_update_wants_all_that_its_file_names(void **state) {
        do_well(START, "a.service", PLAIN);
        RigAnswer *a = rig_rollout(&g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE,
                                                    .name = "a.service",
                                                    .content = APP});
        assert_int_equal(rig_last(a)->status, EINVAL);
        assert_non_null(strstr(rig_last(a)->message,
                               "Secret=db: there is no such secret; `argosyctl secret set db` makes it"));
        set("db", "hunter2");
        a = rig_rollout(&g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE,
                                         .name = "a.service",
                                         .content = APP});
        assert_int_equal(rig_last(a)->status, 0);
        rig_settle(&g);
        assert_string_equal(at_unit("a.service")->value, "hunter2");
}

static RigAnswer *ask_to_remove(const char *name) {
        Argosy__Request__ClusterRemove m = MESSAGE_OF(request__cluster_remove, .host = (char *) name);

        return rig_ask(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &m));
}

static const Argosy__Response *remove_host(const char *name) {
        RigAnswer *a = ask_to_remove(name);

        rig_pass_ms(&g, 10 * RIG_BEAT_MS);
        assert_true(a->final);
        return rig_last(a);
}

#define WITH_FILE                          \
        "[Service]\nExecStart=/bin/sleep " \
        "1000\n[X-Argosy]\nSecret=db:password\nFile=a\nFileChange=none\nGlobal=yes\n"

// The content of all.service, which comes with a file of that one byte.
static char *with_file(uint8_t *byte) {
        static ProtobufCBinaryData file;
        _cleanup_carried_files_ CarriedFiles files = {};
        _cleanup_(unit_file_freep) UnitFile *parsed = NULL;
        _cleanup_buf_ Buf content = {};
        Hash hash = hash_of(byte, 1);
        char *why = NULL;

        file = (ProtobufCBinaryData){1, byte};
        g.sent = &file;
        g.n_sent = 1;
        assert_int_equal(unit_file_parse("all.service", WITH_FILE, strlen(WITH_FILE), &parsed, NULL), 0);
        assert_int_equal(carried_files_add(&files, "a", false, 1, &hash), 0);
        assert_int_equal(buf_append(&content, WITH_FILE, strlen(WITH_FILE)), 0);
        assert_int_equal(carried_files_compose("all.service", parsed, &files, &content, &why), 0);
        return buf_take_string(&content);
}

// Its nodes have one version when it is over, and those that ran all the time have the one that they were
// started with.
static void a_node_that_starts_with_new_files_gets_the_version_of_the_others(void **state) {
        uint8_t bytes[] = {'1', '2'};
        _cleanup_free_ char *old = with_file(&bytes[0]), *new = NULL;

        set("db", "first");
        do_well(START, "all.service", old);
        set("db", "second");
        rig_host_report_and_settle(&g, rig_host(&g, 2), rig_unit_on(&g, 2, "all.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, ARGOSY__OUTCOME__KIND__NONE);
        new = with_file(&bytes[1]);
        RigAnswer *a = rig_rollout(&g, (RigRollout){.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE,
                                                    .name = "all.service",
                                                    .content = new});
        assert_int_equal(rig_last(a)->status, 0);
        rig_pass_ms(&g, 60000);
        assert_int_equal(rig_unit_on(&g, 2, "all.service")->active, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        for (unsigned i = 1; i <= 3; i++)
                assert_int_equal(sent[i].latest, 1);
}

static unsigned restarts(const char *unit) {
        return rig_unit_on(&g, rig_host_of(&g, unit), unit)->restarts;
}

#define EACH "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nSecret=db-%i:password\n"

// Of a template whose instances have secrets of their own, those go on that have the newest version,
// whatever else they have that is older.
static void a_restart_for_a_secret_is_of_units_that_have_an_older_version_of_it(void **state) {
        RigRollout w = {
                .kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART, .name = "r@.service", .secret = "db-1"};

        set("db-1", "one");
        set("db-2", "one");
        set("db-3", "one");
        do_well(SUBMIT, "r@.service", EACH);
        for (unsigned i = 1; i <= 3; i++) {
                _cleanup_free_ char *name = str_printf("r@%u.service", i);

                do_well(START, name, NULL);
        }
        set("db-1", "two");
        set("db-3", "two");
        assert_int_equal(rig_last(rig_rollout(&g, w))->status, 0);
        rig_pass_ms(&g, 60000);
        assert_int_equal(cluster_state_find_rollout(g.state, "r@.service")->phase,
                         ARGOSY__ROLLOUT_PHASE__ROLLOUT_DONE);
        assert_int_equal(restarts("r@1.service"), 1);
        assert_int_equal(restarts("r@2.service"), 0);
        assert_int_equal(restarts("r@3.service"), 0);
        assert_int_equal(row("db-1")->stale, 0);
        assert_int_equal(row("db-3")->stale, 1);
        w.secret = NULL;
        assert_int_equal(rig_last(rig_rollout(&g, w))->status, 0);
        rig_pass_ms(&g, 60000);
        assert_int_equal(restarts("r@1.service"), 2);
        assert_int_equal(restarts("r@2.service"), 1);
}

static void a_global_unit_is_restarted_for_a_secret_if_it_has_an_older_version(void **state) {
        RigRollout w = {
                .kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART, .name = "all.service", .secret = "db"};

        set("db", "one");
        do_well(START, "all.service", APP "Global=yes\n");
        for (unsigned expected = 0; expected < 2; expected++) {
                assert_int_equal(rig_last(rig_rollout(&g, w))->status, 0);
                rig_pass_ms(&g, 60000);
                for (uint32_t i = 1; i <= 3; i++)
                        assert_int_equal(rig_unit_on(&g, i, "all.service")->restarts, expected);
                set("db", "two");
        }
}

static void a_restart_is_for_a_secret_that_there_is_and_an_update_for_none(void **state) {
        RigRollout w = {
                .kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART, .name = "a.service", .secret = "none"};

        set("db", "one");
        do_well(START, "a.service", APP);
        assert_int_equal(rig_last(rig_rollout(&g, w))->status, EINVAL);
        w.secret = "db";
        w.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        w.content = OTHER;
        assert_int_equal(rig_last(rig_rollout(&g, w))->status, EINVAL);
        assert_int_equal(restarts("a.service"), 0);
}

static void a_removal_names_what_the_host_could_read(void **state) {
        set("db", "one");
        set("other", "two");
        do_well(START, "a.service", APP "Host=n4\n");
        assert_int_equal(cluster_state_find_host(g.state, 4)->raft_id, 0);
        const Argosy__Response *r = remove_host("n4");
        assert_int_equal(r->status, 0);
        assert_string_equal(r->message, "n4 could read the secret db, and may have read others of units "
                                        "that it had earlier: only new values help "
                                        "(argosyctl secret set)");
        assert_int_equal(r->removal->n_secrets, 1);
        assert_string_equal(r->removal->secrets[0], "db");
        assert_false(r->removal->all);
        assert_true(r->removal->others);
        r = remove_host("n2");
        assert_int_equal(r->status, 0);
        assert_string_equal(
                r->message,
                "n2 could read every secret (db, other): only new values help (argosyctl secret set)");
        assert_true(r->removal->all);
        assert_false(r->removal->others);
}

static void put_raft_id(uint32_t host, uint32_t raft_id) {
        _cleanup_(batch_done) Batch b = {};
        Argosy__HostRecord *record = batch_host(&b, host, "n4", 1);

        *record = *cluster_state_find_host(g.state, host);
        record->raft_id = raft_id;
        rig_propose(&g, &b);
        rig_settle(&g);
}

// What it had the log has, whoever leads. Of units that it had earlier nobody knows.
static void a_removal_names_what_a_host_could_read_that_voted_once(void **state) {
        set("db", "one");
        set("new", "two");
        put_raft_id(4, 77); // it is to become a voter
        put_raft_id(4, 0);
        set("db", "three");
        do_well(START, "a.service", APP "Host=n1\n");
        set("later", "four");
        rig_elect_anew(&g);
        const Argosy__Response *r = remove_host("n4");
        assert_int_equal(r->status, 0);
        assert_string_equal(r->message, "n4 could read the secret new, and may have read others of units "
                                        "that it had earlier: only new values help "
                                        "(argosyctl secret set)");
}

// It gets the log until it is no voter any more.
static void a_removal_names_what_came_while_the_host_was_still_a_voter(void **state) {
        set("db", "one");
        RigAnswer *a = ask_to_remove("n2");
        while (!cluster_state_find_host(g.state, 2)->no_promote)
                rig_turn(&g);
        set("late", "two");
        rig_pass_ms(&g, 10 * RIG_BEAT_MS);
        assert_true(a->final);
        assert_null(cluster_state_find_host(g.state, 2));
        assert_string_equal(
                rig_last(a)->message,
                "n2 could read every secret (db, late): only new values help (argosyctl secret set)");
}

static void of_a_host_without_units_a_removal_says_that_it_may_have_had_some(void **state) {
        set("db", "one");
        const Argosy__Response *r = remove_host("n4");
        assert_string_equal(r->message, "n4 may have read secrets of units that it had earlier: only new "
                                        "values help (argosyctl secret set)");
        assert_int_equal(r->removal->n_secrets, 0);
}

static void without_secrets_a_removal_says_nothing_of_them(void **state) {
        assert_string_equal(remove_host("n4")->message, "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                RIG_TEST(a_restart_for_a_secret_is_of_units_that_have_an_older_version_of_it),
                RIG_TEST(a_global_unit_is_restarted_for_a_secret_if_it_has_an_older_version),
                RIG_TEST(a_restart_is_for_a_secret_that_there_is_and_an_update_for_none),
                RIG_TEST(it_comes_with_the_order_that_names_it),
                RIG_TEST(the_log_has_it_sealed_only),
                RIG_TEST(a_unit_gets_another_version_when_it_is_started_or_restarted),
                RIG_TEST(a_unit_that_moves_keeps_its_version),
                RIG_TEST(a_start_where_nobody_hears_of_it_keeps_its_version),
                RIG_TEST(what_was_destroyed_and_comes_again_is_not_what_its_host_has),
                RIG_TEST(a_version_goes_when_nobody_has_it),
                RIG_TEST(a_version_goes_when_the_log_has_room_again),
                RIG_TEST(a_list_says_who_has_what_and_no_value),
                RIG_TEST(what_is_used_is_not_deleted),
                RIG_TEST(what_is_not_there_starts_nothing),
                RIG_TEST(bad_ones_are_refused_without_a_word_of_them),
                RIG_TEST(two_authors_at_once_get_a_version_each),
                RIG_TEST(while_the_first_waits_for_its_key_others_are_served),
                RIG_TEST(thousands_that_have_an_older_version_are_noted_in_turns),
                RIG_TEST(those_that_run_with_an_older_version_are_found),
                RIG_TEST(what_has_an_older_version_is_noted_and_told),
                RIG_TEST(an_update_wants_all_that_its_file_names),
                RIG_TEST(a_node_that_starts_with_new_files_gets_the_version_of_the_others),
                cmocka_unit_test_setup_teardown(a_removal_names_what_the_host_could_read, setup_with_spare,
                                                teardown),
                cmocka_unit_test_setup_teardown(a_removal_names_what_a_host_could_read_that_voted_once,
                                                setup_with_spare, teardown),
                cmocka_unit_test_setup_teardown(a_removal_names_what_came_while_the_host_was_still_a_voter,
                                                setup_with_spare, teardown),
                cmocka_unit_test_setup_teardown(
                        of_a_host_without_units_a_removal_says_that_it_may_have_had_some, setup_with_spare,
                        teardown),
                cmocka_unit_test_setup_teardown(without_secrets_a_removal_says_nothing_of_them,
                                                setup_with_spare, teardown),
                RIG_TEST(what_a_registry_is_to_see_is_the_newest_and_restarts_nothing),
                RIG_TEST(without_the_secret_no_registry_is_asked),
                RIG_TEST(it_outlives_its_leader),
                RIG_TEST(without_its_key_nothing_is_sealed_or_sent),
        };

        log_set_level(LOG_CRIT);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
