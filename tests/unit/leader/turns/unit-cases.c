// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests about units of a large cluster, their folders and their jobs, each about as much as one may be
// about.
#include "turn-cases.h"

#include <errno.h>

#include "batch.h"
#include "clock.h"
#include "event-kind.h"
#include "large-cluster.h"
#include "messages.h"
#include "request-ties.h"
#include "str.h"
#include "test.h"
#include "turn-asks.h"

enum { PLANNED = 2000, ASKED = 2000, LISTED_MAX = 250000 };

#define START ARGOSY__VERB__VERB_START

// ---- of units

typedef struct ChangeOf {
        Argosy__Verb verb;
        char **names;
        size_t n;
        const char *file, *content;
        bool replace, preview;
} ChangeOf;

static RigAnswer *begin_change(ChangeOf w) {
        Argosy__NamedFile *file = w.content ? file_of(w.file, w.content) : NULL;
        Argosy__Request__Change m = MESSAGE_OF(
                request__change, .id = new_id(), .verb = w.verb, .names = w.names, .n_names = w.n,
                .files = &file, .n_files = file != NULL, .replace = w.replace, .preview = w.preview);

        return ask(ARGOSY__REQUEST__WHAT_CHANGE, &m);
}

static const Argosy__Response *change(ChangeOf w) {
        RigAnswer *a = begin_change(w);

        large_cluster_turns(UINT_MAX);
        return taken(a);
}

static void start_new(void) {
        change((ChangeOf){START, large.fresh, NAMES_MAX, "new@.service", BIG});
}

static void start_one(void) {
        change((ChangeOf){START, large.fresh, 1, "new@.service", BIG});
}

static void stop_many(void) {
        change((ChangeOf){ARGOSY__VERB__VERB_STOP, large.big, NAMES_MAX});
}

static void restart_many(void) {
        change((ChangeOf){ARGOSY__VERB__VERB_RESTART, large.big, NAMES_MAX});
}

static void unload_many(void) {
        change((ChangeOf){ARGOSY__VERB__VERB_UNLOAD, large.big, NAMES_MAX});
}

static void destroy_many(void) {
        change((ChangeOf){ARGOSY__VERB__VERB_DESTROY, large.big, NAMES_MAX});
}

static void replace_many(void) {
        change((ChangeOf){START, large.big, NAMES_MAX, "big@.service", BIG_NEXT, .replace = true});
}

static void submit_template(void) {
        char *name = (char *) "big@.service";

        change((ChangeOf){ARGOSY__VERB__VERB_SUBMIT, &name, 1, "big@.service", BIG_NEXT, .replace = true});
}

static void plan_many(void) {
        RigAnswer *a =
                begin_change((ChangeOf){START, large.fresh, PLANNED, "new@.service", BIG, .preview = true});

        large_cluster_turns(TURNS);
        large_cluster_pass_ms(500); // nodes may have to be asked
        (void) taken(a);
}

static void start_in_conflict(void) {
        char *name = (char *) "other@1.service";

        change((ChangeOf){START, &name, 1, "other@.service", SLEEPS});
}

// No unit has a name of that pattern.
static void start_in_conflict_with_a_pattern(void) {
        char *name = (char *) "other@1.service";

        change((ChangeOf){START, &name, 1, "other@.service", SLEEPS "[X-Argosy]\nConflicts=old@*\n"});
}

static void start_refused(void) {
        change((ChangeOf){START, large.fresh, NAMES_MAX, "new@.service",
                          SLEEPS "[X-Argosy]\nConflicts=new@*.service\n"});
}

#define NEEDS SLEEPS "[X-Argosy]\nRequires=big@%i.service\nAfter=big@%i.service\n"

static void set_secret(void) {
        static uint8_t value[] = "hush";
        Argosy__Request__SecretSet m = MESSAGE_OF(request__secret_set, .name = (char *) "password",
                                                  .value = (ProtobufCBinaryData){sizeof(value), value});

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_SECRET_SET, &m));
        large_cluster_turns(UINT_MAX);
}

