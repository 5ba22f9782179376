// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Random lives of a host: orders with other contents, files and secrets, files that come in pieces, wrong or
// not at all, argosyd that is killed, another leader, and a boot at which nobody leads. In each turn of each
// life
//   whatever runs has all files of the content that it runs, with their modes, and no others
// and now and then the leader answers all that it was asked, and then
//   each unit is as it was ordered, with its content, its files and its secrets in the versions that it was
//   started with
//   no file, folder or secret is there that no unit here has
//   a host that has booted without a leader has run nothing and has no secret
//
// A failure prints its seed; `test-agent-agent-lives SEED` plays that life alone and tells it.
#include "agent-world.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent-private.h"
#include "agent-unit.h"
#include "buf.h"
#include "carried-files.h"
#include "clock.h"
#include "fileio.h"
#include "messages.h"
#include "plan.h"
#include "printed.h"
#include "random-numbers.h"

enum {
        LIVES = 60,
        LIVES_LONG = 200,
        STEPS = 60,
        CALM_EVERY = 20,
        BODIES = 6,
        VARIANTS = 5,
        FILES_MAX = 4,
        SECRETS = 2,
        PIECE = 64 * 1024
};
#define PATIENCE_US (10 * USEC_PER_SEC)

static const char *const units[] = {"a.service", "b.service", "w@1.service", "w@2.service"};
enum { UNITS = ELEMENTSOF(units) };

typedef struct Body {
        uint8_t *bytes;
        size_t len;
        Hash hash;
} Body;

typedef struct Content { // of a unit, or of the template of two
        Buf text;        // with a zero behind it
        unsigned body[FILES_MAX];
        size_t n_files;
        bool secret[SECRETS];
} Content;

typedef struct Wanted { // of a unit, by the leader
        bool known, launched;
        // It was stopped or destroyed and started again, or got another content and the one of before again,
        // perhaps without the agent's having heard of that in between: then it runs on, in the versions of
        // before.
        bool stopped, joined;
        unsigned variant, seen_variant; // seen: when all was answered last
        bool changed;                   // since then
        uint64_t revision, start, restart, stop, version[SECRETS];
} Wanted;

static Body bodies[BODIES];
static Content contents[UNITS][VARIANTS];
static Wanted wanted[UNITS];
static uint64_t newest[SECRETS], revision;
static unsigned seed, random_state, n_answered;
static bool verbose, led;

static const char *const file_names[FILES_MAX] = {"a.conf", "conf/b.conf", "conf/c.sh", "d"};
static const char *const secret_names[SECRETS] = {"db", "key"};

#define fail_life(format, ...) fail_msg("seed %u: " format, seed __VA_OPT__(, ) __VA_ARGS__)

// ---------------------------------------------------------------------------------- what there is to be had

static void make_bodies(void) {
        static const size_t sizes[BODIES] = {0, 1, 4000, PIECE, PIECE + 1, 3 * PIECE - 7};

        for (unsigned i = 0; i < BODIES; i++) {
                bodies[i].len = sizes[i];
                bodies[i].bytes = malloc(sizes[i] + 1);
                for (size_t k = 0; k < sizes[i]; k++)
                        bodies[i].bytes[k] = (uint8_t) (i + k * 31 + k / 255);
                bodies[i].hash = hash_of(bodies[i].bytes, sizes[i]);
        }
}

static bool is_instance(unsigned unit) {
        return strchr(units[unit], '@');
}

static void make_content(unsigned unit, unsigned variant) {
        const char *name = is_instance(unit) ? "w@.service" : units[unit];
        Content *c = &contents[unit][variant];
        _cleanup_buf_ Buf text = {};
        _cleanup_carried_files_ CarriedFiles files = {};
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        _cleanup_free_ char *why = NULL;

        *c = (Content){.n_files = dice(FILES_MAX + 1)};
        assert_int_equal(buf_printf(&text, "[Service]\nExecStart=/bin/sleep %u\n[X-Argosy]\n", variant), 0);
        for (unsigned i = 0; i < SECRETS; i++) {
                c->secret[i] = dice(3) == 0;
                if (c->secret[i])
                        assert_int_equal(buf_printf(&text, "Secret=%s\n", secret_names[i]), 0);
        }
        for (size_t i = 0; i < c->n_files; i++) {
                c->body[i] = dice(BODIES);
                assert_int_equal(buf_printf(&text, "File=%s\n", file_names[i]), 0);
                assert_int_equal(carried_files_add(&files, file_names[i],
                                                   str_has_suffix(file_names[i], ".sh"),
                                                   bodies[c->body[i]].len, &bodies[c->body[i]].hash),
                                 0);
        }
        assert_int_equal(unit_file_parse(name, text.data, text.len, &file, &why), 0);
        if (c->n_files > 0)
                assert_int_equal(carried_files_compose(name, file, &files, &text, &why), 0);
        assert_int_equal(buf_append(&text, "", 1), 0);
        c->text = text;
        text = (Buf){};
}

