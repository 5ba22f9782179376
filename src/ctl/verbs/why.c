// SPDX-License-Identifier: LGPL-2.1-or-later
//
// why: what keeps units from being as their owner wants them, and which nodes refuse them.
//
//      names -> a request -> responses are kept until the final one
//          -> a sentence and refusals per unit, or JSON
//
// Responses are kept because another leader begins the list anew. The exit code is that of the first unit
// that is not as wanted. Failures: an exit code after its message.

#include <errno.h>

#include "array.h"
#include "ctl.h"
#include "json.h"
#include "message-of.h"
#include "message.h"
#include "row-json.h"
#include "str.h"
#include "terminal.h"
#include "verbs.h"

typedef struct Why {
        Json json;
        int code; // of the first unit that is not as wanted
        Argosy__Response **kept; // responses so far, in order
        size_t n_kept;
} Why;

static void drop(Why *w, size_t n) {
        for (size_t i = 0; i < n; i++)
                message_free(w->kept[i]);
        w->n_kept -= n;
        if (w->n_kept > 0)
                memmove(w->kept, w->kept + n, w->n_kept * sizeof(*w->kept));
}

// Another leader has begun the list anew: drops the former one's responses.
static void begin_anew(Why *w) {
        size_t n = w->n_kept;

        while (n > 0 && w->kept[n - 1]->what_case != ARGOSY__RESPONSE__WHAT_STATUS_REPLY)
                n--;
        drop(w, n);
}

static int keep(Why *w, const Argosy__Response *r) {
        if (r->what_case == ARGOSY__RESPONSE__WHAT_STATUS_REPLY && r->status_reply->number == 1)
                begin_anew(w);
        if (ARRAY_RESERVE(w->kept, w->n_kept + 1) < 0)
                return -ENOMEM;
        w->kept[w->n_kept] = message_copy(r);
        if (!w->kept[w->n_kept])
                return -ENOMEM;
        w->n_kept++;
        return 0;
}

static int print_why(Ctl *ctl, const Argosy__Response__Status *s) {
        _cleanup_buf_ Buf line = {}, lines = {};
        _cleanup_free_ char *text = NULL;

        if (text_append_clean(&line, s->row->unit, false) < 0 ||
            (!streq(s->row->node, "-") &&
             (buf_printf(&line, " on ") < 0 || text_append_clean(&line, s->row->node, false) < 0)) ||
            buf_printf(&line, ": ") < 0 ||
            text_append_clean(&line,
                              *s->why    ? s->why
                              : *s->note ? s->note
                                         : "all is as wanted",
                              false) < 0 ||
            !(text = buf_take_string(&line)) ||
            buf_append_wrapped(&lines, text, 0, MESSAGE_INDENT, ctl->term.style.width) < 0)
                return -ENOMEM;
        fprintf(ctl->term.out, "%.*s\n", (int) lines.len, (const char *) lines.data);
        ctl_refusals(ctl, ctl->term.out, s->refusals, s->n_refusals);
        return 0;
}

static int show(Ctl *ctl, Why *w, const Argosy__Response *r) {
        if (r->status != 0) {
                ctl_fail(ctl, "%s", status_text(r->status, r->message));
                w->code = w->code ?: r->status == ENOENT ? EXIT_UNKNOWN : EXIT_FAILED;
                return 0;
        }
        if (r->what_case != ARGOSY__RESPONSE__WHAT_STATUS_REPLY || !r->status_reply->row)
                return 0;
        if (*r->status_reply->why)
                w->code = w->code ?: EXIT_INACTIVE;
        if (ctl->opt.json == JSON_OFF)
                return print_why(ctl, r->status_reply);
        why_json(r->status_reply, &w->json);
        return 0;
}

static int on_why(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Why *w = userdata;
        int e = keep(w, r);

        for (size_t i = 0; e == 0 && r->final && i < w->n_kept; i++)
                e = show(ctl, w, w->kept[i]);
        return e;
}

int verb_why(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__Why why = ARGOSY__REQUEST__WHY__INIT;
        Argosy__Request request = REQUEST_OF(WHY, why, &why);
        Why w = {.json = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY}};
        _cleanup_strv_ char **names = NULL;
        int code;

        code = ctl_names(ctl, args, n, NAMES_NO_TEMPLATES, &names, &why.n_names);
        if (code != EXIT_OK)
                return code;
        why.names = names;
        if (ctl->opt.json == JSON_OFF)
                pager_open(&ctl->term);
        code = ctl_ask_for_list(ctl, &w.json, &request, CALL_STATUS | CALL_PARTS, on_why, &w);
        drop(&w, w.n_kept);
        free(w.kept);
        return code ?: w.code;
}