// Each of them has an older version then.
static void set_secret_of_many(void) {
        set_secret();
        change((ChangeOf){START, large.fresh, NAMES_MAX, "new@.service", BIG "Secret=password\n"});
        set_secret();
}

enum { HUB_USERS = 10000 };
static char *hub = (char *) "hub.service";

static void make_hub(const char *how, size_t n) {
        _cleanup_free_ char *text =
                str_printf(SLEEPS "[X-Argosy]\n%s=hub.service\nAfter=hub.service\n", how);

        change((ChangeOf){START, &hub, 1, "hub.service", SLEEPS});
        for (size_t i = 0; i < n; i += REQUEST_TIED_MAX)
                change((ChangeOf){START, large.fresh + i, MIN_OF(n - i, (size_t) REQUEST_TIED_MAX),
                                  "new@.service", text});
}

static void restart_hub(void) {
        make_hub("Requires", REQUEST_ALONG_MAX);
        change((ChangeOf){ARGOSY__VERB__VERB_RESTART, &hub, 1});
}

static void stop_hub(void) {
        make_hub("BindsTo", REQUEST_ALONG_MAX);
        change((ChangeOf){ARGOSY__VERB__VERB_STOP, &hub, 1});
}

static void destroy_hub(void) {
        make_hub("PartOf", REQUEST_ALONG_MAX);
        change((ChangeOf){ARGOSY__VERB__VERB_DESTROY, &hub, 1});
}

// Which is refused.
static void stop_hub_of_too_many(void) {
        make_hub("Requires", HUB_USERS);
        change((ChangeOf){ARGOSY__VERB__VERB_STOP, &hub, 1});
}

static void start_tied(void) {
        change((ChangeOf){START, large.fresh, REQUEST_TIED_MAX, "new@.service", NEEDS});
}

static void restart_tied(void) {
        start_tied();
        // and those that need them
        change((ChangeOf){ARGOSY__VERB__VERB_RESTART, large.big, REQUEST_TIED_MAX});
}

static void start_tied_in_cycles(void) {
        change((ChangeOf){
                START, large.fresh, REQUEST_TIED_MAX, "new@.service",
                SLEEPS
                "[X-Argosy]\nWants=new@1.service new@2.service\nAfter=new@1.service new@2.service\n"});
}

static void plan_tied(void) {
        RigAnswer *a = begin_change(
                (ChangeOf){START, large.fresh, REQUEST_TIED_MAX, "new@.service", NEEDS, .preview = true});

        large_cluster_turns(TURNS);
        large_cluster_pass_ms(500);
        (void) taken(a);
}

static void start_more_than_may_be_tied(void) {
        RigAnswer *a = begin_change((ChangeOf){START, large.fresh, NAMES_MAX, "new@.service", NEEDS});

        large_cluster_turns(TURNS);
        assert_int_equal(a->responses[0]->status, E2BIG);
}

static void start_with_others(void) {
        change((ChangeOf){START, large.fresh, REQUEST_TIED_MAX, "new@.service",
                          SLEEPS "[X-Argosy]\nMachineOf=big@%i.service\n"});
}

static void start_of_priorities(void) {
        change((ChangeOf){START, large.fresh, REQUEST_TIED_MAX, "new@.service",
                          SLEEPS "[X-Argosy]\nPriority=0%i\n"});
}

// Each has a file of its own.
static void start_files(void) {
        static Argosy__NamedFile files[REQUEST_TIED_MAX], *pointers[REQUEST_TIED_MAX];
        char *names[REQUEST_TIED_MAX];

        for (size_t i = 0; i < REQUEST_TIED_MAX; i++) {
                pointers[i] = &files[i];
                argosy__named_file__init(&files[i]);
                files[i].name = files[i].path = names[i] = str_printf("own%zu.service", i);
                files[i].content.data = (uint8_t *) str_printf("%s# %zu\n", BIG, i);
                files[i].content.len = strlen((char *) files[i].content.data);
        }
        Argosy__Request__Change m =
                MESSAGE_OF(request__change, .id = new_id(), .verb = START, .names = names,
                           .n_names = REQUEST_TIED_MAX, .files = pointers, .n_files = REQUEST_TIED_MAX);
        RigAnswer *a = ask(ARGOSY__REQUEST__WHAT_CHANGE, &m);
        large_cluster_turns(UINT_MAX);
        (void) taken(a);
}

