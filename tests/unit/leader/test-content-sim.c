// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Random lives of what units bring: contents with drop-ins, files and secrets are started, replaced, undone
// and destroyed, secrets get new versions, while hosts lose power, boot without anything, and the leader
// changes. Now and then all comes to rest, with what is down staying down, and then
//   each unit has the content that was acknowledged last, on its one host, and that host has all of its
//   files
//   the log has each file of each of these contents
//   a unit runs with the version of its secret that was the newest when it was started, restarted or got its
//   content, wherever it has moved since,
//   and an undo has left it
// and no host was ever sent a secret with orders that name none.
//
// A failure prints its seed; `test-leader-content-sim SEED` plays that life alone and tells it.
#include "carried-files.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "log.h"
#include "messages.h"
#include "random-numbers.h"
#include "unit-parts.h"
#include "voter-secrets.h"

enum { LIVES = 200, STEPS = 60, CALM_EVERY = 15, HOSTS = 4, UNITS = 4, VARIANTS = 6, BODIES = 5, FILES = 3 };

typedef struct Content {
        Buf text; // with a zero behind it
        Hash hash;
        unsigned body[FILES];
        size_t n_files;
        bool secret;
} Content;

typedef struct Wish { // what was acknowledged last about a unit
        bool exists, launched, unsure; // unsure: not which version it runs with
        unsigned variant;
        uint64_t version;
} Wish;

static Rig g;
static VoterSecrets keys;
static Content contents[UNITS][VARIANTS];
static Wish preferences[UNITS], before[UNITS]; // before: the newest job
static uint64_t newest, newest_job;       // version of the secret; 0: it cannot be undone any more
static uint8_t bodies[BODIES][100 * 1024];
static struct {
        uint64_t version;
} told[HOSTS + 1][UNITS]; // with the last order
static unsigned seed, random_state;
static bool verbose;

#define fail_life(format, ...) fail_msg("seed %u: " format, seed __VA_OPT__(, ) __VA_ARGS__)

static const char *name_of(unsigned unit) {
        static char name[32];

        snprintf(name, sizeof(name), "u%u.service", unit);
        return name;
}

// ------------------------------------------------------------------------------------------------ contents

static size_t size_of(unsigned body) {
        static const size_t sizes[BODIES] = {0, 7, 4096, 65536, 100 * 1024};

        return sizes[body];
}

static void make_content(unsigned unit, unsigned variant) {
        static const char *const names[FILES] = {"a.conf", "conf/b", "run.sh"};
        Content *c = &contents[unit][variant];
        _cleanup_carried_files_ CarriedFiles files = {};
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        _cleanup_free_ char *why = NULL;

        *c = (Content){.secret = dice(2), .n_files = dice(FILES + 1)};
        assert_int_equal(buf_printf(&c->text, "[Service]\nExecStart=/bin/sleep %u\n[X-Argosy]\n%s", variant,
                                    c->secret ? "Secret=db\n" : ""),
                         0);
        for (size_t i = 0; i < c->n_files; i++)
                assert_int_equal(buf_printf(&c->text, "File=%s\n", names[i]), 0);
        if (dice(2))
                assert_int_equal(buf_printf(&c->text,
                                            "\n# %s.d/10-more.conf\n[Service]\nEnvironment=MORE=%u\n",
                                            name_of(unit), dice(2)),
                                 0);
        for (size_t i = 0; i < c->n_files; i++) {
                c->body[i] = dice(BODIES);
                Hash hash = hash_of(bodies[c->body[i]], size_of(c->body[i]));
                assert_int_equal(carried_files_add(&files, names[i], i == 2, size_of(c->body[i]), &hash), 0);
        }
        if (unit_file_parse(name_of(unit), c->text.data, c->text.len, &file, &why) < 0)
                fail_life("%s", why);
        if (c->n_files > 0)
                assert_int_equal(carried_files_compose(name_of(unit), file, &files, &c->text, &why), 0);
        c->hash = hash_of(c->text.data, c->text.len);
        assert_int_equal(buf_append(&c->text, "", 1), 0);
}

// -------------------------------------------------------------------------------------- what hosts are told

static void on_orders(uint32_t host, Argosy__UnitOrder **orders, size_t n, size_t n_values) {
        bool named = false;

        for (size_t i = 0; i < n; i++) {
                unsigned unit = (unsigned) (orders[i]->name[1] - '0');

                named |= orders[i]->n_secrets > 0;
                told[host][unit].version = orders[i]->n_secrets > 0 ? orders[i]->secrets[0]->version : 0;
        }
        if (n_values > 0 && !named)
                fail_life("host %u was sent a secret that nobody there has", host);
}