static void make_contents(void) {
        for (unsigned u = 0; u < UNITS; u++)
                for (unsigned v = 0; v < VARIANTS; v++)
                        make_content(u, v);
        for (unsigned v = 0; v < VARIANTS; v++) { // of one template
                buf_done(&contents[3][v].text);
                contents[3][v] = contents[2][v];
        }
}

static void drop_contents(void) {
        for (unsigned u = 0; u < UNITS - 1; u++)
                for (unsigned v = 0; v < VARIANTS; v++)
                        buf_done(&contents[u][v].text);
}

static const char *text_of(unsigned unit, unsigned variant) {
        return (const char *) contents[unit][variant].text.data;
}

// ---------------------------------------------------------------------------------------- the leader's side

typedef struct Parcels { // of the secrets of some orders
        Argosy__OrderSecret order[UNITS][SECRETS], *orders[UNITS][SECRETS];
        Argosy__SecretValue value[UNITS * SECRETS], *values[UNITS * SECRETS];
        char text[UNITS * SECRETS][32];
} Parcels;

static Parcels parcels;

static void add_secrets(unsigned unit, Order *o) {
        const Wanted *want = &wanted[unit];

        for (unsigned i = 0; i < SECRETS; i++) {
                Argosy__OrderSecret *s = &parcels.order[unit][o->n_secrets];
                size_t n = w.n_secret_values;

                if (!contents[unit][want->variant].secret[i])
                        continue;
                *s = (Argosy__OrderSecret) MESSAGE_OF(order_secret, .id = (char *) secret_names[i],
                                                      .name = (char *) secret_names[i],
                                                      .version = want->version[i]);
                parcels.orders[unit][o->n_secrets++] = s;
                argosy__secret_value__init(&parcels.value[n]);
                snprintf(parcels.text[n], sizeof(parcels.text[n]), "%s %u", secret_names[i],
                         (unsigned) want->version[i]);
                parcels.value[n].name = s->name;
                parcels.value[n].version = s->version;
                parcels.value[n].value =
                        (ProtobufCBinaryData){strlen(parcels.text[n]), (uint8_t *) parcels.text[n]};
                parcels.values[n] = &parcels.value[n];
                w.n_secret_values++;
        }
        o->secrets = parcels.orders[unit];
        w.secret_values = parcels.values;
}

static Order order_of(unsigned unit) {
        const Wanted *want = &wanted[unit];
        Order o = {.name = units[unit], .remove = !want->known, .revision = want->revision};

        if (!want->known)
                return o;
        o.content = text_of(unit, want->variant);
        o.from_template = is_instance(unit);
        o.loaded_only = !want->launched;
        o.start = want->start;
        o.restart = want->restart;
        o.stop = want->stop;
        add_secrets(unit, &o);
        return o;
}

// Of another leader, or of the same to another run of argosyd.
static void meet(void) {
        Order all[UNITS];
        size_t n = 0;

        w.n_secret_values = 0;
        for (unsigned u = 0; u < UNITS; u++)
                if (wanted[u].known)
                        all[n++] = order_of(u);
        w.term++;
        led = true;
        n_answered = w.n_file_asks; // what another one was asked is asked again
        meet_leader(all, n);
}

static void tell(unsigned unit) {
        if (!led)
                return;
        w.n_secret_values = 0;
        Order o = order_of(unit);
        send_order(o);
}

// As the leader raises versions: what is started while it is down, restarted, or gets another content has
// the newest ones.
static void raise_versions(Wanted *want) {
        memcpy(want->version, newest, sizeof(newest));
}

