// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Leaders that are lost in the middle of what was asked of them, at any turn: changes of hundreds of units,
// undos, folders that are applied, and who waits for a job or watches. Whoever gets no answer asks the same
// of the next leader, and of the one after that. Whatever happens:
//   what was acknowledged is in the log, as one job, whoever leads
//   the units are as if it had been done once: nothing was started or restarted a second time
//   what was asked and not acknowledged was done whole when it is, or was not a job
//   who waits is told how it ended
//
// A failure prints its seed; `test-leader-leader-lost SEED` plays that life alone and tells it.
#include "leader-asks.h"
#include "leader-private.h"
#include "log.h"
#include "messages.h"
#include "random-numbers.h"

#define ONE "[Service]\nExecStart=/bin/sleep 1\n"
#define TWO "[Service]\nExecStart=/bin/sleep 2\n"
#define INACTIVE ARGOSY__TARGET__TARGET_INACTIVE
#define LOADED ARGOSY__TARGET__TARGET_LOADED
#define LAUNCHED ARGOSY__TARGET__TARGET_LAUNCHED

enum {
        LIVES = 60,
        STEPS = 10,
        UNITS = 600,    // more than two parts of a Change
        LOSSES_MAX = 3, // of leaders, for one request
        TURNS_MAX = 14, // until one is lost: a part takes some
        NAME_SIZE = 24,
};

// What a unit is to be, and what has been done to it since it is there.
typedef struct Wish {
        bool exists, second; // content TWO
        Argosy__Target target;
        unsigned starts, restarts;
} Wish;

typedef struct World {
        Wish units[2 * UNITS]; // of the template, and of the folder
} World;

static Rig g;
static World now, before, tried; // before: the last job; tried: as it is to be after it
static unsigned seed, random_state;
static bool verbose;
static char names[2 * UNITS][NAME_SIZE];
static char *targets[2 * UNITS];
static size_t n_targets;

// ------------------------------------------------------------------------------------------ what must be so

static const VirtualUnit *held(const char *name) {
        uint32_t host = rig_host_of(&g, name);

        return host ? rig_unit_on(&g, host, name) : NULL;
}

static void assert_unit(size_t i) {
        const Argosy__UnitRecord *r = rig_record(&g, names[i]);
        const char *content = now.units[i].second ? TWO : ONE;
        Hash hash = hash_of(content, strlen(content));
        const Wish *w = &now.units[i];

        if (!!r != w->exists)
                fail_msg("seed %u: %s %s", seed, names[i], r ? "is there" : "is not there");
        if (!r)
                return;
        if (memcmp(r->spec.data, &hash, HASH_SIZE) != 0 || r->target != w->target)
                fail_msg("seed %u: %s has another content or target (%d)", seed, names[i], r->target);
        const VirtualUnit *u = held(names[i]);
        if (rig_count_running(&g, names[i]) != (w->target == LAUNCHED))
                fail_msg("seed %u: %s runs %u times", seed, names[i], rig_count_running(&g, names[i]));
        if (u && (u->starts != w->starts || u->restarts != w->restarts))
                fail_msg("seed %u: %s was started %u and restarted %u times, not %u and %u", seed, names[i],
                         u->starts, u->restarts, w->starts, w->restarts);
}

static void assert_world(void) {
        for (size_t i = 0; i < ELEMENTSOF(now.units); i++)
                assert_unit(i);
}

// What was done to each is taken from the hosts where it cannot be known: an undo, and a folder.
static void note_runs(void) {
        for (size_t i = 0; i < ELEMENTSOF(now.units); i++) {
                const VirtualUnit *u = held(names[i]);

                now.units[i].starts = u ? u->starts : 0;
                now.units[i].restarts = u ? u->restarts : 0;
        }
}

// ------------------------------------------------------------------------------------------------ asking

static void next_leader(void) {
        story("    the leader is lost\n");
        rig_depose(&g);
        rig_turns(&g, 3);
        rig_elect(&g);
}

static bool is_answered(const RigAnswer *a) {
        return a->error == 0 && a->final && !rig_last(a)->no_leader;
}

// The same of each leader, until one has answered.
static const Argosy__Response *ask(Argosy__Request *q) {
        Argosy__Request__Job *job = q->job;
        uint64_t jobs = rig_last_job(&g);
        RigAnswer *a;

        for (unsigned losses = 0;; losses++) {
                a = rig_ask(&g, q);
                if (losses < LOSSES_MAX)
                        rig_turns(&g, dice(TURNS_MAX));
                else
                        rig_settle(&g);
                if (is_answered(a))
                        break;
                assert_true(losses < LOSSES_MAX);
                job->age_ms += 10;
                next_leader();
        }
        const Argosy__Response *r = rig_last(a);
        story("    job %u: %d %s\n", (unsigned) r->job, r->status, r->message);
        rig_settle(&g);
        if (r->status != 0)
                fail_msg("seed %u: it ends with %d: %s", seed, r->status, r->message);
        if (r->job && (r->job <= jobs || rig_last_job(&g) != r->job))
                fail_msg("seed %u: it is job %u, there were %u and are %u", seed, (unsigned) r->job,
                         (unsigned) jobs, (unsigned) rig_last_job(&g));
        if (!r->job && rig_last_job(&g) != jobs)
                fail_msg("seed %u: it is a job and does not say so", seed);
        return r;
}

