// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The verbs of `role` and `pool`: set, show, delete.
//
//      words such as Weight=2, GuaranteeCPU=4, LimitResource=gpu:1 -> a request -> the leader; show
//          -> a table or JSON
//
// Settings of a role are named like unit options; an empty value unsets one. The words of argv are cut in
// place. Failures: an exit code after its message; delete goes on with the next name and returns the worst
// code.

#include <errno.h>
#include <inttypes.h>

#include "ctl-rows.h"
#include "ctl.h"
#include "message-of.h"
#include "row-json.h"
#include "str.h"
#include "table.h"
#include "unit-file.h"
#include "verbs.h"

// ---- what is set

typedef struct Settings {
        Argosy__Request__RoleChange change;
        Argosy__Amount *amounts; // what `guarantee` and `limit` point to
        Argosy__Amount **guarantee, **limit;
        size_t n_amounts;
} Settings;

static void settings_done(Settings *s) {
        free(s->amounts);
        free(s->guarantee);
        free(s->limit);
}

static int settings_init(Settings *s, char *name, size_t n_words) {
        *s = (Settings){.amounts = calloc(n_words + 1, sizeof *s->amounts),
                        .guarantee = calloc(n_words + 1, sizeof *s->guarantee),
                        .limit = calloc(n_words + 1, sizeof *s->limit)};
        s->change = (Argosy__Request__RoleChange) MESSAGE_OF(request__role_change, .name = name,
                                                             .guarantee = s->guarantee, .limit = s->limit);
        return s->amounts && s->guarantee && s->limit ? 0 : -ENOMEM;
}

// "NAME:N", or "NAME:" to unset it. Cuts the word at the colon.
static bool read_resource(char *value, Argosy__Amount *a) {
        char *colon = strrchr(value, ':');

        if (!colon || !colon[1]) {
                if (colon)
                        *colon = 0;
                a->unset = true;
        } else {
                *colon = 0;
                if (!parse_u64(colon + 1, INT32_MAX, &a->amount))
                        return false;
        }
        a->resource = value;
        return label_is_valid(value) && (a->unset || a->amount > 0);
}

// Parses a value; `what` is the rest of the key after "Guarantee" or "Limit".
static bool read_amount(const char *what, char *value, Argosy__Amount *a) {
        static char cpu[] = "cpu", memory[] = "memory";
        uint32_t n = 0;

        a->unset = !*value;
        if (streq(what, "CPU")) {
                a->resource = cpu;
                if (!a->unset && !cpu_parse(value, &n))
                        return false;
        } else if (streq(what, "Memory")) {
                a->resource = memory;
                if (!a->unset && !memory_parse(value, &n))
                        return false;
        } else
                return streq(what, "Resource") && read_resource(value, a);
        a->amount = n;
        return true;
}

static bool read_setting(Settings *s, const char *key, char *value) {
        bool guarantee = str_has_prefix(key, "Guarantee");
        Argosy__Amount *a = &s->amounts[s->n_amounts];
        uint64_t weight = 1;

        if (streq(key, "Weight")) {
                if (*value && (!parse_u64(value, 10000, &weight) || weight == 0))
                        return false;
                s->change.weight = (uint32_t) weight;
                return true;
        }
        if (!guarantee && !str_has_prefix(key, "Limit"))
                return false;
        argosy__amount__init(a);
        if (!read_amount(key + strlen(guarantee ? "Guarantee" : "Limit"), value, a))
                return false;
        s->n_amounts++;
        if (guarantee)
                s->guarantee[s->change.n_guarantee++] = a;
        else
                s->limit[s->change.n_limit++] = a;
        return true;
}

static int ask_role(Ctl *ctl, Argosy__Request__RoleChange *change) {
        Argosy__Request request = REQUEST_OF(ROLE_CHANGE, role_change, change);

        return ctl_ask(ctl, &request, 0, NULL, NULL);
}

static int read_settings(Ctl *ctl, Settings *s, char **words, size_t n) {
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *word = strdup(words[i]);
                char *equals = strchr(words[i], '=');

                if (!word)
                        return ctl_oom(ctl);
                if (equals)
                        *equals = 0;
                if (!equals || !read_setting(s, words[i], equals + 1))
                        return ctl_usage(
                                ctl,
                                "'%s' is none of Weight=1..10000, GuaranteeCPU=, GuaranteeMemory=, "
                                "GuaranteeResource=NAME:N, LimitCPU=, LimitMemory=, LimitResource=NAME:N",
                                word);
        }
        return EXIT_OK;
}

