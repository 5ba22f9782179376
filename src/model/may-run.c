// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One sentence that says on which nodes a unit may still run although it is not wanted there; for the
// leader's answers and for argosyctl. Up to three nodes are named, of more the first two and the number of
// the others. The caller frees the text; NULL: out of memory.

#include "may-run.h"

#include "str.h"

char *may_run_phrase(char *const *nodes, size_t n) {
        const char *until = n > 1 ? "those hosts are" : "that host is";

        switch (n) {
        case 1:
                return str_printf("may still run on %s until %s heard", nodes[0], until);
        case 2:
                return str_printf("may still run on %s and %s until %s heard", nodes[0], nodes[1], until);
        case 3:
                return str_printf("may still run on %s, %s and %s until %s heard", nodes[0], nodes[1],
                                  nodes[2], until);
        default:
                return str_printf("may still run on %s, %s and %zu more nodes until %s heard", nodes[0],
                                  nodes[1], n - 2, until);
        }
}
