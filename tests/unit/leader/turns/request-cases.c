// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests to the leader of a large cluster, each about as much as one may be about.
#include "turn-cases.h"

#include <errno.h>

#include "batch.h"
#include "clock.h"
#include "event-kind.h"
#include "large-cluster.h"
#include "leader-asks.h"
#include "request-kind.h"
#include "request-rights.h"
#include "request-ties.h"
#include "secret-name.h"
#include "str.h"
#include "test.h"

enum { TURNS = 400, PLANNED = 2000, ASKED = 2000, NODES_MAX = 1000, LISTED_MAX = 250000 };

#define START ARGOSY__VERB__VERB_START

static Argosy__Request request;
static Argosy__Request__Job job;
static uint64_t if_revision; // that requests are bound to; 0: to none

static ProtobufCBinaryData new_id(void) {
        static uint64_t ids[64][2];
        uint64_t *id = ids[++large.rig.id % ELEMENTSOF(ids)];

        id[0] = large.rig.id;
        id[1] = 99;
        return (ProtobufCBinaryData){.data = (uint8_t *) id, .len = 16};
}

static RigAnswer *ask(Argosy__Request__WhatCase what, void *message) {
        argosy__request__init(&request);
        argosy__request__job__init(&job);
        job.id = new_id();
        job.if_revision = if_revision;
        request.what_case = what;
        request.change = message; // a union: all of them are pointers
        request.job = &job;
        return rig_ask(&large.rig, &request);
}

static RigAnswer *ask_and_turn(Argosy__Request__WhatCase what, void *message) {
        RigAnswer *a = ask(what, message);

        large_cluster_turns(TURNS);
        return a;
}

// The first answer; a case about something that is refused at once measures nothing.
static const Argosy__Response *taken(const RigAnswer *a) {
        assert_int_equal(a->error, 0);
        assert_true(a->n > 0);
        if (a->responses[0]->status != 0)
                fail_msg("it was refused: %s", a->responses[0]->message);
        return a->responses[0];
}

#define MESSAGE(type, name, init) type name = init

static Argosy__NamedFile *file_of(const char *name, const char *content) {
        static Argosy__NamedFile file;

        argosy__named_file__init(&file);
        file.name = file.path = (char *) name;
        file.content = (ProtobufCBinaryData){.data = (uint8_t *) content, .len = strlen(content)};
        return &file;
}

// ---- of units

typedef struct ChangeOf {
        Argosy__Verb verb;
        char **names;
        size_t n;
        const char *file, *content;
        bool replace, dry_run;
} ChangeOf;

static RigAnswer *begin_change(ChangeOf w) {
        Argosy__Request__Change m = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__NamedFile *file = w.content ? file_of(w.file, w.content) : NULL;

        m.id = new_id();
        m.verb = w.verb;
        m.names = w.names;
        m.n_names = w.n;
        m.files = &file;
        m.n_files = file != NULL;
        m.replace = w.replace;
        m.dry_run = w.dry_run;
        m.parts = true;
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
                begin_change((ChangeOf){START, large.fresh, PLANNED, "new@.service", BIG, .dry_run = true});

        large_cluster_turns(TURNS);
        large_cluster_pass_ms(500); // nodes may have to be asked
        (void) taken(a);
}

static void start_in_conflict(void) {
        char *name = (char *) "other@1.service";

        change((ChangeOf){START, &name, 1, "other@.service", SLEEPS});
}

static void start_refused(void) {
        change((ChangeOf){START, large.fresh, NAMES_MAX, "new@.service",
                          SLEEPS "[X-Argosy]\nConflicts=new@*.service\n"});
}

#define NEEDS SLEEPS "[X-Argosy]\nRequires=big@%i.service\nAfter=big@%i.service\n"

static void start_tied(void) {
        change((ChangeOf){START, large.fresh, REQUEST_TIED_MAX, "new@.service", NEEDS});
}

static void restart_tied(void) {
        start_tied();
        change((ChangeOf){ARGOSY__VERB__VERB_RESTART, large.big, REQUEST_TIED_MAX}); // and those that need them
}