static void start_everywhere(void) {
        char *name = (char *) "every.service";

        change((ChangeOf){START, &name, 1, name, SLEEPS "[X-Argosy]\nGlobal=yes\n"});
}

static void stop_everywhere(void) {
        char *name = (char *) "all.service";

        change((ChangeOf){ARGOSY__VERB__VERB_STOP, &name, 1});
}

// Of a template that the cluster does not have any more.
static void start_like_its_siblings(void) {
        char *template = (char *) "big@.service", *name = (char *) "big@another.service";

        change((ChangeOf){ARGOSY__VERB__VERB_DESTROY, &template, 1});
        change((ChangeOf){START, &name, 1});
}

static void wait_for_many(void) {
        static Argosy__Request__Wait__Item items[NAMES_MAX], *pointers[NAMES_MAX];

        for (size_t i = 0; i < NAMES_MAX; i++) {
                pointers[i] = &items[i];
                argosy__request__wait__item__init(pointers[i]);
                items[i].name = large.big[i];
        }
        Argosy__Request__Wait m = MESSAGE_OF(request__wait, .items = pointers, .n_items = NAMES_MAX,
                                             .goal = ARGOSY__UNIT_GOAL__GOAL_INACTIVE);
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_WAIT, &m);
}

static void wait_for_one(void) {
        static Argosy__Request__Wait__Item items[NAMES_MAX], *pointers[NAMES_MAX];

        for (size_t i = 0; i < NAMES_MAX; i++) {
                pointers[i] = &items[i];
                argosy__request__wait__item__init(pointers[i]);
                items[i].name = large.big[0];
        }
        Argosy__Request__Wait m = MESSAGE_OF(request__wait, .items = pointers, .n_items = NAMES_MAX,
                                             .goal = ARGOSY__UNIT_GOAL__GOAL_INACTIVE);
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_WAIT, &m);
        change((ChangeOf){ARGOSY__VERB__VERB_STOP, large.big, 1});
}

static void cat_many(void) {
        Argosy__Request__Cat m = MESSAGE_OF(request__cat, .names = large.big, .n_names = ASKED);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_CAT, &m));
}

static void why_many(void) {
        Argosy__Request__Why m = MESSAGE_OF(request__why, .names = large.big, .n_names = NAMES_MAX);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_WHY, &m));
}

static void why_everywhere(void) {
        char *name = (char *) "all.service";
        Argosy__Request__Why m = MESSAGE_OF(request__why, .names = &name, .n_names = 1);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_WHY, &m));
}

static void status_of_many(void) {
        Argosy__Request__Status m = MESSAGE_OF(request__status, .names = large.big, .n_names = ASKED);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_STATUS, &m));
}

static void status_of_template(void) {
        char *names[] = {(char *) "big@.service", (char *) "all.service"};
        Argosy__Request__Status m = MESSAGE_OF(request__status, .names = names, .n_names = 2);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_STATUS, &m));
}

static void journal_of_all(void) {
        Argosy__Request__Journal m = JOURNAL_OF(.name = (char *) "all.service", .lines = 1);

        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_JOURNAL, &m);
}

static void top_of_all(void) {
        Argosy__Request__Top m = ARGOSY__REQUEST__TOP__INIT;

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_TOP, &m));
}

static void top_and_cancel(void) {
        Argosy__Request__Top m = TOP_OF(.interval_ms = 1000);
        RigAnswer *a = ask_and_turn(ARGOSY__REQUEST__WHAT_TOP, &m);

        leader_cancel(large.rig.leader, a->cancel);
        large_cluster_turns(TURNS);
}

