// SPDX-License-Identifier: LGPL-2.1-or-later
//
// rebalance: what would be better off on another node is moved there, a few units at a time.
//
// One request, answered as moves come to their end. Nothing of it is in the log: when the leader changes,
// the same request goes to the next one, less what was moved already. One that is held back is a job of
// which the cluster takes care, and is waited for as such (ctl-main.c).

#include <errno.h>

#include "ctl-jobs.h"
#include "ctl.h"
#include "json.h"
#include "message-of.h"
#include "random.h"
#include "str.h"
#include "table.h"
#include "terminal.h"
#include "verbs.h"
#include "wait-loop.h"

enum { HEALTH_DEFAULT_US = 2000000 }; // as of a rollout

typedef struct Rebalance {
        Json json;
        Table table; // of a preview
        uint32_t n_moved, n_failed, left;
        bool begun, more;
} Rebalance;

typedef Argosy__Response__Rebalance__Move Row;

static void json_move(Json *j, const Row *m) {
        const char *const pairs[][2] = {
                {"unit", m->unit}, {"from", m->from}, {"to", m->to}, {"why", m->why}, {"error", m->error}};

        json_begin(j, '{');
        json_strings(j, pairs, ELEMENTSOF(pairs));
        json_end(j, '}');
}

static int print_move(Ctl *ctl, const Row *m) {
        _cleanup_buf_ Buf line = {};

        if (text_append_clean(&line, m->unit, false) < 0 || buf_printf(&line, ": ") < 0 ||
            text_append_clean(&line, m->from, false) < 0 || buf_printf(&line, " -> ") < 0 ||
            text_append_clean(&line, m->to, false) < 0 || buf_printf(&line, " (") < 0 ||
            text_append_clean(&line, *m->error ? m->error : m->why, false) < 0 || buf_printf(&line, ")") < 0)
                return -ENOMEM;
        fprintf(ctl->term.out, "%.*s\n", (int) line.len, (const char *) line.data);
        return 0;
}

static int add_row(Table *t, const Row *m) {
        const char *const cells[] = {m->unit, m->from, m->to, m->why};
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(cells) && r >= 0; i++)
                r = table_add(t, cells[i], COLOUR_NONE);
        return r;
}

static int take_moves(Ctl *ctl, Rebalance *o, const Argosy__Response__Rebalance *r) {
        bool dry = ctl->opt.given[OPT_DRY_RUN];
        int error = 0;

        o->begun = true;
        o->left = r->remaining;
        o->more = r->more;
        if (r->n_moves > 0)
                progress_clear(&ctl->term);
        for (size_t i = 0; i < r->n_moves && error >= 0; i++) {
                const Row *m = r->moves[i];

                o->n_moved++;
                o->n_failed += *m->error != 0;
                if (ctl->opt.json != JSON_OFF)
                        json_move(&o->json, m);
                else if (dry)
                        error = add_row(&o->table, m);
                else if (!ctl->opt.given[OPT_QUIET])
                        error = print_move(ctl, m);
        }
        return error;
}

// What a leader before this one moved counts against the limit; and it has changed what that one has found
// unchanged.
static int rebalance_ask(Ctl *ctl, Argosy__Request *request, void *userdata) {
        const Rebalance *o = userdata;

        if (o->begun && request->job)
                request->job->if_revision = 0;
        if (!ctl->opt.given[OPT_MAX_MOVES])
                return 0;
        if (o->n_moved >= ctl->opt.max_moves)
                return WAIT_ENOUGH;
        request->rebalance->max_moves = ctl->opt.max_moves - o->n_moved;
        return 0;
}

static int rebalance_take(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Rebalance *o = userdata;
        bool moved = false;
        int error;

        if (r->held && ctl->opt.json != JSON_OFF)
                ctl_job_json_held(&o->json, r);
        if (r->what_case == ARGOSY__RESPONSE__WHAT_REBALANCE) {
                error = take_moves(ctl, o, r->rebalance);
                if (error < 0)
                        return error;
                moved = r->rebalance->n_moves > 0;
        }
        if (o->begun && ctl->opt.given[OPT_NO_BLOCK])
                return -ECANCELED;
        return moved ? WAIT_NEWS : 0;
}