static void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case == ARGOSY__TO_HOST__MSG_ORDERS)
                on_orders(host, m->orders->orders, m->orders->n_orders, m->orders->n_secrets);
        else if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME)
                on_orders(host, m->welcome->orders, m->welcome->n_orders, m->welcome->n_secrets);
        else if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME_PART)
                on_orders(host, m->welcome_part->orders, m->welcome_part->n_orders,
                          m->welcome_part->n_secrets);
}

// ------------------------------------------------------------------------------------------------ requests

// What a start, a restart or another content gives it.
static void raise_version(unsigned unit) {
        Wish *w = &preferences[unit];

        w->version = contents[unit][w->variant].secret ? newest : 0;
        w->unsure = false;
}

static void note(unsigned unit, Argosy__Verb verb, unsigned variant, bool ran) {
        Wish *w = &preferences[unit];
        bool other = !w->exists || w->variant != variant;

        switch (verb) {
        case ARGOSY__VERB__VERB_START:
                *w = (Wish){true, true, w->unsure, variant, w->version};
                if (other || !before[unit].launched)
                        raise_version(unit);
                else
                        w->unsure |= !ran; // the leader may have seen it down, and may not
                break;
        case ARGOSY__VERB__VERB_RESTART:
                w->launched = true;
                raise_version(unit);
                break;
        case ARGOSY__VERB__VERB_STOP:
                w->launched = false;
                break;
        default:
                *w = (Wish){};
        }
}

static void change(unsigned unit) {
        static const Argosy__Verb verbs[] = {ARGOSY__VERB__VERB_START, ARGOSY__VERB__VERB_START,
                                             ARGOSY__VERB__VERB_START, ARGOSY__VERB__VERB_RESTART,
                                             ARGOSY__VERB__VERB_STOP,  ARGOSY__VERB__VERB_DESTROY};
        Argosy__Verb verb = verbs[dice(preferences[unit].exists ? ELEMENTSOF(verbs) : 3)];
        unsigned variant = verb == ARGOSY__VERB__VERB_START ? dice(VARIANTS) : preferences[unit].variant;
        const Content *c = &contents[unit][variant];
        ProtobufCBinaryData sent[FILES];
        bool ran = rig_count_running(&g, name_of(unit)) > 0;

        story("  verb %d of %s, variant %u\n", verb, name_of(unit), variant);
        for (size_t i = 0; i < c->n_files; i++)
                sent[i] = (ProtobufCBinaryData){size_of(c->body[i]), bodies[c->body[i]]};
        g.sent = sent;
        g.n_sent = c->n_files;
        RigAnswer *a =
                rig_change_with(&g, verb, name_of(unit),
                                verb == ARGOSY__VERB__VERB_START ? (char *) c->text.data : NULL, true, NULL);
        g.n_sent = 0;
        rig_settle(&g);
        const Argosy__Response *r = rig_last(a);
        if (r->status != 0 || r->change->units[0]->status != 0)
                fail_life("%s was refused: %s", name_of(unit),
                          r->status != 0 ? r->message : r->change->units[0]->message);
        memcpy(before, preferences, sizeof(before));
        note(unit, verb, variant, ran);
        // That something ran cannot be undone.
        newest_job = before[unit].exists != preferences[unit].exists ||
                                     before[unit].launched != preferences[unit].launched ||
                                     before[unit].variant != preferences[unit].variant
                             ? r->job
                             : 0;
}

static void set_secret(void) {
        Argosy__Request__SecretSet m = MESSAGE_OF(request__secret_set, .name = (char *) "db",
                                                  .value = (ProtobufCBinaryData){7, (uint8_t *) "hunter2"});

        assert_int_equal(rig_last(rig_ask_and_settle(&g, A_REQUEST(SECRET_SET, secret_set, &m)))->status, 0);
        newest++;
        story("  the secret has version %u\n", (unsigned) newest);
}

// The versions stay; a unit that was down, or not there, has those that it is started with.
static void undo(void) {
        if (newest_job == 0)
                return;
        const Argosy__Response *r = rig_undo(&g, (RigUndo){newest_job});
        story("  job %u is undone: %d\n", (unsigned) newest_job, r->status);
        if (r->status != 0)
                fail_life("job %u cannot be undone: %s", (unsigned) newest_job, r->message);
        for (unsigned u = 0; u < UNITS; u++) {
                Wish now = preferences[u];

                preferences[u] = before[u];
                preferences[u].version = now.version;
                preferences[u].unsure |= now.unsure || now.launched != before[u].launched ||
                                    now.exists != before[u].exists ||
                                    (now.exists && contents[u][now.variant].secret !=
                                                           contents[u][before[u].variant].secret);
        }
        newest_job = 0;
}

// --------------------------------------------------------------------------------------------- what happens