static void verify_everywhere(void) {
        Argosy__NamedFile *file = file_of("big@.service", BIG_NEXT);
        Argosy__Request__Verify m = VERIFY_OF(.files = &file, .n_files = 1);

        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_VERIFY, &m);
}

// Of large contents, and as many as one user may have under way.
static void verify_large_contents(void) {
        enum { LARGE = 700 * 1024, QUESTIONS = 16 };
        static char content[LARGE];

        memset(content, '\n', sizeof(content) - 1);
        Argosy__NamedFile *file = file_of("big@.service", content);
        Argosy__Request__Verify m = VERIFY_OF(.files = &file, .n_files = 1);
        for (unsigned i = 0; i < QUESTIONS; i++)
                (void) ask(ARGOSY__REQUEST__WHAT_VERIFY, &m);
        large_cluster_turns(TURNS);
}

// Several requests that are large wait at a time.
enum { BACKLOG = 8 };

static void submit_much(void) {
        for (unsigned i = 0; i < BACKLOG; i++)
                (void) begin_change((ChangeOf){ARGOSY__VERB__VERB_SUBMIT, large.fresh, 5000, "new@.service",
                                               i % 2 ? BIG : BIG_NEXT, .replace = true});
        large_cluster_turns(TURNS);
}

// Files that each demand what no other does, of hosts that many files name: each looks at all hosts.
enum { OWN_DEMANDS = 640 };

static void submit_own_demands(const char *format) {
        static Argosy__NamedFile files[OWN_DEMANDS], *of[OWN_DEMANDS];
        static char names[OWN_DEMANDS][24], contents[OWN_DEMANDS][256], *list[OWN_DEMANDS];

        for (unsigned i = 0; i < OWN_DEMANDS; i++) {
                str_fit(names[i], sizeof(names[i]), "own%u.service", i);
                str_fit(contents[i], sizeof(contents[i]), format, i);
                files[i] = *file_of(names[i], contents[i]);
                of[i] = &files[i];
                list[i] = names[i];
        }
        Argosy__Request__Change m =
                MESSAGE_OF(request__change, .id = new_id(), .verb = ARGOSY__VERB__VERB_SUBMIT, .names = list,
                           .n_names = OWN_DEMANDS, .files = of, .n_files = OWN_DEMANDS);
        RigAnswer *a = ask(ARGOSY__REQUEST__WHAT_CHANGE, &m);
        large_cluster_turns(UINT_MAX);
        (void) taken(a);
}

static void submit_own_managers(void) {
        submit_own_demands("[Service]\nExecStart=/bin/true\n[X-Argosy]\nManager=own%u@* user@*\n");
}

static void submit_own_labels(void) {
        submit_own_demands("[Service]\nExecStart=/bin/true\n[X-Argosy]\nRequireLabel=!own%u\n");
}

static void submit_nothing_new(void) {
        for (unsigned i = 0; i < BACKLOG; i++)
                (void) begin_change((ChangeOf){ARGOSY__VERB__VERB_SUBMIT, large.big, 512});
        large_cluster_turns(TURNS);
}

static void plan_much_beside_changes(void) {
        for (unsigned i = 0; i < BACKLOG; i++) {
                (void) begin_change(
                        (ChangeOf){START, large.fresh, PLANNED / 8, "new@.service", BIG, .preview = true});
                (void) begin_change((ChangeOf){ARGOSY__VERB__VERB_SUBMIT, large.fresh, 5000, "new@.service",
                                               i % 2 ? BIG : BIG_NEXT, .replace = true});
        }
        large_cluster_turns(TURNS);
}

// As many as one answer takes.
static void list_all(void) {
        char *half = (char *) "*[02468].service";
        Argosy__Request__ListUnits m = MESSAGE_OF(request__list_units, .patterns = &half,
                                                  .n_patterns = large.n_units > LISTED_MAX, .parts = true);
        RigAnswer *a = ask(ARGOSY__REQUEST__WHAT_LIST_UNITS, &m);

        large_cluster_turns(UINT_MAX);
        (void) taken(a);
}

