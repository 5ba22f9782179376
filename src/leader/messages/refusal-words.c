// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Many nodes mostly have one reason, and a record of a job has room for a line.
//
//      refusals in any order -> for each reason, as it comes first, its nodes -> a line
//
// Failures: -ENOMEM, as NULL.

#include "refusal-words.h"

#include "buf.h"
#include "str.h"

enum {
        REASONS_MAX = 3, // that are said
        NODES_MAX = 3,   // that are named for each
};

static bool was_said(Argosy__Refusal *const *list, size_t i) {
        for (size_t k = 0; k < i; k++)
                if (streq(list[k]->reason, list[i]->reason))
                        return true;
        return false;
}

static int say_nodes(Buf *text, Argosy__Refusal *const *list, size_t n, size_t first) {
        size_t named = 0;
        int r = 0;

        for (size_t i = first; i < n && r == 0; i++) {
                if (!streq(list[i]->reason, list[first]->reason))
                        continue;
                if (named++ < NODES_MAX)
                        r = buf_printf(text, "%s%s", named > 1 ? ", " : "", list[i]->node);
        }
        return r == 0 && named > NODES_MAX ? buf_printf(text, " and %zu more", named - NODES_MAX) : r;
}

char *refusal_words(Argosy__Refusal *const *list, size_t n) {
        Buf text = {};
        size_t reasons = 0;
        int r = 0;

        for (size_t i = 0; i < n && r == 0 && reasons <= REASONS_MAX; i++) {
                if (was_said(list, i) || ++reasons > REASONS_MAX)
                        continue;
                r = reasons > 1 ? buf_printf(&text, "; ") : 0;
                r = r ?: say_nodes(&text, list, n, i);
                r = r ?: buf_printf(&text, ": %s", list[i]->reason);
        }
        if (r == 0 && reasons > REASONS_MAX)
                r = buf_printf(&text, "; and more");
        if (r < 0)
                buf_done(&text);
        return r < 0 ? NULL : buf_take_string(&text);
}