static void start_tied_in_cycles(void) {
        change((ChangeOf){START, large.fresh, REQUEST_TIED_MAX, "new@.service",
                          SLEEPS "[X-Argosy]\nWants=new@1.service new@2.service\nAfter=new@1.service new@2.service\n"});
}

static void plan_tied(void) {
        RigAnswer *a = begin_change((ChangeOf){START, large.fresh, REQUEST_TIED_MAX, "new@.service", NEEDS, .dry_run = true});

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
        change((ChangeOf){START, large.fresh, REQUEST_TIED_MAX, "new@.service", SLEEPS "[X-Argosy]\nPriority=0%i\n"});
}

// Each has a file of its own.
static void start_files(void) {
        static Argosy__NamedFile files[REQUEST_TIED_MAX], *pointers[REQUEST_TIED_MAX];
        char *names[REQUEST_TIED_MAX];
        Argosy__Request__Change m = ARGOSY__REQUEST__CHANGE__INIT;
        RigAnswer *a;

        for (size_t i = 0; i < REQUEST_TIED_MAX; i++) {
                pointers[i] = &files[i];
                argosy__named_file__init(&files[i]);
                files[i].name = files[i].path = names[i] = str_printf("own%zu.service", i);
                files[i].content.data = (uint8_t *) str_printf("%s# %zu\n", BIG, i);
                files[i].content.len = strlen((char *) files[i].content.data);
        }
        m.id = new_id();
        m.verb = START;
        m.names = names;
        m.n_names = REQUEST_TIED_MAX;
        m.files = pointers;
        m.n_files = REQUEST_TIED_MAX;
        m.parts = true;
        a = ask(ARGOSY__REQUEST__WHAT_CHANGE, &m);
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
        Argosy__Request__Wait m = ARGOSY__REQUEST__WAIT__INIT;

        for (size_t i = 0; i < NAMES_MAX; i++) {
                pointers[i] = &items[i];
                argosy__request__wait__item__init(pointers[i]);
                items[i].name = large.big[i];
        }
        m.items = pointers;
        m.n_items = NAMES_MAX;
        m.goal = ARGOSY__UNIT_GOAL__GOAL_INACTIVE;
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_WAIT, &m);
}

static void wait_for_one(void) {
        static Argosy__Request__Wait__Item items[NAMES_MAX], *pointers[NAMES_MAX];
        Argosy__Request__Wait m = ARGOSY__REQUEST__WAIT__INIT;

        for (size_t i = 0; i < NAMES_MAX; i++) {
                pointers[i] = &items[i];
                argosy__request__wait__item__init(pointers[i]);
                items[i].name = large.big[0];
        }
        m.items = pointers;
        m.n_items = NAMES_MAX;
        m.goal = ARGOSY__UNIT_GOAL__GOAL_INACTIVE;
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_WAIT, &m);
        change((ChangeOf){ARGOSY__VERB__VERB_STOP, large.big, 1});
}

static void cat_many(void) {
        Argosy__Request__Cat m = ARGOSY__REQUEST__CAT__INIT;

        m.names = large.big;
        m.n_names = ASKED;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_CAT, &m));
}

static void why_many(void) {
        Argosy__Request__Why m = ARGOSY__REQUEST__WHY__INIT;

        m.names = large.big;
        m.n_names = NAMES_MAX;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_WHY, &m));
}

static void why_everywhere(void) {
        Argosy__Request__Why m = ARGOSY__REQUEST__WHY__INIT;
        char *name = (char *) "all.service";

        m.names = &name;
        m.n_names = 1;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_WHY, &m));
}

static void status_of_many(void) {
        Argosy__Request__Status m = ARGOSY__REQUEST__STATUS__INIT;

        m.names = large.big;
        m.n_names = ASKED;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_STATUS, &m));
}

static void status_of_template(void) {
        Argosy__Request__Status m = ARGOSY__REQUEST__STATUS__INIT;
        char *names[] = {(char *) "big@.service", (char *) "all.service"};

        m.names = names;
        m.n_names = 2;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_STATUS, &m));
}

