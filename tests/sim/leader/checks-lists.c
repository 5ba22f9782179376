// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of lists as they are asked for in a story, whatever happens while they are made: each row is one
// that was asked for, none comes twice, and rows stand in their order.
#include <fnmatch.h>
#include <string.h>

#include "checks-private.h"
#include "leader-private.h"
#include "macro.h"
#include "str.h"
#include "test.h"

// What a list of units, or of unit files, asks for.
typedef struct Asked {
        char *const *patterns;
        size_t n_patterns;
        const Argosy__ListFilter *filter; // NULL: none
} Asked;

static bool is_one_of(const char *word, char *const *words, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (streq(words[i], word))
                        return true;
        return n == 0;
}

static bool is_named(const Asked *q, const char *unit) {
        for (size_t i = 0; i < q->n_patterns; i++)
                if (streq(q->patterns[i], unit) || fnmatch(q->patterns[i], unit, 0) == 0)
                        return true;
        return q->n_patterns == 0;
}

static bool is_behind(const Argosy__ListFilter *f, const char *unit, const char *node) {
        int order = strcmp(unit, f->after);

        return !*f->after || order > 0 || (order == 0 && *f->after_node && strcmp(node, f->after_node) > 0);
}

static void row_is_asked_for(const Asked *q, const char *unit, const char *node,
                             const char *const states[3]) {
        const Argosy__ListFilter *f = q->filter;
        bool has_state = false;

        if (!is_named(q, unit))
                check_fail("rows-are-asked-for", "%s is listed, and nobody asked for it", unit);
        if (!f)
                return;
        if (!is_one_of(node, f->nodes, f->n_nodes))
                check_fail("rows-are-asked-for", "%s is listed on '%s', and nobody asked for that node",
                           unit, node);
        if (!is_behind(f, unit, node))
                check_fail("rows-are-asked-for", "%s on '%s' is listed behind %s on '%s'", unit, node,
                           f->after, f->after_node);
        for (size_t i = 0; i < 3; i++)
                has_state |= is_one_of(states[i], f->states, f->n_states);
        if (!has_state)
                check_fail("rows-are-asked-for", "%s is listed as %s %s %s, and nobody asked for that", unit,
                           states[0], states[1], states[2]);
}

// Of a part those that came before are known by their number.
static void rows_are_in_order(const char *unit, const char *node, const char *next, const char *next_node) {
        int order = strcmp(unit, next);

        if (order > 0 || (order == 0 && strcmp(node, next_node) >= 0))
                check_fail("rows-are-asked-for", "%s on '%s' is listed before %s on '%s'", unit, node, next,
                           next_node);
}

static void are_few(const Asked *q, size_t n) {
        if (q->filter && q->filter->limit > 0 && n > q->filter->limit)
                check_fail("rows-are-asked-for", "there are %zu rows, of %u", n, q->filter->limit);
        if (n > 0 && (q->filter || q->n_patterns > 0))
                check_says("rows-are-asked-for");
}

static void units_are_asked_for(const Argosy__Request__ListUnits *m, const Argosy__Response__Units *units) {
        Asked q = {m->patterns, m->n_patterns, m->filter};

        for (size_t i = 0; i < units->n_rows; i++) {
                const Argosy__Response__UnitRow *r = units->rows[i];

                row_is_asked_for(&q, r->unit, r->node, (const char *const[]){r->load, r->active, r->sub});
                if (i > 0)
                        rows_are_in_order(units->rows[i - 1]->unit, units->rows[i - 1]->node, r->unit,
                                          r->node);
        }
        are_few(&q, units->n_rows);
}

static void files_are_asked_for(const Argosy__Request__ListUnitFiles *m,
                                const Argosy__Response__UnitFiles *files) {
        Asked q = {m->patterns, m->n_patterns, m->filter};

        for (size_t i = 0; i < files->n_rows; i++) {
                const Argosy__Response__UnitFileRow *r = files->rows[i];

                row_is_asked_for(&q, r->unit, r->node,
                                 (const char *const[]){r->desired, r->state, r->state});
                if (i > 0)
                        rows_are_in_order(files->rows[i - 1]->unit, "", r->unit, "a");
        }
        are_few(&q, files->n_rows);
}

static const char *word_of(Argosy__JobState state) {
        static const char *const words[] = {"",          "running",   "done", "failed",
                                            "overtaken", "cancelled", "held"};

        return state < ELEMENTSOF(words) ? words[state] : "";
}

static bool has_state(const Argosy__Request__ListJobs *m, const char *state) {
        for (size_t i = 0; i < m->n_states; i++)
                if (streq(word_of(m->states[i]), state))
                        return true;
        return m->n_states == 0;
}

static void jobs_are_asked_for(const Argosy__Request__ListJobs *m, const Argosy__Response__Jobs *jobs) {
        for (size_t i = 0; i < jobs->n_rows; i++) {
                const Argosy__Response__JobRow *r = jobs->rows[i];

                if (m->number > 0 ? r->job != m->number
                                  : m->before > 0 && m->late_after == 0 && r->job >= m->before)
                        check_fail("rows-are-asked-for", "job %llu is listed, and nobody asked for it",
                                   (unsigned long long) r->job);
                if (m->number == 0 && *r->verb && !has_state(m, r->state))
                        check_fail("rows-are-asked-for",
                                   "job %llu is listed as %s, and nobody asked for these",
                                   (unsigned long long) r->job, r->state);
        }
}

// Of each unit the list has what the log says of it when it is given, or said before the last entry.
static bool is_as_logged(const Argosy__Response__UnitFileRow *row, const LogUnit *u) {
        static const char *const words[] = {"inactive", "loaded", "launched"};
        char hex[HASH_HEX_SIZE];

        hash_hex(&u->spec, HASH_SIZE, hex);
        return u->exists && row->global == u->global && (unsigned) u->target < 3 &&
               strcmp(row->desired, words[u->target]) == 0 && strncmp(row->rev, hex, strlen(row->rev)) == 0;
}

static void files_are_as_logged(const Argosy__Response__UnitFiles *files) {
        enum { TURNS = 100 };

        if (!world.rig.led || world.rig.leader->limits.listing_turns < TURNS)
                return;
        for (size_t i = 0; i < files->n_rows; i++) {
                int unit = world_unit_index(files->rows[i]->unit);

                if (unit < 0 || !*files->rows[i]->rev)
                        continue;
                check_says("rows-are-asked-for");
                if (!is_as_logged(files->rows[i], &log_truth.units[unit]) &&
                    !is_as_logged(files->rows[i], &log_truth.units_before[unit]))
                        check_fail("rows-are-asked-for",
                                   "%s is listed as %s %.12s, and the log says otherwise",
                                   files->rows[i]->unit, files->rows[i]->desired, files->rows[i]->rev);
        }
}

void asked_for_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        if (r->status != 0)
                return;
        if (r->what_case == ARGOSY__RESPONSE__WHAT_UNITS &&
            a->request->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS)
                units_are_asked_for(a->request->list_units, r->units);
        else if (r->what_case == ARGOSY__RESPONSE__WHAT_UNIT_FILES &&
                 a->request->what_case == ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES) {
                files_are_asked_for(a->request->list_unit_files, r->unit_files);
                files_are_as_logged(r->unit_files);
        } else if (r->what_case == ARGOSY__RESPONSE__WHAT_JOBS &&
                 a->request->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS)
                jobs_are_asked_for(a->request->list_jobs, r->jobs);
}
