// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See choices.h. The numbers are splitmix64's (Steele, Lea, Flood 2014: "Fast splittable pseudorandom number
// generators"), of which each word is a good seed, even the next one.
#include "choices.h"

const char *const step_kind_names[_STEP_KINDS] = {
        [STEP_ASK] = "ask",   [STEP_FAULT] = "fault",   [STEP_TIME] = "time",       [STEP_SETTLE] = "settle",
        [STEP_CALM] = "calm", [STEP_MEMBER] = "member", [STEP_RECOVER] = "recover", [STEP_AT] = "at",
};

Draw draw_from(uint64_t word) {
        return (Draw){word};
}

uint64_t draw_word(Draw *d) {
        uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

unsigned draw_below(Draw *d, unsigned n) {
        return (unsigned) (((draw_word(d) >> 32) * n) >> 32);
}

bool draw_one_in(Draw *d, unsigned n) {
        return draw_below(d, n) == 0;
}

static unsigned bits_of(uint64_t n) {
        return n ? 64 - (unsigned) __builtin_clzll(n) : 0;
}

uint64_t draw_log(Draw *d, uint64_t lo, uint64_t hi) {
        unsigned bits = bits_of(lo) + draw_below(d, bits_of(hi) - bits_of(lo) + 1);
        uint64_t least = UINT64_C(1) << (bits - 1), n = least + (draw_word(d) & (least - 1));

        return n < lo ? lo : n > hi ? hi : n;
}

size_t draw_weighted(Draw *d, const unsigned *weights, size_t n) {
        unsigned all = 0, left;

        for (size_t i = 0; i < n; i++)
                all += weights[i];
        left = draw_below(d, all);
        for (size_t i = 0; i < n; i++) {
                if (left < weights[i])
                        return i;
                left -= weights[i];
        }
        return n - 1;
}