static Argosy__Request request_of(Argosy__Request__WhatCase what, Argosy__Request__Job *job,
                                  uint64_t id[2]) {
        Argosy__Request q = MESSAGE_OF(request, .what_case = what, .job = job);

        *job = (Argosy__Request__Job) JOB_OF(.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = 16});
        id[0] = ++g.id;
        id[1] = 99;
        return q;
}

// How it ended, from whoever leads when it has.
static void wait_for(uint64_t number, const char *verb) {
        Argosy__Request__JobWait wait = MESSAGE_OF(request__job_wait, .number = number);
        Argosy__Request q = REQUEST_OF(JOB_WAIT, job_wait, &wait);
        RigAnswer *a = rig_ask(&g, &q);

        for (unsigned i = dice(3); i > 0 && !is_answered(a); i--) {
                next_leader();
                a = rig_ask(&g, &q);
        }
        rig_settle(&g);
        rig_pass_ms(&g, 2 * RIG_BEAT_MS);
        assert_true(is_answered(a));
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(rig_last(a)->jobs->rows[0]->job, number);
        assert_string_equal(rig_last(a)->jobs->rows[0]->verb, verb);
        assert_string_equal(rig_last(a)->jobs->rows[0]->state, "done");
}

// ------------------------------------------------------------------------------------------------ changes

static bool concerns(Argosy__Verb verb, const Wish *w) {
        return verb == ARGOSY__VERB__VERB_START || w->exists;
}

static void wish(Argosy__Verb verb, Wish *w) {
        switch (verb) {
        case ARGOSY__VERB__VERB_START:
                w->starts += !w->exists || w->target != LAUNCHED;
                w->target = LAUNCHED;
                w->exists = true;
                break;
        case ARGOSY__VERB__VERB_STOP:
                w->target = LOADED;
                break;
        case ARGOSY__VERB__VERB_RESTART:
                *(w->target == LAUNCHED ? &w->restarts : &w->starts) += 1;
                w->target = LAUNCHED;
                break;
        default:
                *w = (Wish){};
        }
}

static uint64_t change(Argosy__Verb verb) {
        size_t first = dice(UNITS / 2), n = 1 + dice(UNITS - (unsigned) first);
        Argosy__Request__Job job;
        uint64_t id[2];
        Argosy__Request q = request_of(ARGOSY__REQUEST__WHAT_CHANGE, &job, id);
        Argosy__Request__Change change = MESSAGE_OF(request__change, .id = job.id, .verb = verb);

        n_targets = 0;
        tried = now;
        for (size_t i = first; i < first + n; i++)
                if (concerns(verb, &now.units[i])) {
                        wish(verb, &tried.units[i]);
                        targets[n_targets++] = names[i];
                }
        if (n_targets == 0)
                return 0;
        story("  verb %d of %zu units\n", verb, n_targets);
        change.names = targets;
        change.n_names = n_targets;
        q.change = &change;
        before = now;
        now = tried;
        return ask(&q)->job;
}

static uint64_t undo(uint64_t number) {
        Argosy__Request__Undo undo = MESSAGE_OF(request__undo, .job = number);
        Argosy__Request__Job job;
        uint64_t id[2], undone;

        story("  undo %u\n", (unsigned) number);
        Argosy__Request q = request_of(ARGOSY__REQUEST__WHAT_UNDO, &job, id);
        q.undo = &undo;
        undone = ask(&q)->job;
        tried = now;
        now = before;
        before = tried;
        note_runs();
        return undone;
}

// ------------------------------------------------------------------------------------------------ a folder

static struct {
        Hash hashes[UNITS];
        Argosy__Request__Apply__Unit units[UNITS], *unit_pointers[UNITS];
        Argosy__NamedFile files[UNITS], *file_pointers[UNITS];
} room;

static void put(Argosy__Request__Apply *m, size_t i, bool second) {
        Argosy__Request__Apply__Unit *u = room.unit_pointers[m->n_units] = &room.units[m->n_units];
        Argosy__NamedFile *file = room.file_pointers[m->n_units] = &room.files[m->n_units];
        const char *content = second ? TWO : ONE;

        argosy__request__apply__unit__init(u);
        argosy__named_file__init(file);
        room.hashes[m->n_units] = hash_of(content, strlen(content));
        u->name = file->name = file->path = names[i];
        u->spec = (ProtobufCBinaryData){HASH_SIZE, room.hashes[m->n_units].bytes};
        u->target = LAUNCHED;
        file->content = (ProtobufCBinaryData){strlen(content), (uint8_t *) content};
        m->n_units = m->n_files = m->n_units + 1;
        u->file = (uint32_t) m->n_units;
}