static void list_some(void) {
        Argosy__ListFilter filter = ARGOSY__LIST_FILTER__INIT;
        char *patterns[] = {(char *) "*9?9.service", (char *) "part@*"}, *failed = (char *) "failed";
        Argosy__Request__ListUnits m = MESSAGE_OF(request__list_units, .patterns = patterns, .n_patterns = 2,
                                                  .parts = true, .filter = &filter);

        filter.states = &failed;
        filter.n_states = 1;
        filter.limit = 100;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_LIST_UNITS, &m));
}

static void list_files(void) {
        Argosy__Request__ListUnitFiles m = MESSAGE_OF(request__list_unit_files, .parts = true);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES, &m));
}

static void watch(void) {
        Argosy__Request__Events m = ARGOSY__REQUEST__EVENTS__INIT;
        const char *cursor = "";

        for (unsigned i = 0; i < 300; i++) { // the whole state, a message at a time

                m.cursor = (char *) cursor;
                m.max_bytes = EVENTS_BYTES_MAX;
                RigAnswer *a = ask_and_turn(ARGOSY__REQUEST__WHAT_EVENTS, &m);
                cursor = taken(a)->events->cursor;
        }
        m.cursor = (char *) cursor;
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_EVENTS, &m);
        change((ChangeOf){ARGOSY__VERB__VERB_RESTART, large.big, 5000}); // and is told
}

// ---- rollouts

static const Argosy__Response *roll(const char *name, Argosy__RolloutKind kind, const char *content,
                                    bool abort_it, unsigned max) {
        Argosy__Request__Rollout m = ROLLOUT_OF(.id = new_id(), .name = (char *) name, .kind = kind,
                                                .file = content ? file_of(name, content) : NULL,
                                                .abort = abort_it, .max_unavailable = max);
        RigAnswer *a = ask(ARGOSY__REQUEST__WHAT_ROLLOUT, &m);

        for (unsigned i = 0; i < large.n_units && a->n == 0; i++) // all of its units are looked at first
                large_cluster_turns(1);
        large_cluster_turns(TURNS);
        return taken(a);
}

#define UPDATE ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE
#define RESTART ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART

static void update_template(void) {
        (void) roll("big@.service", UPDATE, BIG_NEXT, false, 0);
        large_cluster_pass_ms(1000);
}

static void update_one_at_a_time(void) {
        (void) roll("big@.service", UPDATE, BIG_NEXT, false, 1);
        large_cluster_pass_ms(1000);
}

static void restart_template(void) {
        (void) roll("big@.service", RESTART, NULL, false, 0);
}

static void restart_template_if_unchanged(void) {
        ask_if_revision = cluster_state_revision(large.rig.state);
        (void) roll("big@.service", RESTART, NULL, false, 1);
}

// A rule that is about none of its units is compared with each.
static void restart_template_past_a_rule(void) {
        Argosy__QueueRule rule = QUEUE_RULE_OF(.unit = (char *) "big@*9.timer", .role = (char *) "crew",
                                               .action = ARGOSY__QUEUE_ACTION__QUEUE_HOLD);
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .add = &rule);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_QUEUE_CHANGE, &m));
        (void) roll("big@.service", RESTART, NULL, false, 1);
}

static void give_up_update(void) {
        (void) roll("big@.service", UPDATE, BIG_NEXT, false, 1); // and is not over
        (void) roll("big@.service", UPDATE, NULL, true, 0);
}

static void update_that_fails(void) {
        large.rig.bad = hash_of(BIG_NEXT, strlen(BIG_NEXT));
        (void) roll("big@.service", UPDATE, BIG_NEXT, false, 1);
        large_cluster_pass_ms(1000);
}

