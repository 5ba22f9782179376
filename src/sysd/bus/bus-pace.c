// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When to read next from a manager that never stops talking. One that wakes us again and again with hardly a
// pause is read after a rest of BUS_REST_US, so that its messages come together in one turn; one real
// pause ends that.

#include "bus-pace.h"

uint64_t bus_pace(BusPace *p, size_t n_messages, uint64_t now_us) {
        uint64_t rest_us = p->n_close >= BUS_CLOSE_WAKES ? BUS_REST_US : 0;

        if (n_messages == 0 || now_us - p->ended_us > rest_us + BUS_CLOSE_US)
                p->n_close = 0;
        else if (p->n_close < BUS_CLOSE_WAKES)
                p->n_close++;
        p->ended_us = now_us;
        return p->n_close >= BUS_CLOSE_WAKES ? BUS_REST_US : 0;
}
