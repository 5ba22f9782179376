// SPDX-License-Identifier: LGPL-2.1-or-later
//
// counters: what this host's argosyd has counted. Needs no leader.

#include <inttypes.h>

#include "ctl.h"
#include "json.h"
#include "table.h"
#include "verbs.h"

typedef struct Counters {
        Table table;
        Json json;
} Counters;

static int add_counter(Ctl *ctl, Counters *c, const Argosy__Response__Counter *row) {
        char value[32];
        int r;

        if (ctl->opt.json != JSON_OFF) {
                json_key(&c->json, row->name);
                json_u64(&c->json, row->value);
                return 0;
        }
        snprintf(value, sizeof(value), "%" PRIu64, row->value);
        r = table_add(&c->table, row->name, COLOUR_NONE);
        if (r == 0)
                r = table_add(&c->table, value, COLOUR_NONE);
        return r < 0 ? r : table_add(&c->table, row->help, COLOUR_NONE);
}

static int on_counters(Ctl *ctl, const Argosy__Response *response, void *userdata) {
        int r = 0;

        if (response->what_case != ARGOSY__RESPONSE__WHAT_COUNTERS)
                return 0;
        for (size_t i = 0; i < response->counters->n_rows && r == 0; i++)
                r = add_counter(ctl, userdata, response->counters->rows[i]);
        return r;
}

static int ask(Ctl *ctl, Counters *c) {
        Argosy__Request__Counters counters = ARGOSY__REQUEST__COUNTERS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        request.what_case = ARGOSY__REQUEST__WHAT_COUNTERS;
        request.counters = &counters;
        ctl->warned_stale = true; // they have nothing to do with a leader
        return ctl_ask(ctl, &request, 0, on_counters, c);
}

int verb_counters(Ctl *ctl, char **args, size_t n) {
        Counters c = {.json = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY}};
        int code;

        if (ctl->opt.json != JSON_OFF) {
                json_begin(&c.json, '{');
                code = ask(ctl, &c);
                json_end(&c.json, '}');
                json_finish(&c.json);
                return code;
        }
        table_add_column(&c.table, "COUNTER", false, false);
        table_add_column(&c.table, "VALUE", false, false);
        table_add_column(&c.table, "WHAT", true, false);
        code = ask(ctl, &c);
        if (code == EXIT_OK)
                code = ctl_print_table(ctl, &c.table);
        table_done(&c.table);
        return code;
}