static void update_everywhere(void) {
        (void) roll("all.service", UPDATE, SLEEPS "[X-Argosy]\nGlobal=yes\nMaxUnavailable=20%\n", false, 0);
}

static void wait_for_update(void) {
        const Argosy__Response *r = roll("big@.service", UPDATE, BIG_NEXT, false, 1);
        Argosy__Request__RolloutWait m = MESSAGE_OF(request__rollout_wait, .name = (char *) "big@.service",
                                                    .revision = r->change->units[0]->revision);

        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_ROLLOUT_WAIT, &m);
}

// ---- networks that thousands of containers share

#define BOX                                                             \
        "[Container]\nImage=localhost/box:1\nNetwork=front.network\n\n" \
        "# front.network\n[Network]\nSubnet="

enum { SHARERS = 4000 };

static const char *start_sharers(char **names, size_t n, const char *file, const char *content) {
        return change((ChangeOf){START, names, n, file, content, true})->change->units[n - 1]->message;
}

// web.service gets another network; what is said of it, if it is replaced.
static const char *change_network_of(size_t n, bool rolls) {
        char *web = (char *) "web.service", *template = (char *) "new@.service";

        change((ChangeOf){ARGOSY__VERB__VERB_SUBMIT, &template, 1, template, BOX "1\n"});
        assert_string_equal(start_sharers(large.fresh, n, NULL, NULL), "");
        assert_string_equal(start_sharers(&web, 1, web, BOX "1\n"), "");
        if (!rolls)
                return start_sharers(&web, 1, web, BOX "2\n");
        (void) roll(web, UPDATE, BOX "2\n", false, 0);
        large_cluster_pass_ms(5000);
        return NULL;
}

static void replace_network_of_many(void) {
        assert_non_null(strstr(change_network_of(REQUEST_TIED_MAX - 1, false), "and 510 more"));
}

static void replace_network_of_too_many(void) {
        assert_non_null(strstr(change_network_of(SHARERS, false), "more units than one request may"));
        (void) start_sharers(large.fresh, SHARERS, "new@.service", BOX "2\n"); // each of them is refused
}

static void update_network_of_many(void) {
        (void) change_network_of(SHARERS, true);
}

// ---- folders, undo

static void fill_apply(Argosy__Request__Apply *m, Argosy__NamedFile **file) {
        static Argosy__Request__Apply__Unit units[SET_UNITS], *pointers[SET_UNITS];
        static Hash hash;

        *file = file_of("part@.service", SLEEPS "RestartSec=7\n");
        hash = hash_of((*file)->content.data, (*file)->content.len);
        for (size_t i = 0; i < SET_UNITS; i++) {
                pointers[i] = &units[i];
                argosy__request__apply__unit__init(pointers[i]);
                units[i].name = large.part[i];
                units[i].spec = (ProtobufCBinaryData){HASH_SIZE, hash.bytes};
                units[i].from_template = true;
                units[i].target = LAUNCHED;
                units[i].file = 1;
        }
        *m = (Argosy__Request__Apply) MESSAGE_OF(request__apply, .set = (char *) "folder", .units = pointers,
                                                 .n_units = SET_UNITS, .files = file, .n_files = 1);
}

static void apply(bool rolling) {
        Argosy__NamedFile *file;
        Argosy__Request__Apply m;

        fill_apply(&m, &file);
        m.preview = true;
        m.rolling = rolling;
        const Argosy__Response *plan = taken(ask_and_turn(ARGOSY__REQUEST__WHAT_APPLY, &m));
        m.preview = false;
        m.revision = plan->apply_plan->revision;
        m.plan = plan->apply_plan->plan;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_APPLY, &m));
}

static void apply_folder(void) {
        apply(false);
}

static void apply_rolling(void) {
        apply(true);
}

static void put_back(Argosy__Request__Undo *m) {
        m->job = rig_last_job(&large.rig);
        assert_true(m->job > 0);
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_UNDO, m));
        large_cluster_turns(UINT_MAX);
}

