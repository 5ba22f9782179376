// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Options as written (RawOption, with their lines) become what they mean for one name: specifiers are filled
// in, words are checked, label demands are grouped by key and everything is sorted. So two units that demand
// the same have the same `key`, by which the scheduler shares what it works out.
//
// A word that is not valid refuses the file with its line (-EINVAL); for a template's own name those are let
// pass that only an instance fills in.

#include "unit-options-private.h"

#include <errno.h>

#include "array.h"
#include "buf.h"
#include "manager-name.h"
#include "specifier.h"
#include "str.h"

enum { MACHINE_ID_DIGITS = 32 };

typedef struct Pair {
        char *key, *value;
} Pair;

// Options while they are being evaluated.
typedef struct Evaluation {
        char *machine_id;
        Pair *pairs;
        size_t n_pairs;
        char **managers; // NULL-terminated
        size_t n_managers;
        UnitOptions *options; // what is only added to
} Evaluation;

static void evaluation_done(Evaluation *e) {
        free(e->machine_id);
        for (size_t i = 0; i < e->n_pairs; i++) {
                free(e->pairs[i].key);
                free(e->pairs[i].value);
        }
        free(e->pairs);
        for (size_t i = 0; i < e->n_managers; i++)
                free(e->managers[i]);
        free(e->managers);
        unit_options_unref(e->options);
}

static int add_machine_id(Evaluation *e, const RawOption *raw, const char *path, const char *word,
                          char **ret_why) {
        uint8_t id[MACHINE_ID_DIGITS / 2];
        char hex[MACHINE_ID_DIGITS + 1];

        if (!hex_decode(word, id, sizeof id))
                return option_refuse(ret_why, path, raw->line,
                                     "MachineID=%s is not a machine id (32 hexadecimal digits)", word);
        hex_encode(id, sizeof id, hex); // lower case
        if (!e->machine_id) {
                e->machine_id = strdup(hex);
                return e->machine_id ? 0 : -ENOMEM;
        }
        if (!raw->fleet && !streq(e->machine_id, hex))
                return option_refuse(ret_why, path, raw->line,
                                     "MachineID= names a second machine; a unit runs on one");
        return 0;
}

static int add_label(Evaluation *e, const RawOption *raw, const char *path, const char *word,
                     char **ret_why) {
        Pair *p = &e->pairs[e->n_pairs];
        int r = label_parse(word, &p->key, &p->value);

        if (r == -EINVAL)
                return option_refuse(
                        ret_why, path, raw->line,
                        "MachineMetadata=%s is not KEY=VALUE, each 1 to 63 letters, digits and ._/-", word);
        if (r == 0)
                e->n_pairs++;
        return r;
}

static int add_manager(Evaluation *e, const RawOption *raw, const char *path, const char *word,
                       char **ret_why) {
        if (!manager_pattern_is_valid(word) ||
            (!strpbrk(word, "*?[") && manager_name_kind(word) == MANAGER_INVALID))
                return option_refuse(
                        ret_why, path, raw->line,
                        "Manager=%s is not system, user@UID, container@NAME or a pattern of these", word);
        e->managers[e->n_managers] = strdup(word);
        return e->managers[e->n_managers++] ? 0 : -ENOMEM;
}

static int add_word(Evaluation *e, const RawOption *raw, const char *path, const char *name,
                    const char *word, char **ret_why) {
        if (option_kind(raw->kind)->dependency)
                return dependencies_add(e->options, raw, path, word,
                                        unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE, ret_why);
        switch (raw->kind) {
        case RAW_MACHINE_ID:
                return add_machine_id(e, raw, path, word, ret_why);
        case RAW_METADATA:
                return add_label(e, raw, path, word, ret_why);
        case RAW_MANAGER:
                return add_manager(e, raw, path, word, ret_why);
        case RAW_SECRET:
                return secrets_add(e->options, raw, path, word, ret_why);
        default:
                return demands_add(e->options, raw, path, word, ret_why);
        }
}

// What only an instance fills in may be nothing yet with the template's own name: that is for the instances
// to be refused for.
static int evaluate(Evaluation *e, const RawOption *raw, const char *path, const char *name,
                    char **ret_why) {
        _cleanup_free_ char *word = specifier_expand(raw->word, name), *why = NULL;
        bool open = false;
        const char *bad;
        int r;

        if (!word)
                return -ENOMEM;
        if (unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE)
                specifier_check(raw->word, &open, &bad);
        r = add_word(e, raw, path, name, word, &why);
        if (r == -EINVAL && open)
                return 0;
        if (r == -EINVAL && ret_why)
                *ret_why = TAKE_PTR(why);
        return r;
}

static int pair_compare(const void *a, const void *b) {
        const Pair *x = a, *y = b;
        int r = strcmp(x->key, y->key);

        return r ? r : strcmp(x->value, y->value);
}

