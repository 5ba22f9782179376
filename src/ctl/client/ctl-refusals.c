// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Prints why nodes do not take a unit, one line per node, REFUSALS_SHOWN of them unless --full.
// ctl_refusals() per unit -> the same reasons as for the unit before are "each node as above", so a hundred
// alike units print them once. Without memory the rest of the lines is left out.

#include "ctl.h"
#include "json.h"

enum { REFUSALS_SHOWN = 10 };

// Whether these refusals are those printed last, which the next call compares with.
static bool refusals_again(Ctl *ctl, Argosy__Refusal *const *refusals, size_t n) {
        _cleanup_buf_ Buf text = {};
        bool again;

        for (size_t i = 0; i < n; i++)
                if (buf_append(&text, refusals[i]->node, strlen(refusals[i]->node) + 1) < 0 ||
                    buf_append(&text, refusals[i]->reason, strlen(refusals[i]->reason) + 1) < 0)
                        return false;
        again = text.len > 0 && text.len == ctl->refused.len &&
                memcmp(text.data, ctl->refused.data, text.len) == 0;
        buf_done(&ctl->refused);
        ctl->refused = text;
        text = (Buf){};
        return again;
}

void ctl_refusals(Ctl *ctl, FILE *f, Argosy__Refusal *const *refusals, size_t n) {
        size_t show = ctl->opt.given[OPT_FULL] ? n : MIN_OF(n, (size_t) REFUSALS_SHOWN);

        if (refusals_again(ctl, refusals, n) && n > 1) {
                fputs("  each node as above\n", f);
                return;
        }
        for (size_t i = 0; i < show; i++) {
                _cleanup_buf_ Buf clean = {}, lines = {};
                _cleanup_free_ char *line = NULL;

                if (text_append_clean(&clean, refusals[i]->node, false) < 0 ||
                    buf_append(&clean, ": ", 2) < 0 ||
                    text_append_clean(&clean, refusals[i]->reason, false) < 0 ||
                    !(line = buf_take_string(&clean)) ||
                    buf_append_wrapped(&lines, line, 2, 2 * MESSAGE_INDENT,
                                       f == ctl->term.err ? ctl->term.err_width : ctl->term.style.width) < 0)
                        return;
                fprintf(f, "  %.*s\n", (int) lines.len, (const char *) lines.data);
        }
        if (show < n)
                fprintf(f, "  and %zu more nodes\n", n - show);
}