static void journal_of_all(void) {
        Argosy__Request__Journal m = ARGOSY__REQUEST__JOURNAL__INIT;

        m.name = (char *) "all.service";
        m.lines = 1;
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_JOURNAL, &m);
}

static void top_of_all(void) {
        Argosy__Request__Top m = ARGOSY__REQUEST__TOP__INIT;

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_TOP, &m));
}

static void top_and_cancel(void) {
        Argosy__Request__Top m = ARGOSY__REQUEST__TOP__INIT;
        RigAnswer *a;

        m.interval_ms = 1000;
        a = ask_and_turn(ARGOSY__REQUEST__WHAT_TOP, &m);
        leader_cancel(large.rig.leader, a->cancel);
        large_cluster_turns(TURNS);
}

static void verify_everywhere(void) {
        Argosy__Request__Verify m = ARGOSY__REQUEST__VERIFY__INIT;
        Argosy__NamedFile *file = file_of("big@.service", BIG_NEXT);

        m.files = &file;
        m.n_files = 1;
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_VERIFY, &m);
}

// Of large contents, and as many as one user may have under way.
static void verify_large_contents(void) {
        enum { LARGE = 700 * 1024, QUESTIONS = 16 };
        static char content[LARGE];
        Argosy__Request__Verify m = ARGOSY__REQUEST__VERIFY__INIT;
        Argosy__NamedFile *file;

        memset(content, '\n', sizeof(content) - 1);
        file = file_of("big@.service", content);
        m.files = &file;
        m.n_files = 1;
        for (unsigned i = 0; i < QUESTIONS; i++)
                (void) ask(ARGOSY__REQUEST__WHAT_VERIFY, &m);
        large_cluster_turns(TURNS);
}

// Several requests that are large wait at a time.
enum { BACKLOG = 8 };

static void submit_much(void) {
        for (unsigned i = 0; i < BACKLOG; i++)
                (void) begin_change((ChangeOf){ARGOSY__VERB__VERB_SUBMIT, large.fresh, 5000, "new@.service", i % 2 ? BIG : BIG_NEXT, .replace = true});
        large_cluster_turns(TURNS);
}

// Files that each demand what no other does, of hosts that many files name: each looks at all hosts.
enum { OWN_DEMANDS = 640 };

static void submit_own_demands(const char *format) {
        static Argosy__NamedFile files[OWN_DEMANDS], *of[OWN_DEMANDS];
        static char names[OWN_DEMANDS][24], contents[OWN_DEMANDS][256], *list[OWN_DEMANDS];
        Argosy__Request__Change m = ARGOSY__REQUEST__CHANGE__INIT;
        RigAnswer *a;

        for (unsigned i = 0; i < OWN_DEMANDS; i++) {
                str_fit(names[i], sizeof(names[i]), "own%u.service", i);
                str_fit(contents[i], sizeof(contents[i]), format, i);
                files[i] = *file_of(names[i], contents[i]);
                of[i] = &files[i];
                list[i] = names[i];
        }
        m.id = new_id();
        m.verb = ARGOSY__VERB__VERB_SUBMIT;
        m.names = list;
        m.n_names = OWN_DEMANDS;
        m.files = of;
        m.n_files = OWN_DEMANDS;
        m.parts = true;
        a = ask(ARGOSY__REQUEST__WHAT_CHANGE, &m);
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
                (void) begin_change((ChangeOf){START, large.fresh, PLANNED / 8, "new@.service", BIG, .dry_run = true});
                (void) begin_change((ChangeOf){ARGOSY__VERB__VERB_SUBMIT, large.fresh, 5000, "new@.service", i % 2 ? BIG : BIG_NEXT, .replace = true});
        }
        large_cluster_turns(TURNS);
}

// As many as one answer takes.
static void list_all(void) {
        Argosy__Request__ListUnits m = ARGOSY__REQUEST__LIST_UNITS__INIT;
        char *half = (char *) "*[02468].service";
        RigAnswer *a;

        m.patterns = &half;
        m.n_patterns = large.n_units > LISTED_MAX;
        m.parts = true;
        a = ask(ARGOSY__REQUEST__WHAT_LIST_UNITS, &m);
        large_cluster_turns(UINT_MAX);
        (void) taken(a);
}