// Some units go, some come, some get another file.
static uint64_t apply(void) {
        Argosy__Request__Apply m = ARGOSY__REQUEST__APPLY__INIT;
        unsigned first = dice(UNITS / 2), n = 1 + dice(UNITS / 2);
        Argosy__Request__Job job;
        uint64_t id[2];
        Argosy__Request q = request_of(ARGOSY__REQUEST__WHAT_APPLY, &job, id);

        q.apply = &m;
        m.set = (char *) "shop";
        m.prune = m.force = true;
        m.units = room.unit_pointers;
        m.files = room.file_pointers;
        tried = now;
        memset(tried.units + UNITS, 0, UNITS * sizeof(Wish));
        for (size_t i = UNITS + first; i < UNITS + first + n; i++) {
                bool second = dice(3) == 0;

                put(&m, i, second);
                tried.units[i] = (Wish){.exists = true, .second = second, .target = LAUNCHED};
        }
        story("  a folder of %u units\n", n);
        m.preview = true;
        const Argosy__Response *plan = rig_last(rig_ask_and_settle(&g, &q));
        assert_int_equal(plan->status, 0);
        m.preview = false;
        n_targets = 0;
        for (size_t i = 0; i < plan->apply_plan->n_rows; i++)
                if (plan->apply_plan->rows[i]->removed)
                        targets[n_targets++] = plan->apply_plan->rows[i]->unit;
        m.gone = targets;
        m.n_gone = n_targets;
        m.revision = plan->apply_plan->revision;
        m.plan = plan->apply_plan->plan;
        before = now;
        now = tried;
        id[0]++; // another request than the one about the plan
        g.id++;
        id[0] = ask(&q)->job;
        note_runs();
        return id[0];
}

// ------------------------------------------------------------------------------------------------ lives

// Of a job that has only started or stopped what was to be so anyway nothing can be put back.
static bool can_be_undone(void) {
        for (size_t i = 0; i < ELEMENTSOF(now.units); i++) {
                const Wish *a = &now.units[i], *b = &before.units[i];

                if (a->exists != b->exists || a->second != b->second || a->target != b->target)
                        return true;
        }
        return false;
}

static void step(uint64_t *last) {
        static const struct {
                Argosy__Verb verb;
                const char *name;
        } verbs[] = {{ARGOSY__VERB__VERB_START, "start"},
                     {ARGOSY__VERB__VERB_STOP, "stop"},
                     {ARGOSY__VERB__VERB_RESTART, "restart"},
                     {ARGOSY__VERB__VERB_DESTROY, "destroy"}};
        unsigned kind = dice(10);
        const char *verb;

        if (kind >= 8 && *last && can_be_undone()) {
                *last = undo(*last);
                verb = "undo";
        } else if (kind >= 6) {
                *last = apply();
                verb = "apply";
        } else {
                size_t i = kind < 4 ? kind : 0;

                *last = change(verbs[i].verb);
                verb = verbs[i].name;
                if (verbs[i].verb == ARGOSY__VERB__VERB_RESTART && *last) {
                        assert_world();
                        wait_for(*last, verb);
                        *last = 0; // nobody can take it back
                        return;
                }
        }
        assert_world();
        if (*last)
                wait_for(*last, verb);
}

static void live(unsigned s) {
        uint64_t last = 0;

        seed = random_state = s;
        story("seed %u\n", s);
        memset(&now, 0, sizeof(now));
        rig_start(&g, 3);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "w@.service", ONE)->status, 0);
        for (unsigned i = 0; i < STEPS; i++)
                step(&last);
        rig_stop(&g);
}

static void make_names(void) {
        for (unsigned i = 0; i < UNITS; i++) {
                snprintf(names[i], NAME_SIZE, "w@%u.service", i);
                snprintf(names[UNITS + i], NAME_SIZE, "s%u.service", i);
        }
}

static void what_was_acknowledged_was_done_once(void **state) {
        make_names();
        for (unsigned s = 1; s <= LIVES; s++)
                live(s);
}

// ---------------------------------------------------------------------------------------------- who watches

static RigAnswer *watch(const char *cursor) {
        Argosy__Request__Events events =
                MESSAGE_OF(request__events, .cursor = (char *) cursor, .from_now = !*cursor);

        return rig_ask_and_settle(&g, A_REQUEST(EVENTS, events, &events));
}

// He does not wait for a leader that leads no more, and the next one tells him of what he has missed.
static void who_watches_goes_on_with_the_next_leader(void **state) {
        rig_start(&g, 3);
        RigAnswer *from = watch("");
        assert_true(is_answered(from));
        RigAnswer *waiting = watch(rig_last(from)->events->cursor);
        assert_false(waiting->final);
        rig_depose(&g);
        rig_turns(&g, 3);
        assert_true(waiting->final && rig_last(waiting)->no_leader);
        rig_elect(&g);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_START, "a.service", ONE)->status, 0);
        waiting = watch(rig_last(from)->events->cursor);
        assert_true(is_answered(waiting));
        assert_true(rig_last(waiting)->events->n_events > 0);
        rig_stop(&g);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_was_acknowledged_was_done_once),
                cmocka_unit_test(who_watches_goes_on_with_the_next_leader),
        };

        log_set_level(LOG_ERR);
        if (argc > 1) {
                verbose = true;
                make_names();
                live((unsigned) atoi(argv[1]));
                return 0;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