int verb_role_set(Ctl *ctl, char **args, size_t n) {
        _cleanup_(settings_done) Settings s = {};
        int code;

        if (settings_init(&s, args[0], n) < 0)
                return ctl_oom(ctl);
        code = read_settings(ctl, &s, args + 1, n - 1);
        return code == EXIT_OK ? ask_role(ctl, &s.change) : code;
}

static int delete_each(Ctl *ctl, char **names, size_t n, int (*delete_one)(Ctl *ctl, char *name)) {
        int code = EXIT_OK;

        for (size_t i = 0; i < n; i++) {
                int one = delete_one(ctl, names[i]);

                code = MAX_OF(code, one);
        }
        return code;
}

static int delete_role(Ctl *ctl, char *name) {
        Argosy__Request__RoleChange change = MESSAGE_OF(request__role_change, .name = name, .remove = true);

        return ask_role(ctl, &change);
}

int verb_role_delete(Ctl *ctl, char **args, size_t n) {
        return delete_each(ctl, args, n, delete_role);
}

// ---- what is shown

static int append_amount(Buf *out, const char *resource, uint64_t amount) {
        if (streq(resource, "cpu"))
                return buf_printf(out, "%.15g", (double) amount / 1000);
        if (streq(resource, "memory"))
                return text_append_bytes(out, amount << 20);
        return buf_printf(out, "%" PRIu64, amount);
}

typedef enum UseColumn { USE_USED, USE_GUARANTEE, USE_LIMIT } UseColumn;

static bool use_has(const Argosy__Response__RoleUse *u, UseColumn column, uint64_t *ret) {
        *ret = column == USE_USED ? u->used : column == USE_GUARANTEE ? u->guarantee : u->limit;
        return column == USE_USED ? u->used > 0 : column == USE_GUARANTEE ? u->has_guarantee : u->has_limit;
}

// "cpu=1.5 memory=2.0G"
static int add_uses(Table *table, const Argosy__Response__RoleRow *row, UseColumn column) {
        _cleanup_free_ char *text = NULL;
        _cleanup_buf_ Buf cell = {};

        for (size_t i = 0; i < row->n_uses; i++) {
                uint64_t amount;

                if (!use_has(row->uses[i], column, &amount))
                        continue;
                if (buf_printf(&cell, "%s%s=", cell.len ? " " : "", row->uses[i]->resource) < 0 ||
                    append_amount(&cell, row->uses[i]->resource, amount) < 0)
                        return -ENOMEM;
        }
        text = buf_take_string(&cell);
        return text ? table_add(table, text, COLOUR_NONE) : -ENOMEM;
}

static int add_number(Table *table, const char *format, double value) {
        _cleanup_free_ char *text = str_printf("%.*f%s", *format == '%' ? 1 : 0, value, format);

        return text ? table_add(table, text, COLOUR_NONE) : -ENOMEM;
}

static int table_role(Table *t, const Argosy__Response__RoleRow *row) {
        int r = table_add(t, row->name, COLOUR_NONE);

        r = r < 0 ? r : add_number(t, "", row->weight);
        r = r < 0 ? r : add_number(t, "%", row->share_permille / 10.0);
        r = r < 0 ? r : add_number(t, "", row->units);
        r = r < 0 ? r : add_number(t, "", row->waiting);
        r = r < 0 ? r : add_uses(t, row, USE_USED);
        r = r < 0 ? r : add_uses(t, row, USE_GUARANTEE);
        return r < 0 ? r : add_uses(t, row, USE_LIMIT);
}

