// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Prints a list that the leader answers in several responses: a table when all rows have come, or JSON row
// by row. ctl_rows_print(): request -> f() adds each response's rows -> the table. Failures: an exit code
// after its message; of a question that failed no table is printed.

#include "ctl-rows.h"

#include "text.h"

int ctl_rows_add_time(Table *t, uint64_t at_us) {
        _cleanup_buf_ Buf text = {};
        int r = at_us > 0 ? text_append_time(&text, at_us) : 0;

        r = r < 0 ? r : buf_append(&text, "", 1);
        return r < 0 ? r : table_add(t, (const char *) text.data, COLOUR_NONE);
}

int ctl_rows_print(Ctl *ctl, Argosy__Request *request, const char *const *headers, size_t n, ResponseFn f) {
        CtlRows rows = {.json = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY}};
        int code;

        if (ctl->opt.json != JSON_OFF)
                return ctl_ask_for_list(ctl, &rows.json, request, 0, f, &rows);
        for (size_t i = 0; i < n; i++)
                table_add_column(&rows.table, headers[i], false, false);
        code = ctl_ask(ctl, request, 0, f, &rows);
        if (code == EXIT_OK)
                code = ctl_print_table(ctl, &rows.table);
        table_done(&rows.table);
        return code;
}