// The value of pairs[*i] and of those behind it with the same key; *i moves behind them. They are sorted.
static int group_labels(Pair *pairs, size_t n, size_t *i, LabelMatch *ret) {
        size_t start = *i, end = start, used = 0;

        while (end < n && streq(pairs[end].key, pairs[start].key))
                end++;
        ret->values = calloc(end - start + 1, sizeof *ret->values);
        if (!ret->values)
                return -ENOMEM;
        for (size_t k = start; k < end; k++)
                if (used == 0 || !streq(ret->values[used - 1], pairs[k].value))
                        ret->values[used++] = TAKE_PTR(pairs[k].value);
        ret->op = LABEL_IN;
        ret->key = TAKE_PTR(pairs[start].key);
        *i = end;
        return 0;
}

// One line per demand; the characters between the parts cannot occur in labels.
static char *make_key(const UnitOptions *o) {
        _cleanup_buf_ Buf key = {0};

        if (o->machine_id && buf_printf(&key, "=%s\n", o->machine_id) < 0)
                return NULL;
        for (size_t i = 0; i < o->n_labels; i++) {
                const LabelMatch *m = &o->labels[i];

                if (buf_printf(&key, "%s%s%s", m->op == LABEL_ABSENT ? "!" : "", m->key,
                               label_op_sign(m->op)) < 0)
                        return NULL;
                for (char **v = m->values; v && *v; v++)
                        if (buf_printf(&key, "%s%s", *v, v[1] ? "|" : "") < 0)
                                return NULL;
                if (buf_printf(&key, "\n") < 0)
                        return NULL;
        }
        for (char **m = o->managers; m && *m; m++)
                if (buf_printf(&key, "^%s\n", *m) < 0)
                        return NULL;
        if (demands_key(o, &key) < 0)
                return NULL;
        return buf_take_string(&key);
}

static int string_compare(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

static void take_managers(Evaluation *e, UnitOptions *o) {
        if (e->n_managers == 0)
                return;
        qsort(e->managers, e->n_managers, sizeof *e->managers, string_compare);
        o->managers = TAKE_PTR(e->managers);
        e->n_managers = 0;
}

static int match_compare(const void *a, const void *b) {
        const LabelMatch *x = a, *y = b;
        int r = strcmp(x->key, y->key);

        return r ? r : (int) x->op - (int) y->op;
}

static int options_from(Evaluation *e, bool global, UnitOptions **ret) {
        UnitOptions *o = e->options;
        int r = ARRAY_RESERVE(o->labels, o->n_labels + e->n_pairs);

        if (r < 0)
                return r;
        o->global = global;
        o->machine_id = TAKE_PTR(e->machine_id);
        if (e->n_pairs > 0)
                qsort(e->pairs, e->n_pairs, sizeof *e->pairs, pair_compare);
        for (size_t i = 0; i < e->n_pairs;) {
                r = group_labels(e->pairs, e->n_pairs, &i, &o->labels[o->n_labels]);
                if (r < 0)
                        return r;
                o->n_labels++;
        }
        if (o->n_labels > 0)
                qsort(o->labels, o->n_labels, sizeof *o->labels, match_compare);
        take_managers(e, o);
        demands_finish(o);
        dependencies_finish(o);
        o->key = make_key(o);
        if (!o->key)
                return -ENOMEM;
        *ret = TAKE_PTR(e->options);
        return 0;
}

int unit_options_new(const RawOption *raw, size_t n_raw, bool global, const char *path, const char *name,
                     UnitOptions **ret, char **ret_why) {
        _cleanup_(evaluation_done) Evaluation e = {0};
        UnitOptions *o = NULL;
        int r;

        e.pairs = calloc(n_raw ?: 1, sizeof *e.pairs);
        e.managers = calloc(n_raw + 1, sizeof *e.managers);
        e.options = calloc(1, sizeof *e.options);
        if (!e.pairs || !e.managers || !e.options)
                return -ENOMEM;
        e.options->refs = 1;
        for (size_t i = 0; i < n_raw; i++) {
                r = evaluate(&e, &raw[i], path, name, ret_why);

                if (r < 0)
                        return r;
        }
        r = options_from(&e, global, &o);
        r = r < 0 ? r : labels_check(o, raw, n_raw, path, ret_why);
        if (r < 0) {
                unit_options_unref(o);
                return r;
        }
        *ret = o;
        return 0;
}

UnitOptions *unit_options_ref(const UnitOptions *o) {
        UnitOptions *same = (UnitOptions *) o;

        same->refs++;
        return same;
}

UnitOptions *unit_options_unref(UnitOptions *o) {
        if (!o || --o->refs > 0)
                return NULL;
        for (size_t i = 0; i < o->n_labels; i++)
                label_match_done(&o->labels[i]);
        free(o->labels);
        for (char **m = o->managers; m && *m; m++)
                free(*m);
        free(o->managers);
        demands_done(o);
        dependencies_done(o);
        secrets_done(o);
        free(o->machine_id);
        free(o->key);
        free(o);
        return NULL;
}
