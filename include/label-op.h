// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How an expression over labels is compared with a host's, and written: what options demand of hosts, what
// the placement asks of nodes. A new way to compare is a row here, one in label_op_names() and one in
// label_op_sign(). Pure.
//
// An expression names labels: those of its key, and if it has values, those whose value one of them names.

#include <fnmatch.h>
#include <stdbool.h>

#include "macro.h"

typedef enum LabelOp {
        LABEL_IN,
        LABEL_NOT_IN, // also met by a host without the key
        LABEL_EXISTS,
        LABEL_ABSENT,
        LABEL_LIKE, // the values are globs; of managers, no expression of a user's
} LabelOp;

// False: a host that has such a label does not meet it, and one without meets it. True: the other way round.
static inline bool label_op_wants(LabelOp op) {
        return op != LABEL_NOT_IN && op != LABEL_ABSENT;
}

// Whether one of its values may name several.
static inline bool label_op_compares(LabelOp op) {
        return op == LABEL_LIKE;
}

// Whether a value of the expression names that of a label.
static inline bool label_op_names(LabelOp op, const char *of_expression, const char *of_label) {
        return op == LABEL_LIKE ? fnmatch(of_expression, of_label, FNM_NOESCAPE) == 0
                                : streq(of_expression, of_label);
}

// What stands between its key and its values, in which no two ways to compare are alike that the options of
// users have; "": it has no values.
static inline const char *label_op_sign(LabelOp op) {
        static const char *const signs[] = {[LABEL_IN] = "=", [LABEL_NOT_IN] = "!=", [LABEL_LIKE] = "="};

        return op < ELEMENTSOF(signs) && signs[op] ? signs[op] : "";
}
