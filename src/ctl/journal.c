// SPDX-License-Identifier: LGPL-2.1-or-later
//
// journal and cat.

#include <errno.h>

#include "ctl.h"
#include "terminal.h"

// Lines come from the node's journal as they are; a terminal gets them without anything that it would obey.
static int print_lines(Ctl *ctl, const Argosy__Response__Journal *j) {
        for (size_t i = 0; i < j->n_lines; i++) {
                _cleanup_buf_ Buf clean = {};

                if (!ctl->out_tty)
                        fputs(j->lines[i], ctl->out);
                else if (text_append_clean(&clean, j->lines[i], true) < 0)
                        return -ENOMEM;
                else
                        fwrite(clean.data, 1, clean.len, ctl->out);
                fputc('\n', ctl->out);
        }
        return fflush(ctl->out) == 0 ? 0 : -EPIPE; // a follower is read line by line
}

static int on_journal(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        int *left = userdata, e;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_JOURNAL)
                return 0;
        if (!(ctl->opt.given & OPT_FOLLOW))
                pager_open(ctl);
        e = print_lines(ctl, r->journal);
        if (e < 0)
                *left = 1;
        return e;
}

int verb_journal(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__Journal journal = ARGOSY__REQUEST__JOURNAL__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        _cleanup_strv_ char **names = NULL;
        size_t n_names;
        int code, left = 0;

        code = ctl_names(ctl, args, n, NAMES_NO_TEMPLATES, &names, &n_names);
        if (code != EXIT_OK)
                return code;
        if (n_names != 1) {
                ctl_fail(ctl, "journal takes one unit, not %zu", n_names);
                return EXIT_USAGE;
        }
        journal.name = names[0];
        journal.lines = ctl->opt.lines;
        journal.follow = ctl->opt.given & OPT_FOLLOW;
        journal.node = (char *) (ctl->opt.node ?: "");
        request.what_case = ARGOSY__REQUEST__WHAT_JOURNAL;
        request.journal = &journal;
        code = ctl_ask(ctl, &request, journal.follow ? CALL_PATIENT : 0, on_journal, &left);
        return left ? EXIT_OK : code; // whoever reads us has seen enough
}

// ---------------------------------------------------------------------------------------------------- cat

typedef struct Cat {
        bool failed;
} Cat;

static int on_cat(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Cat *c = userdata;

        if (r->status != 0) {
                ctl_fail(ctl, "%s", status_text(r->status, r->message));
                c->failed = true;
                return 0;
        }
        if (r->what_case != ARGOSY__RESPONSE__WHAT_CAT)
                return 0;
        pager_open(ctl);
        fwrite(r->cat->content.data, 1, r->cat->content.len, ctl->out);
        return 0;
}

int verb_cat(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__Cat cat = ARGOSY__REQUEST__CAT__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        _cleanup_strv_ char **names = NULL;
        Cat c = {};
        int code;

        code = ctl_names(ctl, args, n, 0, &names, &cat.n_names);
        if (code != EXIT_OK)
                return code;
        cat.names = names;
        request.what_case = ARGOSY__REQUEST__WHAT_CAT;
        request.cat = &cat;
        code = ctl_ask(ctl, &request, CALL_STATUS, on_cat, &c);
        return code ?: c.failed ? EXIT_FAILED : EXIT_OK;
}