// The leader's own host (1) only ever loses the leadership.
static void step(void) {
        uint32_t host = 2 + dice(HOSTS - 1);
        RigHost *h = rig_host(&g, host);

        switch (dice(20)) {
        case 0:
                story("  host %u loses power\n", host);
                rig_host_off(&g, host);
                break;
        case 1:
        case 2:
                if (h->up)
                        break;
                story("  host %u is back\n", host);
                rig_host_on(&g, host, dice(2));
                break;
        case 3:
                story("  another leader\n");
                rig_depose(&g);
                rig_turns(&g, dice(4));
                rig_elect(&g);
                break;
        case 4:
                story("  time passes\n");
                rig_pass_ms(&g, 500 + dice(RIG_LEASE_MS));
                break;
        case 5:
        case 6:
                set_secret();
                break;
        case 7:
        case 8:
        case 9:
                undo();
                break;
        default:
                change(dice(UNITS));
        }
        if (dice(2))
                rig_turn(&g);
        else
                rig_settle(&g);
}

static void assert_files(uint32_t host, unsigned unit) {
        const Content *c = &contents[unit][preferences[unit].variant];

        for (size_t i = 0; i < c->n_files; i++) {
                Hash hash = hash_of(bodies[c->body[i]], size_of(c->body[i]));
                const SpecEntry *file = cluster_state_find_spec(g.state, &hash);

                if (!file || !file->is_file || file->len != size_of(c->body[i]) ||
                    memcmp(file->content, bodies[c->body[i]], file->len) != 0)
                        fail_life("the log has not file %zu of %s", i, name_of(unit));
                if (host > 0 && !virtual_host_has_file(&rig_host(&g, host)->virtual, &hash))
                        fail_life("host %u has not file %zu of %s", host, i, name_of(unit));
        }
}

static void assert_unit(unsigned unit) {
        const Argosy__UnitRecord *r = rig_record(&g, name_of(unit));
        const Wish *w = &preferences[unit];

        if ((r != NULL) != w->exists)
                fail_life("%s %s", name_of(unit), r ? "is there although it was destroyed" : "is missing");
        if (!r)
                return;
        if (r->spec.len != HASH_SIZE ||
            memcmp(r->spec.data, contents[unit][w->variant].hash.bytes, HASH_SIZE) != 0)
                fail_life("%s has not the content of variant %u", name_of(unit), w->variant);
        uint32_t host = rig_host_of(&g, name_of(unit));
        assert_files(0, unit);
        if (!w->launched)
                return;
        const VirtualUnit *u = host > 0 ? rig_unit_on(&g, host, name_of(unit)) : NULL;
        if (!u || u->active != ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ||
            !hash_equal(&u->order.spec, &contents[unit][w->variant].hash))
                fail_life("%s does not run as it is to on host %u", name_of(unit), host);
        assert_files(host, unit);
        if (!w->unsure && told[host][unit].version != w->version)
                fail_life("%s was told version %u and is to have %u", name_of(unit),
                          (unsigned) told[host][unit].version, (unsigned) w->version);
}

// After two leases what is down is out of the game.
static void calm_down(void) {
        story("  all comes to rest\n");
        rig_settle(&g);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        rig_settle(&g);
        for (unsigned u = 0; u < UNITS; u++)
                assert_unit(u);
}

static void live(unsigned s) {
        seed = random_state = s;
        story("seed %u\n", s);
        memset(preferences, 0, sizeof(preferences));
        memset(told, 0, sizeof(told));
        newest = newest_job = 0;
        for (unsigned u = 0; u < UNITS; u++)
                for (unsigned v = 0; v < VARIANTS; v++)
                        make_content(u, v);
        rig_start(&g, HOSTS);
        rig_give_secrets_key(&g, &keys, 1);
        g.on_host_message = on_host_message;
        set_secret();
        for (unsigned i = 1; i <= STEPS; i++) {
                step();
                if (i % CALM_EVERY == 0)
                        calm_down();
        }
        rig_stop(&g);
        voter_secrets_done(&keys);
        for (unsigned u = 0; u < UNITS; u++)
                for (unsigned v = 0; v < VARIANTS; v++)
                        buf_done(&contents[u][v].text);
}

static void every_life_ends_well(void **state) {
        for (unsigned s = 1; s <= LIVES; s++)
                live(s);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_life_ends_well),
        };

        for (unsigned i = 0; i < BODIES; i++)
                for (size_t k = 0; k < sizeof(bodies[i]); k++)
                        bodies[i][k] = (uint8_t) (i * 17 + k * 31 + k / 253);
        log_set_level(LOG_CRIT);
        if (argc > 1) {
                verbose = true;
                live((unsigned) atoi(argv[1]));
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