static void list_some(void) {
        Argosy__Request__ListUnits m = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__ListFilter filter = ARGOSY__LIST_FILTER__INIT;
        char *patterns[] = {(char *) "*9?9.service", (char *) "part@*"}, *failed = (char *) "failed";

        m.patterns = patterns;
        m.n_patterns = 2;
        m.parts = true;
        filter.states = &failed;
        filter.n_states = 1;
        filter.limit = 100;
        m.filter = &filter;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_LIST_UNITS, &m));
}

static void list_files(void) {
        Argosy__Request__ListUnitFiles m = ARGOSY__REQUEST__LIST_UNIT_FILES__INIT;

        m.parts = true;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES, &m));
}

static void watch(void) {
        Argosy__Request__Events m = ARGOSY__REQUEST__EVENTS__INIT;
        const char *cursor = "";

        for (unsigned i = 0; i < 300; i++) { // the whole state, a message at a time
                RigAnswer *a;

                m.cursor = (char *) cursor;
                m.max_bytes = EVENTS_BYTES_MAX;
                a = ask_and_turn(ARGOSY__REQUEST__WHAT_EVENTS, &m);
                cursor = taken(a)->events->cursor;
        }
        m.cursor = (char *) cursor;
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_EVENTS, &m);
        change((ChangeOf){ARGOSY__VERB__VERB_RESTART, large.big, 5000}); // and is told
}

// ---- rollouts

static const Argosy__Response *roll(const char *name, Argosy__RolloutKind kind, const char *content,
                                    bool abort_it, unsigned max) {
        Argosy__Request__Rollout m = ARGOSY__REQUEST__ROLLOUT__INIT;
        RigAnswer *a;

        m.id = new_id();
        m.name = (char *) name;
        m.kind = kind;
        m.file = content ? file_of(name, content) : NULL;
        m.abort = abort_it;
        m.max_unavailable = max;
        a = ask(ARGOSY__REQUEST__WHAT_ROLLOUT, &m);
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
        if_revision = cluster_state_revision(large.rig.state);
        (void) roll("big@.service", RESTART, NULL, false, 1);
}

// A rule that is about none of its units is compared with each.
static void restart_template_past_a_rule(void) {
        Argosy__Request__QueueChange m = ARGOSY__REQUEST__QUEUE_CHANGE__INIT;
        Argosy__QueueRule rule = ARGOSY__QUEUE_RULE__INIT;

        rule.unit = (char *) "big@*9.timer";
        rule.role = (char *) "crew";
        rule.action = ARGOSY__QUEUE_ACTION__QUEUE_HOLD;
        m.add = &rule;
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
        Argosy__Request__RolloutWait m = ARGOSY__REQUEST__ROLLOUT_WAIT__INIT;
        const Argosy__Response *r = roll("big@.service", UPDATE, BIG_NEXT, false, 1);

        m.name = (char *) "big@.service";
        m.revision = r->change->units[0]->revision;
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_ROLLOUT_WAIT, &m);
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
        argosy__request__apply__init(m);
        m->set = (char *) "folder";
        m->units = pointers;
        m->n_units = SET_UNITS;
        m->files = file;
        m->n_files = 1;
}

static void apply(bool rolling) {
        Argosy__NamedFile *file;
        Argosy__Request__Apply m;
        const Argosy__Response *plan;

        fill_apply(&m, &file);
        m.dry_run = true;
        m.rolling = rolling;
        plan = taken(ask_and_turn(ARGOSY__REQUEST__WHAT_APPLY, &m));
        m.dry_run = false;
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
        Argosy__Request__Undo m = ARGOSY__REQUEST__UNDO__INIT;

        replace_many();
        m.force = true;
        put_back(&m);
}

