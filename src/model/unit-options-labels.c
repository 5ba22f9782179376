// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Refuses demands of labels that no host can meet: a host has at most one value of a label (but may be in
// several pools). labels_check() walks the sorted demands key by key -> required and forbidden? -> is a
// value left that all allow? Failures: -EINVAL with the line of the last demand of that label in *ret_why,
// -ENOMEM.

#include <errno.h>

#include "specifier.h"
#include "str.h"
#include "unit-options-private.h"

// Whether one of its values names that one, or it has none, so that any does.
static bool names(const LabelMatch *m, const char *value) {
        for (char **v = m->values; v && *v; v++)
                if (label_op_names(m->op, *v, value))
                        return true;
        return !m->values;
}

// Whether a host with this value of the label meets `m`. `many`: the host may have other values, too.
static bool allows(const LabelMatch *m, const char *value, bool many) {
        return label_op_wants(m->op) ? many || names(m, value) : !names(m, value);
}

static bool can_be_met(const LabelMatch *in, const LabelMatch *matches, size_t n, bool many) {
        for (char **v = in->values; v && *v; v++) {
                bool left = true;

                for (size_t i = 0; i < n; i++)
                        left = left && allows(&matches[i], *v, many);
                if (left)
                        return true;
        }
        return false;
}

// All n are about one key. False: whichever value a host has, it fails one of them.
static bool some_value_is_left(const LabelMatch *matches, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (matches[i].op == LABEL_IN &&
                    !can_be_met(&matches[i], matches, n, streq(matches[i].key, "pool")))
                        return false;
        return true;
}

static bool is_about(const RawOption *raw, const char *key) {
        const char *word = raw->word + (*raw->word == '!');
        size_t len = strlen(key);

        if (raw->kind == RAW_POOL)
                return streq(key, "pool");
        return option_kind(raw->kind)->demands_label && strncmp(word, key, len) == 0 &&
               label_span(word) == len;
}

// The line of the last demand of this label; of the last demand of any label if specifiers hide which.
static unsigned line_about(const RawOption *raw, size_t n_raw, const char *key) {
        unsigned line = 1, any = 1;

        for (size_t i = 0; i < n_raw; i++) {
                if (is_about(&raw[i], key))
                        line = MAX_OF(line, raw[i].line);
                if (option_kind(raw[i].kind)->demands_label)
                        any = MAX_OF(any, raw[i].line);
        }
        return line > 1 ? line : any;
}

int labels_check(const UnitOptions *o, const RawOption *raw, size_t n_raw, const char *path,
                 char **ret_why) {
        for (size_t i = 0, end; i < o->n_labels; i = end) {
                const char *key = o->labels[i].key;
                bool required = false, forbidden = false;

                for (end = i; end < o->n_labels && streq(o->labels[end].key, key); end++) {
                        required |= label_op_wants(o->labels[end].op);
                        forbidden |= o->labels[end].op == LABEL_ABSENT;
                }
                if (required && forbidden)
                        return option_refuse(ret_why, path, line_about(raw, n_raw, key),
                                             "label %s is both required and forbidden", key);
                if (!forbidden && !some_value_is_left(&o->labels[i], end - i))
                        return option_refuse(ret_why, path, line_about(raw, n_raw, key),
                                             "label %s cannot have all the values that are required", key);
        }
        return 0;
}