static void undo_many(void) {
        Argosy__Request__Undo m = ARGOSY__REQUEST__UNDO__INIT;

        stop_many();
        put_back(&m);
}

static void undo_replacement(void) {
        Argosy__Request__Undo m = MESSAGE_OF(request__undo, .force = true);

        replace_many();
        put_back(&m);
}

static void forget_contents(void) {
        char hex[2 * HASH_SIZE + 1], *rev = hex;
        Hash hash = hash_of(BIG, strlen(BIG));
        Argosy__Request__Forget m = MESSAGE_OF(request__forget, .revs = &rev, .n_revs = 1);

        hash_hex(&hash, HASH_SIZE, hex);
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_FORGET, &m); // units have it: that is found, and said
}

// ---- jobs and the queue

static void list_jobs(void) {
        char *pattern = (char *) "*@19999.service";

        stop_many();
        Argosy__Request__ListJobs m = LIST_JOBS_OF(.patterns = &pattern, .n_patterns = 1);
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_LIST_JOBS, &m));
        m = (Argosy__Request__ListJobs) LIST_JOBS_OF(.number = rig_last_job(&large.rig));
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_LIST_JOBS, &m));
}

static void show_job_everywhere(void) {
        start_everywhere();
        Argosy__Request__ListJobs m = LIST_JOBS_OF(.number = rig_last_job(&large.rig));
        const Argosy__Response *r = taken(ask_and_turn(ARGOSY__REQUEST__WHAT_LIST_JOBS, &m));
        assert_string_equal(r->jobs->rows[0]->units[0]->now, "as asked");
}

static void wait_for_job(void) {
        large.rig.stop_ms = 1000;
        (void) begin_change((ChangeOf){ARGOSY__VERB__VERB_STOP, large.big, NAMES_MAX});
        large_cluster_turns(40);
        Argosy__Request__JobWait m = MESSAGE_OF(request__job_wait, .number = rig_last_job(&large.rig));
        RigAnswer *a = ask_and_turn(ARGOSY__REQUEST__WHAT_JOB_WAIT, &m);
        large_cluster_pass_ms(2000);
        assert_int_equal(a->error, 0);
}

static void hold(uint64_t *ret_number) {
        Argosy__Request__Change m =
                MESSAGE_OF(request__change, .id = new_id(), .verb = ARGOSY__VERB__VERB_STOP,
                           .names = large.big, .n_names = NAMES_MAX);

        ask_hold = true;
        RigAnswer *a = ask_and_turn(ARGOSY__REQUEST__WHAT_CHANGE, &m);
        ask_hold = false;
        *ret_number = taken(a)->job;
        assert_true(*ret_number > 0);
}

static void release_job(void) {
        uint64_t number;

        hold(&number);
        Argosy__Request__JobRelease m = MESSAGE_OF(request__job_release, .numbers = &number, .n_numbers = 1);
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_JOB_RELEASE, &m));
        large_cluster_turns(UINT_MAX);
}

static void cancel_job(void) {
        large.rig.start_ms = 60000;
        (void) begin_change((ChangeOf){START, large.fresh, NAMES_MAX, "new@.service", BIG});
        large_cluster_turns(400);
        uint64_t number = rig_last_job(&large.rig);
        Argosy__Request__JobCancel m = MESSAGE_OF(request__job_cancel, .numbers = &number, .n_numbers = 1);
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_JOB_CANCEL, &m);
        large_cluster_turns(UINT_MAX);
}

static void queue_rule(void) {
        Argosy__QueueRule rule = QUEUE_RULE_OF(.unit = (char *) "big@*9.service", .role = (char *) "crew",
                                               .action = ARGOSY__QUEUE_ACTION__QUEUE_HOLD);
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .add = &rule);

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_QUEUE_CHANGE, &m));
        (void) begin_change((ChangeOf){ARGOSY__VERB__VERB_STOP, large.big, NAMES_MAX});
        large_cluster_turns(TURNS);
}

// ---- who may not see all