static void forget_contents(void) {
        char hex[2 * HASH_SIZE + 1], *rev = hex;
        Hash hash = hash_of(BIG, strlen(BIG));
        Argosy__Request__Forget m = ARGOSY__REQUEST__FORGET__INIT;

        hash_hex(&hash, HASH_SIZE, hex);
        m.revs = &rev;
        m.n_revs = 1;
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_FORGET, &m); // units have it: that is found, and said
}

// ---- jobs and the queue

static void list_jobs(void) {
        Argosy__Request__ListJobs m = ARGOSY__REQUEST__LIST_JOBS__INIT;
        char *pattern = (char *) "*@19999.service";

        stop_many();
        m.patterns = &pattern;
        m.n_patterns = 1;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_LIST_JOBS, &m));
        argosy__request__list_jobs__init(&m);
        m.number = rig_last_job(&large.rig);
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_LIST_JOBS, &m));
}

static void show_job_everywhere(void) {
        Argosy__Request__ListJobs m = ARGOSY__REQUEST__LIST_JOBS__INIT;
        const Argosy__Response *r;

        start_everywhere();
        m.number = rig_last_job(&large.rig);
        r = taken(ask_and_turn(ARGOSY__REQUEST__WHAT_LIST_JOBS, &m));
        assert_string_equal(r->jobs->rows[0]->units[0]->now, "as asked");
}

static void wait_for_job(void) {
        Argosy__Request__JobWait m = ARGOSY__REQUEST__JOB_WAIT__INIT;
        RigAnswer *a;

        large.rig.stop_ms = 1000;
        (void) begin_change((ChangeOf){ARGOSY__VERB__VERB_STOP, large.big, NAMES_MAX});
        large_cluster_turns(40);
        m.number = rig_last_job(&large.rig);
        a = ask_and_turn(ARGOSY__REQUEST__WHAT_JOB_WAIT, &m);
        large_cluster_pass_ms(2000);
        assert_int_equal(a->error, 0);
}

static void hold(uint64_t *ret_number) {
        Argosy__Request__Change m = ARGOSY__REQUEST__CHANGE__INIT;
        RigAnswer *a;

        argosy__request__init(&request);
        argosy__request__job__init(&job);
        m.id = new_id();
        m.verb = ARGOSY__VERB__VERB_STOP;
        m.names = large.big;
        m.n_names = NAMES_MAX;
        job.hold = true;
        request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        request.change = &m;
        request.job = &job;
        a = rig_ask(&large.rig, &request);
        large_cluster_turns(TURNS);
        *ret_number = taken(a)->job;
        assert_true(*ret_number > 0);
}

static void release_job(void) {
        Argosy__Request__JobRelease m = ARGOSY__REQUEST__JOB_RELEASE__INIT;
        uint64_t number;

        hold(&number);
        m.numbers = &number;
        m.n_numbers = 1;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_JOB_RELEASE, &m));
        large_cluster_turns(UINT_MAX);
}

static void cancel_job(void) {
        Argosy__Request__JobCancel m = ARGOSY__REQUEST__JOB_CANCEL__INIT;
        uint64_t number;

        large.rig.start_ms = 60000;
        (void) begin_change((ChangeOf){START, large.fresh, NAMES_MAX, "new@.service", BIG});
        large_cluster_turns(400);
        number = rig_last_job(&large.rig);
        m.numbers = &number;
        m.n_numbers = 1;
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_JOB_CANCEL, &m);
        large_cluster_turns(UINT_MAX);
}

static void queue_rule(void) {
        Argosy__Request__QueueChange m = ARGOSY__REQUEST__QUEUE_CHANGE__INIT;
        Argosy__QueueRule rule = ARGOSY__QUEUE_RULE__INIT;

        rule.unit = (char *) "big@*9.service";
        rule.role = (char *) "crew";
        rule.action = ARGOSY__QUEUE_ACTION__QUEUE_HOLD;
        m.add = &rule;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_QUEUE_CHANGE, &m));
        (void) begin_change((ChangeOf){ARGOSY__VERB__VERB_STOP, large.big, NAMES_MAX});
        large_cluster_turns(TURNS);
}

// ---- nodes, roles, pools