static void change(unsigned unit) {
        Wanted *want = &wanted[unit];
        unsigned variant = dice(VARIANTS);
        bool other = !want->known || variant != want->variant;

        want->revision = ++revision;
        switch (dice(want->known ? 6 : 2)) {
        case 0:
        case 1:
        case 2:
                if (other || !want->launched)
                        raise_versions(want);
                want->joined |= want->stopped || (want->changed && variant == want->seen_variant);
                want->changed = true;
                want->known = want->launched = true;
                want->variant = variant;
                want->start = revision;
                story("  %s runs variant %u\n", units[unit], variant);
                break;
        case 3:
                if (want->launched) {
                        raise_versions(want);
                        want->restart = revision;
                        want->joined = false;
                }
                story("  %s is restarted\n", units[unit]);
                break;
        case 4:
                want->stopped |= want->launched;
                want->launched = false;
                want->stop = revision;
                story("  %s stops\n", units[unit]);
                break;
        default:
                *want = (Wanted){.revision = revision, .stopped = want->stopped || want->launched};
                story("  %s goes\n", units[unit]);
        }
        tell(unit);
}

// What the agent asked for last; most often as it is.
static void answer(unsigned chance_of_lies) {
        Argosy__ToHost__FilePiece piece = ARGOSY__TO_HOST__FILE_PIECE__INIT;
        Argosy__ToHost m = TO_HOST_OF(FILE_PIECE, file_piece, &piece);
        static uint8_t garbage[PIECE];
        const Body *b = bodies;
        bool lies = chance_of_lies > 0 && dice(chance_of_lies) == 0;

        if (!led || w.n_file_asks == n_answered)
                return;
        n_answered = w.n_file_asks;
        while (!hash_equal(&b->hash, &w.file_asked))
                b++;
        assert_true(w.file_asked_from <= b->len);
        piece.hash = (ProtobufCBinaryData){HASH_SIZE, w.file_asked.bytes};
        piece.from = w.file_asked_from;
        piece.size = b->len;
        piece.there = !lies || dice(2);
        piece.piece.len = MIN_OF(b->len - piece.from, (size_t) PIECE);
        piece.piece.data = lies ? garbage : b->bytes + piece.from;
        story("  a piece of file %u from %u%s\n", (unsigned) (b - bodies), (unsigned) piece.from,
              !piece.there ? ", which is not there"
              : lies       ? ", a wrong one"
                           : "");
        agent_on_message(w.agent, &m);
}

// ---------------------------------------------------------------------------------------------- on the disk

static const Content *running(unsigned unit) {
        const char *text = pid1_is_active(pid1, units[unit]) ? pid1_content(pid1, units[unit]) : NULL;

        for (unsigned v = 0; text && v < VARIANTS; v++)
                if (streq(text, text_of(unit, v)))
                        return &contents[unit][v];
        if (text)
                fail_life("%s runs what nobody has ordered", units[unit]);
        return NULL;
}

static size_t count_files(const char *path) {
        DIR *d = opendir(path);
        size_t n = 0;

        for (const struct dirent *e; d && (e = readdir(d));) {
                if (*e->d_name != '.')
                        n += e->d_type == DT_DIR ? count_files(printed("%s/%s", path, e->d_name)) : 1;
        }
        if (d)
                closedir(d);
        return n;
}

static bool has_bytes(const char *path, const void *bytes, size_t len) {
        _cleanup_buf_ Buf b = {};

        return file_read(AT_FDCWD, path, 1 << 20, &b) == 0 && b.len == len &&
               (len == 0 || memcmp(b.data, bytes, len) == 0);
}

static void assert_folder(unsigned unit, const Content *c) {
        _cleanup_free_ char *folder = str_printf("%s/units/%s", w.dir, units[unit]);

        for (size_t i = 0; i < c->n_files; i++) {
                _cleanup_free_ char *path = str_printf("%s/%s", folder, file_names[i]);
                const Body *b = &bodies[c->body[i]];
                mode_t mode = str_has_suffix(file_names[i], ".sh") ? 0555 : 0444;
                struct stat st;

                if (stat(path, &st) < 0 || (st.st_mode & 07777) != mode ||
                    !has_bytes(path, b->bytes, b->len))
                        fail_life("%s of %s is not what it is to be", file_names[i], units[unit]);
        }
        if (count_files(folder) != c->n_files)
                fail_life("%s has files that are not its own", units[unit]);
}

static void assert_what_runs_has_its_files(void) {
        for (unsigned u = 0; u < UNITS; u++) {
                const Content *c = running(u);

                if (c)
                        assert_folder(u, c);
        }
}

