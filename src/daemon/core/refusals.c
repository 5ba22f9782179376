// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Counts refused connections, so that the log has each address and reason once per REFUSALS_SPAN_US
// (refusals.h).
//
//      refusals_take(): true, log it -> counted while its span lasts
//          -> refusals_next(): how many more, and its entry is free
//
// At most REFUSALS_MAX entries; other addresses are counted together. It allocates nothing and cannot fail.

#include "refusals.h"

#include "str.h"

static bool is_over(const Refusal *f, uint64_t now_us) {
        return now_us >= f->since_us + REFUSALS_SPAN_US;
}

static bool take_count(Refusal *f, uint64_t now_us, bool all, Refusal *ret) {
        if (!all && !is_over(f, now_us))
                return false;
        if (f->more == 0) {
                f->since_us = 0;
                return false;
        }
        *ret = *f;
        *f = (Refusal){};
        return true;
}

bool refusals_next(Refusals *r, uint64_t now_us, bool all, Refusal *ret) {
        for (size_t i = 0; i < REFUSALS_MAX; i++)
                if (r->list[i].since_us && take_count(&r->list[i], now_us, all, ret))
                        return true;
        return r->others.since_us && take_count(&r->others, now_us, all, ret);
}

static bool is_about(const Refusal *f, const Refusal *other) {
        return f->since_us && streq(f->address, other->address) && streq(f->why, other->why);
}

bool refusals_take(Refusals *r, const char *address, const char *why, uint64_t now_us) {
        Refusal now = {.since_us = now_us}, *free_one = NULL;

        str_fit(now.address, sizeof(now.address), "%s", address);
        str_fit(now.why, sizeof(now.why), "%s", why);
        for (size_t i = 0; i < REFUSALS_MAX; i++) {
                if (is_about(&r->list[i], &now)) {
                        r->list[i].more++;
                        return false;
                }
                if (!r->list[i].since_us)
                        free_one = &r->list[i];
        }
        if (free_one) {
                *free_one = now;
                return true;
        }
        if (!r->others.since_us)
                r->others.since_us = now_us;
        r->others.more++;
        return false;
}