static void set_mode(Argosy__NodeMode mode) {
        Argosy__Request__NodeChange m = ARGOSY__REQUEST__NODE_CHANGE__INIT;

        m.node = (char *) "n7";
        m.mode = mode;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_NODE_CHANGE, &m));
        large_cluster_turns(UINT_MAX);
}

static void drain_node(void) {
        set_mode(ARGOSY__NODE_MODE__MODE_DRAINING);
}

static void cordon_node(void) {
        set_mode(ARGOSY__NODE_MODE__MODE_CORDONED);
        set_mode(ARGOSY__NODE_MODE__MODE_OPEN);
}

static void maintain_node(void) {
        set_mode(ARGOSY__NODE_MODE__MODE_MAINTENANCE);
        set_mode(ARGOSY__NODE_MODE__MODE_OPEN);
}

static void set_modes(size_t n, Argosy__NodeMode mode) {
        Argosy__Request__NodesChange m = ARGOSY__REQUEST__NODES_CHANGE__INIT;
        char **nodes = calloc(n, sizeof(*nodes));

        for (size_t i = 0; i < n; i++)
                assert_non_null(nodes[i] = str_printf("n%zu", i + 1));
        m.nodes = nodes;
        m.n_nodes = n;
        m.mode = mode;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_NODES_CHANGE, &m));
}

static void cordon_many(void) {
        set_modes(NODES_MAX, ARGOSY__NODE_MODE__MODE_CORDONED);
        set_modes(NODES_MAX, ARGOSY__NODE_MODE__MODE_OPEN);
}

static void drain_many(void) {
        set_modes(NODES_MAX, ARGOSY__NODE_MODE__MODE_DRAINING);
}

static void wait_for_drain(void) {
        Argosy__Request__DrainWait m = ARGOSY__REQUEST__DRAIN_WAIT__INIT;

        drain_node();
        m.node = (char *) "n7";
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_DRAIN_WAIT, &m);
}

static void wait_for_manager(void) {
        Argosy__Request__ManagerWait m = ARGOSY__REQUEST__MANAGER_WAIT__INIT;

        m.host = (char *) "n7";
        m.manager = (char *) "user:joe";
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_MANAGER_WAIT, &m);
}

static void label_node(void) {
        Argosy__Request__LabelChange m = ARGOSY__REQUEST__LABEL_CHANGE__INIT;
        Argosy__Label label = ARGOSY__LABEL__INIT, *labels = &label;

        m.node = (char *) "n7";
        label.key = (char *) "zone";
        label.value = (char *) "b";
        m.set = &labels;
        m.n_set = 1;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_LABEL_CHANGE, &m));
        large_cluster_turns(UINT_MAX);
}

static void list_nodes(void) {
        Argosy__Request__ListNodes m = ARGOSY__REQUEST__LIST_NODES__INIT;

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_LIST_NODES, &m));
}

static void change_role(void) {
        Argosy__Request__RoleChange m = ARGOSY__REQUEST__ROLE_CHANGE__INIT;
        Argosy__Amount amount = ARGOSY__AMOUNT__INIT, *amounts = &amount;

        m.name = (char *) "crew";
        m.weight = 7;
        amount.resource = (char *) "cpu";
        amount.amount = 1000;
        m.limit = &amounts;
        m.n_limit = 1;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_ROLE_CHANGE, &m));
}

static void remove_role(void) {
        Argosy__Request__RoleChange m = ARGOSY__REQUEST__ROLE_CHANGE__INIT;

        m.name = (char *) "crew";
        m.remove = true;
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_ROLE_CHANGE,
                            &m); // units are of it: that is found, and said
}

static void change_pool(void) {
        Argosy__Request__PoolChange m = ARGOSY__REQUEST__POOL_CHANGE__INIT;
        Argosy__Request__PoolList list = ARGOSY__REQUEST__POOL_LIST__INIT;
        Argosy__Label label = ARGOSY__LABEL__INIT, *labels = &label;

        m.name = (char *) "most";
        label.key = (char *) "zone";
        label.value = (char *) "a";
        m.labels = &labels;
        m.n_labels = 1;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_POOL_CHANGE, &m));
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_POOL_LIST, &list));
}