static void rebalance_count(const void *userdata, ProgressState *ret) {
        const Rebalance *o = userdata;

        *ret = (ProgressState){.verb = "rebalance",
                               .done = o->n_moved,
                               .failed = o->n_failed,
                               .total = o->n_moved + o->left};
}

static WaitStep rebalance_judge(Ctl *ctl, const WaitEnd *end, void *userdata) {
        if (end->error == -ECANCELED || (end->error == 0 && end->status == 0)) // --no-block, or all is done
                return WAIT_FINISHED;
        return wait_end_step(end);
}

static int rebalance_detach(const WaitEnd *end, const void *userdata, Buf *text) {
        return buf_printf(text, "the rebalance %s (argosyctl rebalance --abort ends it)",
                          wait_end_is_open(end) ? "goes on as long as this leader leads"
                                                : "may go on, or have ended");
}

static int rebalance_leave(Ctl *ctl, const WaitEnd *end, void *userdata) {
        return ctl_fail(ctl, "%s%s", wait_loop_reason(ctl, end),
                        end->error == 0         ? ""
                        : wait_end_is_open(end) ? "; what was begun goes on"
                                                : "; what was begun may go on, or have ended");
}

static const WaitKind rebalance_wait = {
        .ask = rebalance_ask,
        .take = rebalance_take,
        .count = rebalance_count,
        .judge = rebalance_judge,
        .detach = rebalance_detach,
        .leave = rebalance_leave,
};

static void print_end(Ctl *ctl, const Rebalance *o, int code) {
        bool dry = ctl->opt.given[OPT_DRY_RUN];

        if (ctl->opt.given[OPT_QUIET] || code != EXIT_OK || ctl->opt.given[OPT_NO_BLOCK] ||
            ctl->opt.given[OPT_ABORT] || ctl->n_held > 0)
                return;
        if (o->n_moved == 0)
                fprintf(ctl->term.out, "nothing %s better off elsewhere\n", dry ? "would be" : "is");
        else if (o->more && !dry)
                ctl_warn(ctl, "the limit of moves is reached; there may be more to move");
}

static int print_table(Ctl *ctl, const Rebalance *o) {
        return table_rows(&o->table) == 0 ? EXIT_OK : ctl_print_table(ctl, &o->table);
}

static int run(Ctl *ctl, Argosy__Request *request, Rebalance *o) {
        bool json = ctl->opt.json != JSON_OFF;
        int code;

        if (json)
                json_begin(&o->json, '[');
        code = wait_loop_run(ctl, &rebalance_wait, request, o);
        if (json) {
                json_end(&o->json, ']');
                json_finish(&o->json);
                return code;
        }
        print_end(ctl, o, code);
        return code ?: print_table(ctl, o);
}

int verb_rebalance(Ctl *ctl, char **args, size_t n) {
        static const char *const headers[] = {"UNIT", "FROM", "TO", "WHY"};
        Argosy__Request__Rebalance m = ARGOSY__REQUEST__REBALANCE__INIT;
        Argosy__Request request = REQUEST_OF(REBALANCE, rebalance, &m);
        Rebalance o = {.json = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY}};
        _cleanup_strv_ char **patterns = NULL;
        uint8_t id[16];
        CtlJob job;
        int code;

        random_bytes(id, sizeof(id));
        code = ctl_patterns(ctl, args, n, &patterns, &m.n_patterns);
        if (code != EXIT_OK)
                return code;
        m.id = (ProtobufCBinaryData){.data = id, .len = sizeof(id)};
        m.patterns = patterns;
        m.health_us = ctl->opt.given[OPT_HEALTH] ? ctl->opt.health_us : HEALTH_DEFAULT_US;
        m.preview = ctl->opt.given[OPT_DRY_RUN];
        m.abort = ctl->opt.given[OPT_ABORT];
        ctl_job_attach(ctl, &job, &request);
        if (!m.preview && !m.abort)
                ctl_catch_interrupt(ctl);
        for (size_t i = 0; i < ELEMENTSOF(headers); i++)
                table_add_column(&o.table, headers[i], i == 0, false);
        code = run(ctl, &request, &o);
        table_done(&o.table);
        return code;
}
