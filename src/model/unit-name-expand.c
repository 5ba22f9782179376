// SPDX-License-Identifier: LGPL-2.1-or-later

// Brace expansion of unit names. The first group of the argument is replaced by each of its alternatives in
// turn, and the rest is expanded the same way, so alternatives may hold groups themselves. Every path
// through the recursion ends in a name, so that the caller's limit on names bounds the work as well.

#include <errno.h>
#include <stdio.h>

#include "str.h"
#include "unit-name.h"

typedef struct Expansion {
        size_t left; // names that may still be emitted
        int (*emit)(void *userdata, const char *name);
        void *userdata;
} Expansion;

typedef struct Sequence {
        long from, to, step; // step > 0
        int width;           // zero-padded to this many digits
        bool letters;
} Sequence;

static int expand(Expansion *x, const char *text);

// The '}' that closes the '{' at `open`, or NULL.
static const char *find_close(const char *open) {
        int depth = 0;

        for (const char *p = open; *p; p++) {
                if (*p == '{')
                        depth++;
                else if (*p == '}' && --depth == 0)
                        return p;
        }
        return NULL;
}

// The end of the alternative that begins at `p`: the next ',' outside of inner braces, or `end`.
static const char *find_comma(const char *p, const char *end) {
        int depth = 0;

        for (; p < end; p++) {
                if (*p == '{')
                        depth++;
                else if (*p == '}')
                        depth--;
                else if (*p == ',' && depth == 0)
                        return p;
        }
        return end;
}

static bool parse_number(const char *s, size_t len, long *ret) {
        char digits[10]; // nine digits: far more than names, and no overflow
        uint64_t n;

        if (len == 0 || len >= sizeof digits)
                return false;
        memcpy(digits, s, len);
        digits[len] = 0;
        if (!parse_u64(digits, UINT64_MAX, &n))
                return false;
        *ret = (long) n;
        return true;
}

static bool parse_letter(const char *s, size_t len, long *ret) {
        if (len != 1 || !((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z')))
                return false;
        *ret = *s;
        return true;
}

// "from..to" or "from..to..step" between p and end.
static bool parse_sequence(const char *p, const char *end, Sequence *ret) {
        const char *a = memmem(p, (size_t) (end - p), "..", 2), *b, *c;
        size_t a_len, b_len;

        if (!a)
                return false;
        b = a + 2;
        c = memmem(b, (size_t) (end - b), "..", 2);
        a_len = (size_t) (a - p);
        b_len = (size_t) ((c ? c : end) - b);
        *ret = (Sequence){.step = 1};
        if (c && (!parse_number(c + 2, (size_t) (end - c - 2), &ret->step) || ret->step == 0))
                return false;
        if (parse_number(p, a_len, &ret->from) && parse_number(b, b_len, &ret->to)) {
                if ((a_len > 1 && *p == '0') || (b_len > 1 && *b == '0'))
                        ret->width = (int) MAX_OF(a_len, b_len);
                return true;
        }
        ret->letters = true;
        return parse_letter(p, a_len, &ret->from) && parse_letter(b, b_len, &ret->to);
}

// head, the alternative, tail: expanded further.
static int expand_with(Expansion *x, const char *head, size_t head_len, const char *alternative, size_t len,
                       const char *tail) {
        _cleanup_free_ char *text =
                str_printf("%.*s%.*s%s", (int) head_len, head, (int) len, alternative, tail);

        return text ? expand(x, text) : -ENOMEM;
}

static int expand_sequence(Expansion *x, const char *head, size_t head_len, const Sequence *q,
                           const char *tail) {
        long step = q->from <= q->to ? q->step : -q->step;

        for (long i = q->from; step > 0 ? i <= q->to : i >= q->to; i += step) {
                char number[32];
                int n = q->letters ? snprintf(number, sizeof number, "%c", (char) i)
                                   : snprintf(number, sizeof number, "%0*ld", q->width, i);
                int r = expand_with(x, head, head_len, number, (size_t) n, tail);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int expand_list(Expansion *x, const char *head, size_t head_len, const char *p, const char *close) {
        for (;;) {
                const char *end = find_comma(p, close);
                int r = expand_with(x, head, head_len, p, (size_t) (end - p), close + 1);

                if (r < 0 || end == close)
                        return r;
                p = end + 1;
        }
}

static int expand(Expansion *x, const char *text) {
        size_t head = strcspn(text, "{}");
        const char *open = text + head, *close;
        Sequence q;

        if (!*open) {
                if (x->left == 0)
                        return -E2BIG;
                x->left--;
                return x->emit(x->userdata, text);
        }
        close = *open == '{' ? find_close(open) : NULL;
        if (!close)
                return -EINVAL;
        if (find_comma(open + 1, close) < close)
                return expand_list(x, text, head, open + 1, close);
        if (parse_sequence(open + 1, close, &q))
                return expand_sequence(x, text, head, &q, close + 1);
        return -EINVAL;
}

int unit_name_expand(const char *arg, size_t max, int (*emit)(void *userdata, const char *name),
                     void *userdata) {
        Expansion x = {.left = max, .emit = emit, .userdata = userdata};

        if (strnlen(arg, UNIT_NAME_ARGUMENT_MAX + 1) > UNIT_NAME_ARGUMENT_MAX)
                return -EINVAL;
        return expand(&x, arg);
}