static void list_pools(void) {
        change_pool();
}

static void rebalance(bool dry_run) {
        Argosy__Request__Rebalance m = ARGOSY__REQUEST__REBALANCE__INIT;

        drain_node();
        set_mode(ARGOSY__NODE_MODE__MODE_OPEN);
        m.id = new_id();
        m.dry_run = dry_run;
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_REBALANCE, &m);
        large_cluster_pass_ms(200);
}

static void rebalance_all(void) {
        rebalance(false);
}

static void plan_rebalance(void) {
        rebalance(true);
}

// ---- members

static void remove_host(void) {
        Argosy__Request__ClusterRemove m = ARGOSY__REQUEST__CLUSTER_REMOVE__INIT;

        m.host = (char *) "n7";
        m.force = true;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE, &m));
        large_cluster_turns(UINT_MAX);
}

static void promote_host(void) {
        Argosy__Request__ClusterRole m = ARGOSY__REQUEST__CLUSTER_ROLE__INIT;

        m.host = (char *) "n7";
        m.promote = true;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_CLUSTER_ROLE, &m));
}

static void want_voters(void) {
        Argosy__Request__ClusterVoters m = ARGOSY__REQUEST__CLUSTER_VOTERS__INIT;

        m.wanted = 5;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_CLUSTER_VOTERS, &m));
}

static void rotate_ca(void) {
        Argosy__Request__ClusterRotateCa m = ARGOSY__REQUEST__CLUSTER_ROTATE_CA__INIT;

        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_CLUSTER_ROTATE_CA, &m);
}

static void set_time(void) {
        Argosy__Request__ClusterSetTime m = ARGOSY__REQUEST__CLUSTER_SET_TIME__INIT;

        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_CLUSTER_SET_TIME, &m);
}

static void join(void) {
        Argosy__Request__Join m = ARGOSY__REQUEST__JOIN__INIT;
        Argosy__JoinRequest join_request = ARGOSY__JOIN_REQUEST__INIT;

        join_request.token_id = (char *) "0123456789abcdef";
        m.join = &join_request;
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_JOIN, &m);
}

static void make_join_token(void) {
        Argosy__Request__ClusterToken m = ARGOSY__REQUEST__CLUSTER_TOKEN__INIT;

        m.ttl_sec = 60;
        (void) ask_and_turn(ARGOSY__REQUEST__WHAT_CLUSTER_TOKEN, &m);
}

// ---- rights

static void change_access(void) {
        Argosy__Request__AccessChange m = ARGOSY__REQUEST__ACCESS_CHANGE__INIT;

        m.right = ARGOSY__RIGHT__RIGHT_OPERATE;
        m.user = (char *) "joe";
        m.role = (char *) "crew";
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_ACCESS_CHANGE, &m));
}

static void make_token(void) {
        Argosy__Request__TokenCreate m = ARGOSY__REQUEST__TOKEN_CREATE__INIT;
        static uint8_t hash[32] = {1};

        m.name = (char *) "robot";
        m.hash = (ProtobufCBinaryData){sizeof(hash), hash};
        m.right = ARGOSY__RIGHT__RIGHT_VIEW;
        m.role = (char *) "crew";
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_TOKEN_CREATE, &m));
}

static void revoke_token(void) {
        Argosy__Request__TokenRevoke m = ARGOSY__REQUEST__TOKEN_REVOKE__INIT;
        char *name = (char *) "robot";

        make_token();
        m.tokens = &name;
        m.n_tokens = 1;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_TOKEN_REVOKE, &m));
}

static void set_secret(void) {
        Argosy__Request__SecretSet m = ARGOSY__REQUEST__SECRET_SET__INIT;
        static uint8_t value[SECRET_VALUE_MAX];

        m.name = (char *) "password";
        m.value = (ProtobufCBinaryData){sizeof(value), value};
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_SECRET_SET, &m));
}