static int add_joined(Table *table, char *const *words, size_t n, Argosy__Label *const *labels,
                      size_t n_labels) {
        _cleanup_free_ char *text = NULL;
        _cleanup_buf_ Buf cell = {};
        int r = 0;

        for (size_t i = 0; i < n && r >= 0; i++)
                r = buf_printf(&cell, "%s%s", cell.len ? " " : "", words[i]);
        for (size_t i = 0; i < n_labels && r >= 0; i++)
                r = buf_printf(&cell, "%s%s=%s", cell.len ? " " : "", labels[i]->key, labels[i]->value);
        text = r < 0 ? NULL : buf_take_string(&cell);
        return text ? table_add(table, text, COLOUR_NONE) : -ENOMEM;
}

static int table_pool(Table *t, const Argosy__Response__PoolRow *row) {
        int r = table_add(t, row->name, COLOUR_NONE);

        r = r < 0 ? r : add_joined(t, row->hosts, row->n_hosts, row->labels, row->n_labels);
        return r < 0 ? r : add_joined(t, row->nodes, row->n_nodes, NULL, 0);
}

static int on_rows(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        bool json = ctl->opt.json != JSON_OFF;
        CtlRows *s = userdata;
        int e = 0;

        for (size_t i = 0; r->what_case == ARGOSY__RESPONSE__WHAT_ROLES && i < r->roles->n_rows && e == 0;
             i++)
                if (json)
                        row_json(&role_row, r->roles->rows[i], &s->json);
                else
                        e = table_role(&s->table, r->roles->rows[i]);
        for (size_t i = 0; r->what_case == ARGOSY__RESPONSE__WHAT_POOLS && i < r->pools->n_rows && e == 0;
             i++)
                if (json)
                        row_json(&pool_row, r->pools->rows[i], &s->json);
                else
                        e = table_pool(&s->table, r->pools->rows[i]);
        return e;
}

int verb_role_show(Ctl *ctl, char **args, size_t n) {
        static const char *const headers[] = {"ROLE",    "WEIGHT", "SHARE",     "UNITS",
                                              "WAITING", "USED",   "GUARANTEE", "LIMIT"};
        Argosy__Request__RoleList list = MESSAGE_OF(request__role_list, .names = args, .n_names = n);
        Argosy__Request request = REQUEST_OF(ROLE_LIST, role_list, &list);

        return ctl_rows_print(ctl, &request, headers, ELEMENTSOF(headers), on_rows);
}

// ---- pools

static int ask_pool(Ctl *ctl, Argosy__Request__PoolChange *change) {
        Argosy__Request request = REQUEST_OF(POOL_CHANGE, pool_change, change);

        return ctl_ask(ctl, &request, 0, NULL, NULL);
}

int verb_pool_set(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__PoolChange change = ARGOSY__REQUEST__POOL_CHANGE__INIT;
        _cleanup_free_ Argosy__Label *labels = calloc(n, sizeof(*labels));
        _cleanup_free_ Argosy__Label **pointers = calloc(n, sizeof(*pointers));
        _cleanup_free_ char **hosts = calloc(n, sizeof(*hosts));

        if (!labels || !pointers || !hosts)
                return ctl_oom(ctl);
        for (size_t i = 1; i < n; i++) {
                char *equals = strchr(args[i], '=');
                Argosy__Label *label = &labels[change.n_labels];

                if (!equals) {
                        hosts[change.n_hosts++] = args[i];
                        continue;
                }
                *equals = 0;
                *label = (Argosy__Label) MESSAGE_OF(label, .key = args[i], .value = equals + 1);
                pointers[change.n_labels++] = label;
        }
        change.name = args[0];
        change.hosts = hosts;
        change.labels = pointers;
        return ask_pool(ctl, &change);
}

static int delete_pool(Ctl *ctl, char *name) {
        Argosy__Request__PoolChange change = MESSAGE_OF(request__pool_change, .name = name, .remove = true);

        return ask_pool(ctl, &change);
}

int verb_pool_delete(Ctl *ctl, char **args, size_t n) {
        return delete_each(ctl, args, n, delete_pool);
}

int verb_pool_show(Ctl *ctl, char **args, size_t n) {
        static const char *const headers[] = {"POOL", "MADE OF", "NODES NOW"};
        Argosy__Request__PoolList list = MESSAGE_OF(request__pool_list, .names = args, .n_names = n);
        Argosy__Request request = REQUEST_OF(POOL_LIST, pool_list, &list);

        return ctl_rows_print(ctl, &request, headers, ELEMENTSOF(headers), on_rows);
}