// He is told of these alone.
static void list_as_joe(void) {
        as_joe(list_all);
}

// And has it for all of a template, if he has it for each instance.
static void restart_template_as_joe(void) {
        as_joe(restart_template);
}

const TurnCase unit_cases[] = {
        CASE(CHANGE, start_one),
        CASE(CHANGE, start_new),
        CASE(CHANGE, stop_many),
        CASE(CHANGE, restart_many),
        CASE(CHANGE, unload_many),
        CASE(CHANGE, destroy_many),
        CASE(CHANGE, replace_many),
        CASE(CHANGE, submit_template),
        CASE(CHANGE, plan_many),
        CASE(CHANGE, start_in_conflict),
        CASE(CHANGE, start_in_conflict_with_a_pattern),
        CASE(CHANGE, start_refused),
        CASE(CHANGE, start_tied),
        CASE(CHANGE, restart_tied),
        CASE(CHANGE, restart_hub),
        CASE(CHANGE, stop_hub),
        CASE(CHANGE, destroy_hub),
        CASE(CHANGE, stop_hub_of_too_many),
        CASE(SECRET_SET, set_secret_of_many),
        CASE(CHANGE, start_tied_in_cycles),
        CASE(CHANGE, start_more_than_may_be_tied),
        CASE(CHANGE, start_of_priorities),
        CASE(CHANGE, start_files),
        CASE(CHANGE, plan_tied),
        CASE(CHANGE, start_with_others),
        CASE(CHANGE, start_like_its_siblings),
        CASE(CHANGE, start_everywhere),
        CASE(CHANGE, stop_everywhere),
        CASE(WAIT, wait_for_many),
        CASE(WAIT, wait_for_one),
        CASE(EVENTS, watch),
        CASE(LIST_UNITS, list_all),
        CASE(LIST_UNITS, list_some),
        CASE(LIST_UNITS, list_as_joe),
        CASE(LIST_UNIT_FILES, list_files),
        CASE(CAT, cat_many),
        CASE(STATUS, status_of_many),
        CASE(STATUS, status_of_template),
        CASE(JOURNAL, journal_of_all),
        CASE(WHY, why_many),
        CASE(WHY, why_everywhere),
        CASE(TOP, top_of_all),
        CASE(TOP, top_and_cancel),
        CASE(VERIFY, verify_everywhere),
        CASE(VERIFY, verify_large_contents),
        CASE(CHANGE, submit_much),
        CASE(CHANGE, submit_own_managers),
        CASE(CHANGE, submit_own_labels),
        CASE(CHANGE, submit_nothing_new),
        CASE(CHANGE, plan_much_beside_changes),
        CASE(ROLLOUT, update_template),
        CASE(ROLLOUT, update_one_at_a_time),
        CASE(ROLLOUT, restart_template),
        CASE(ROLLOUT, restart_template_as_joe),
        CASE(ROLLOUT, restart_template_if_unchanged),
        CASE(ROLLOUT, restart_template_past_a_rule),
        CASE(ROLLOUT, give_up_update),
        CASE(ROLLOUT, update_that_fails),
        CASE(ROLLOUT, update_everywhere),
        CASE(ROLLOUT_WAIT, wait_for_update),
        CASE(CHANGE, replace_network_of_many),
        CASE(CHANGE, replace_network_of_too_many),
        CASE(ROLLOUT, update_network_of_many),
        CASE(LIST_JOBS, list_jobs),
        CASE(LIST_JOBS, show_job_everywhere),
        CASE(JOB_WAIT, wait_for_job),
        CASE(JOB_RELEASE, release_job),
        CASE(JOB_CANCEL, cancel_job),
        CASE(UNDO, undo_many),
        CASE(UNDO, undo_replacement),
        CASE(FORGET, forget_contents),
        CASE(APPLY, apply_folder),
        CASE(APPLY, apply_rolling),
        CASE(QUEUE_CHANGE, queue_rule),
};
const size_t n_unit_cases = ELEMENTSOF(unit_cases);