static void delete_secret(void) {
        Argosy__Request__SecretDelete m = ARGOSY__REQUEST__SECRET_DELETE__INIT;
        char *name = (char *) "password";

        set_secret();
        m.names = &name;
        m.n_names = 1;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_SECRET_DELETE, &m));
}

// A question that says nothing more.
static void ask_plainly(Argosy__Request__WhatCase what) {
        request_kinds_foreach(field, kind) if (field->id == (unsigned) what) {
                EmptyRequest q;

                empty_request(&q, field);
                (void) taken(ask_and_turn(what, q.what));
                empty_request_done(&q);
        }
}

#define PLAIN(name, what)                                  \
        static void name(void) {                           \
                ask_plainly(ARGOSY__REQUEST__WHAT_##what); \
        }
PLAIN(cluster_status, CLUSTER_STATUS)
PLAIN(list_roles, ROLE_LIST)
PLAIN(list_queue, QUEUE_LIST)
PLAIN(list_access, ACCESS_LIST)
PLAIN(list_tokens, TOKEN_LIST)
PLAIN(list_secrets, SECRET_LIST)

static void check_right(void) {
        Argosy__Request__RightCheck m = ARGOSY__REQUEST__RIGHT_CHECK__INIT;

        m.right = ARGOSY__RIGHT__RIGHT_ADMIN;
        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_RIGHT_CHECK, &m));
}

// Who has a right for the units of one role.
static void as_joe(void (*f)(void)) {
        Argosy__Author joe = ARGOSY__AUTHOR__INIT;

        change_access();
        joe.host = 1;
        joe.uid = 1000;
        joe.user = (char *) "joe";
        large.rig.author = &joe;
        f();
        large.rig.author = NULL;
}

// He is told of these alone.
static void list_as_joe(void) {
        as_joe(list_all);
}

// And has it for all of a template, if he has it for each instance.
static void restart_template_as_joe(void) {
        as_joe(restart_template);
}

#define CASE(what, f) \
        { ARGOSY__REQUEST__WHAT_##what, #f, f }

const TurnCase request_cases[] = {
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
        CASE(CHANGE, start_refused),
        CASE(CHANGE, start_tied),
        CASE(CHANGE, restart_tied),
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
        CASE(LIST_NODES, list_nodes),
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
        CASE(CLUSTER_STATUS, cluster_status),
        CASE(CLUSTER_TOKEN, make_join_token),
        CASE(CLUSTER_REMOVE, remove_host),
        CASE(CLUSTER_ROLE, promote_host),
        CASE(CLUSTER_VOTERS, want_voters),
        CASE(CLUSTER_ROTATE_CA, rotate_ca),
        CASE(CLUSTER_SET_TIME, set_time),
        CASE(JOIN, join),
        CASE(NODE_CHANGE, drain_node),
        CASE(NODE_CHANGE, cordon_node),
        CASE(NODE_CHANGE, maintain_node),
        CASE(NODES_CHANGE, cordon_many),
        CASE(NODES_CHANGE, drain_many),
        CASE(DRAIN_WAIT, wait_for_drain),
        CASE(MANAGER_WAIT, wait_for_manager),
        CASE(LABEL_CHANGE, label_node),
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
        CASE(REBALANCE, rebalance_all),
        CASE(REBALANCE, plan_rebalance),
        CASE(ROLE_CHANGE, change_role),
        CASE(ROLE_CHANGE, remove_role),
        CASE(ROLE_LIST, list_roles),
        CASE(POOL_CHANGE, change_pool),
        CASE(POOL_LIST, list_pools),
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
        CASE(QUEUE_LIST, list_queue),
        CASE(ACCESS_CHANGE, change_access),
        CASE(ACCESS_LIST, list_access),
        CASE(TOKEN_CREATE, make_token),
        CASE(TOKEN_REVOKE, revoke_token),
        CASE(TOKEN_LIST, list_tokens),
        CASE(SECRET_SET, set_secret),
        CASE(SECRET_DELETE, delete_secret),
        CASE(SECRET_LIST, list_secrets),
        CASE(RIGHT_CHECK, check_right),
};
const size_t n_request_cases = ELEMENTSOF(request_cases);