static void assert_store(void) {
        _cleanup_free_ char *store = str_printf("%s/files", w.dir), *folders = str_printf("%s/units", w.dir);
        bool used[BODIES][2] = {};
        size_t n = 0, n_folders = 0;
        DIR *d = opendir(folders);

        for (unsigned u = 0; u < UNITS; u++)
                for (size_t i = 0; wanted[u].known && i < contents[u][wanted[u].variant].n_files; i++)
                        used[contents[u][wanted[u].variant].body[i]][str_has_suffix(file_names[i], ".sh")] =
                                true;
        for (unsigned i = 0; i < BODIES; i++)
                n += used[i][0] + used[i][1];
        if (verbose && count_files(store) != n) {
                _cleanup_free_ char *command =
                        str_printf("ls -l %s/files >&2; find %s/units >&2", w.dir, w.dir);

                (void) !system(command);
        }
        if (count_files(store) != n)
                fail_life("%zu contents are kept, and units here have %zu", count_files(store), n);
        for (const struct dirent *e; d && (e = readdir(d));) {
                if (streq(e->d_name, ".") || streq(e->d_name, ".."))
                        continue;
                n_folders++;
                for (unsigned u = 0; u < UNITS; u++)
                        if (streq(units[u], e->d_name) && wanted[u].known &&
                            contents[u][wanted[u].variant].n_files > 0)
                                n_folders--;
        }
        if (d)
                closedir(d);
        if (n_folders > 0 && verbose) {
                (void) !system(printed("find %s/units >&2", w.dir));
        }
        if (n_folders > 0)
                fail_life("%zu folders are nobody's", n_folders);
}

static bool has_secret(unsigned unit, unsigned secret) {
        return wanted[unit].known && contents[unit][wanted[unit].variant].secret[secret];
}

static void assert_secrets(void) {
        _cleanup_free_ char *values = str_printf("%s/values", w.secrets_dir),
                            *links = str_printf("%s/units", w.secrets_dir);
        size_t n_links = 0, n_values = 0;

        for (unsigned i = 0; i < SECRETS; i++) {
                uint64_t seen[UNITS] = {};

                for (unsigned u = 0; u < UNITS; u++) {
                        _cleanup_free_ char *link = str_printf("%s/%s/%s", links, units[u], secret_names[i]);
                        char text[32];
                        bool known = false;

                        if (!has_secret(u, i))
                                continue;
                        snprintf(text, sizeof(text), "%s %u", secret_names[i],
                                 (unsigned) wanted[u].version[i]);
                        if (wanted[u].launched && !wanted[u].joined && !has_bytes(link, text, strlen(text)))
                                fail_life("%s does not have %s", units[u], text);
                        n_links += access(link, F_OK) == 0;
                        for (unsigned k = 0; k < u; k++)
                                known |= seen[k] == wanted[u].version[i];
                        seen[u] = wanted[u].version[i];
                        n_values += !known;
                }
        }
        if (verbose) {
                (void) !system(printed("find %s -type f >&2; echo -- >&2", links));
        }
        if (count_files(links) != n_links)
                fail_life("units have %zu secrets, and are to have %zu", count_files(links), n_links);
        if (count_files(values) != n_values)
                fail_life("%zu values are kept, and units here have %zu", count_files(values), n_values);
}

// --------------------------------------------------------------------------------------------- what happens

static AgentUnit *find(unsigned unit) {
        return agent_unit_find(CONTAINER_OF(w.agent->nodes.next, AgentNode, in_agent), units[unit]);
}

static bool is_at_rest(unsigned unit) {
        AgentUnit *u = find(unit);

        if (!u)
                return !wanted[unit].known;
        if (u->work && u->work->error && u->work->retry_us > 1) {
                u->work->retry_us = 1;
                agent_unit_mark(u);
        }
        return wanted[unit].known && agent_unit_answered(u) == wanted[unit].revision &&
               !list_is_linked(&u->dirty) && !(u->work && (u->work->busy != PLAN_NOTHING || u->work->error));
}

static bool all_at_rest(void) {
        bool rest = true;

        answer(0);
        assert_what_runs_has_its_files();
        for (unsigned u = 0; u < UNITS; u++)
                rest &= is_at_rest(u);
        return rest && list_is_empty(&w.agent->carried_fetches) && !w.agent->carried_is_left &&
               !w.agent->carried_left;
}

static void tell_who_is_not_at_rest(void) {
        for (unsigned u = 0; u < UNITS; u++)
                if (!is_at_rest(u)) {
                        const AgentUnit *a = find(u);

                        story("  %s: wanted %u, answered %u, step %s, error %s\n", units[u],
                              (unsigned) wanted[u].revision, a ? (unsigned) agent_unit_answered(a) : 0,
                              a && a->work ? plan_step_to_string(a->work->busy) : "-",
                              a && a->work && a->work->error ? a->work->error : "-");
                }
}

