// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which slice of argosy's a new unit of this node goes into: none while there are few units, then the first
// that is not full, and if all are, the emptiest. Units are only counted; where each one is stands in its
// record. A slice that is not of that kind counts as none.

#include <string.h>

#include "slices.h"
#include "str.h"

// -1: not one of ours.
static int slice_number(const char *slice) {
        uint64_t n;
        char digits[8] = {};
        size_t len;

        if (!str_has_prefix(slice, "argosy-") || !str_has_suffix(slice, ".slice"))
                return -1;
        len = strlen(slice) - strlen("argosy-") - strlen(".slice");
        if (len == 0 || len >= sizeof(digits))
                return -1;
        memcpy(digits, slice + strlen("argosy-"), len);
        return parse_u64(digits, SLICES_MAX - 1, &n) ? (int) n : -1;
}

uint16_t slice_of_name(const char *name) {
        return (uint16_t) (slice_number(name) + 1);
}

// "argosy-%02u.slice": by hand, since each step of a unit asks for it.
void slice_name(uint16_t slice, char ret[static LEDGER_SLICE_SIZE]) {
        static const char prefix[] = "argosy-", suffix[] = ".slice";
        char digits[5], *at = ret + sizeof(prefix) - 1;
        unsigned number = slice - 1U, n = 0;

        ret[0] = 0;
        if (slice == 0)
                return;
        memcpy(ret, prefix, sizeof(prefix) - 1);
        do {
                digits[n++] = (char) ('0' + number % 10);
                number /= 10;
        } while (number > 0 || n < 2);
        while (n > 0)
                *at++ = digits[--n];
        memcpy(at, suffix, sizeof(suffix));
}

void slices_add(Slices *s, const char *slice) {
        int n = slice_number(slice);

        if (n < 0)
                s->n_plain++;
        else
                s->n_in[n]++;
}

void slices_remove(Slices *s, const char *slice) {
        int n = slice_number(slice);

        if (n < 0)
                s->n_plain--;
        else
                s->n_in[n]--;
}

void slices_choose(const Slices *s, char ret[static LEDGER_SLICE_SIZE]) {
        unsigned best = 0;

        ret[0] = 0;
        if (s->n_plain < SLICES_FROM)
                return;
        for (unsigned i = 0; i < SLICES_MAX; i++) {
                if (s->n_in[i] < s->n_in[best])
                        best = i;
                if (s->n_in[i] < SLICES_FILL) {
                        best = i;
                        break;
                }
        }
        slice_name((uint16_t) (best + 1), ret);
}
