// SPDX-License-Identifier: LGPL-2.1-or-later
//
// journal: the log of a unit, read on its node and printed as it comes. Of several nodes one is to be named.
// Who follows it is connected again when the leader or the node was away; lines that came meanwhile may be
// missing, which is said.

#include <errno.h>

#include "ctl.h"
#include "message-of.h"
#include "terminal.h"
#include "verbs.h"
#include "wait-loop.h"

// Lines come from the node's journal as they are; a terminal gets them without anything that it would obey.
static int print_lines(Ctl *ctl, const Argosy__Response__Journal *j) {
        for (size_t i = 0; i < j->n_lines; i++) {
                _cleanup_buf_ Buf clean = {};

                if (!ctl->term.out_tty)
                        fputs(j->lines[i], ctl->term.out);
                else if (text_append_clean(&clean, j->lines[i], true) < 0)
                        return -ENOMEM;
                else
                        fwrite(clean.data, 1, clean.len, ctl->term.out);
                fputc('\n', ctl->term.out);
        }
        return fflush(ctl->term.out) == 0 ? 0 : -ECANCELED; // at once: somebody may be watching
}

typedef struct Reader {
        bool began;  // lines have come, now or on an earlier connection
        bool any;    // lines have come on this one
        bool cut;    // the leader, or the node, went away while lines were coming
        bool failed; // something else, and it was said what
} Reader;

static int on_journal(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Reader *reader = userdata;

        if (r->final && reader->began && ctl->opt.given[OPT_FOLLOW] &&
            (r->status == ECONNRESET || r->status == EHOSTUNREACH)) {
                reader->cut = true;
                return 0;
        }
        if (r->status != 0) { // one of several nodes, or all
                ctl_fail(ctl, "%s", status_text(r->status, r->message));
                reader->failed = true;
                return 0;
        }
        if (r->what_case != ARGOSY__RESPONSE__WHAT_JOURNAL)
                return 0;
        if (!ctl->opt.given[OPT_FOLLOW])
                pager_open(&ctl->term);
        reader->began = reader->any = true;
        return print_lines(ctl, r->journal);
}

// Lines that were written while nobody listened are not printed.
static int follow_ask(Ctl *ctl, Argosy__Request *request, void *userdata) {
        Reader *reader = userdata;

        if (reader->began)
                request->journal->lines = 0;
        reader->any = reader->cut = false;
        return 0;
}

static int follow_take(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        const Reader *reader = userdata;
        int e = on_journal(ctl, r, userdata);

        return e < 0 ? e : reader->any ? WAIT_NEWS : 0;
}

static WaitStep follow_judge(Ctl *ctl, const WaitEnd *end, void *userdata) {
        const Reader *reader = userdata;

        if (end->error == -ECANCELED || (end->error == 0 && !reader->cut))
                return WAIT_FINISHED;
        if (end->error < 0 && !end->lost)
                return WAIT_GIVE_UP;
        if (reader->any)
                ctl_warn(ctl, "the connection to the unit's node was lost; lines may be missing here");
        return WAIT_REDIAL;
}

static int follow_leave(Ctl *ctl, const WaitEnd *end, void *userdata) {
        return ctl_fail(ctl, "%s",
                        end->error < 0 ? ctl->client.why : "the unit is on no node that can be reached");
}

// Goes on over restarts of argosyd, changes of the leader and moves of the unit.
static const WaitKind follow_wait = {
        .silent = true,
        .ask = follow_ask,
        .take = follow_take,
        .judge = follow_judge,
        .leave = follow_leave,
};

int verb_journal(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__Journal journal = ARGOSY__REQUEST__JOURNAL__INIT;
        Argosy__Request request = REQUEST_OF(JOURNAL, journal, &journal);
        _cleanup_strv_ char **names = NULL;
        Reader reader = {};
        size_t n_names;
        int code;

        code = ctl_names(ctl, args, n, NAMES_NO_TEMPLATES, &names, &n_names);
        if (code != EXIT_OK)
                return code;
        if (n_names != 1) {
                return ctl_usage(ctl, "journal takes one unit, not %zu", n_names);
        }
        journal.name = names[0];
        journal.lines = ctl->opt.lines;
        journal.follow = ctl->opt.given[OPT_FOLLOW];
        journal.node = (char *) (ctl->opt.node ?: "");
        code = journal.follow ? wait_loop_run(ctl, &follow_wait, &request, &reader)
                              : ctl_ask(ctl, &request, CALL_STATUS, on_journal, &reader);
        return code ?: reader.failed ? EXIT_FAILED : EXIT_OK;
}