static void calm_down(void) {
        story("  all is answered\n");
        if (!led)
                meet();
        for (uint64_t until_us = clock_boot_us() + PATIENCE_US; !all_at_rest();
             uv_run(&test_loop, UV_RUN_ONCE)) // it beats every 20 ms
                if (clock_boot_us() > until_us) {
                        tell_who_is_not_at_rest();
                        fail_life("what was ordered does not come to an end");
                }
        for (unsigned i = 0; i < 3; i++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        for (unsigned u = 0; u < UNITS; u++) {
                const Content *c = running(u),
                              *due = wanted[u].launched ? &contents[u][wanted[u].variant] : NULL;

                if ((c == NULL) != (due == NULL) ||
                    (c && !streq((char *) c->text.data, (char *) due->text.data)))
                        fail_life("%s does not run what it is to run", units[u]);
                if (wanted[u].known)
                        assert_folder(u, &contents[u][wanted[u].variant]);
        }
        assert_store();
        assert_secrets();
        for (unsigned u = 0; u < UNITS; u++)
                wanted[u].stopped = wanted[u].changed = false, wanted[u].seen_variant = wanted[u].variant;
}

static void turns(unsigned n) {
        for (; n > 0; n--) {
                uv_run(&test_loop, UV_RUN_NOWAIT);
                assert_what_runs_has_its_files();
        }
}

static void kill_argosyd(void) {
        story("  argosyd is killed\n");
        agent_down();
        led = false;
        agent_up();
        turns(dice(4));
        assert_what_runs_has_its_files();
        if (dice(4))
                meet();
}

static void empty(const char *path) {
        assert_int_equal(system(printed("find %s -mindepth 1 -delete", path)), 0);
}

// /run is empty, and nobody leads for a while.
static void boot(void) {
        static const char *const parts[] = {"files", "units", "secrets", "system"};
        _cleanup_free_ char *ledger = str_printf("%s/ledger", w.dir);

        story("  the host boots without a leader\n");
        agent_down();
        led = false;
        pid1 = pid1_free(pid1);
        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                _cleanup_free_ char *path = str_printf("%s/%s", w.dir, parts[i]);

                if (access(path, F_OK) == 0)
                        empty(path);
        }
        assert_true(unlink(ledger) == 0 || errno == ENOENT);
        pid1 = pid1_new(w.unit_dir);
        agent_up();
        turns(5);
        if (pid1_n_jobs(pid1) > 0 || count_files(w.secrets_dir) > 0)
                fail_life("a host that booted without a leader did something");
        meet();
}

static void step(void) {
        switch (dice(20)) {
        case 0:
                kill_argosyd();
                break;
        case 1:
                story("  another leader\n");
                if (led) {
                        w.cut = true;
                        agent_on_leader(w.agent, 0, 0);
                        w.cut = led = false;
                }
                turns(dice(3));
                if (dice(3))
                        meet();
                break;
        case 2:
                if (dice(4) == 0)
                        boot();
                break;
        case 3: {
                unsigned i = dice(SECRETS);

                newest[i]++;
                story("  %s has version %u\n", secret_names[i], (unsigned) newest[i]);
                break;
        }
        case 4:
        case 5:
        case 6:
        case 7:
        case 8:
        case 9:
        case 10:
                change(dice(UNITS));
                break;
        default:
                answer(10);
        }
        turns(dice(4));
}

static void live(unsigned s) {
        _cleanup_free_ char *secrets = NULL;

        seed = random_state = s;
        story("seed %u\n", s);
        rig_up();
        secrets = str_printf("%s/secrets", w.dir);
        assert_int_equal(mkdir(secrets, 0700), 0);
        w.secrets_dir = secrets;
        pid1 = pid1_new(w.unit_dir);
        memset(wanted, 0, sizeof(wanted));
        newest[0] = newest[1] = 1;
        revision = 100;
        n_answered = 0;
        make_contents();
        agent_up();
        meet();
        for (unsigned i = 1; i <= STEPS; i++) {
                step();
                if (i % CALM_EVERY == 0)
                        calm_down();
        }
        agent_down();
        pid1 = pid1_free(pid1);
        rig_down();
        drop_contents();
}

static void every_life_ends_well(void **state) {
        unsigned lives = getenv("ARGOSY_LONG") ? LIVES_LONG : LIVES; // most of their time they wait

        for (unsigned s = 1; s <= lives; s++)
                live(s);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_life_ends_well),
        };

        make_bodies();
        if (argc > 1) {
                verbose = true;
                live((unsigned) atoi(argv[1]));
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
