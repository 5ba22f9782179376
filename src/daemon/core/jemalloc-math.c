// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What jemalloc's profiler wants of libm, in as many digits as it needs for its samples. Nothing else in
// argosyd calculates with such numbers, and for three functions that are not called unless somebody profiles
// (MALLOC_CONF=prof:true) each process would have a third of a megabyte of libm resident: the tables come
// with the code around them.
//
// They stand for libm's only in the program itself, and only for ordinary numbers: what is too large or too
// small becomes infinite or zero, and the logarithm of what is not positive is as small as that of the
// smallest number.
#include <stdint.h>
#include <string.h>

double exp(double x);
double log(double x);
double round(double x);

#define LN2 0.69314718055994530942

enum {
        BIAS = 1023, // of a double's exponent, which begins at bit MANTISSA
        MANTISSA = 52,
        LOG_TERMS = 12, // of a series whose quotient is at most 0.03
        EXP_TERMS = 16, // of one whose last is 0.35 ^ 16 / 16!
};

static double power_of_two(int n) {
        uint64_t bits = (uint64_t) (n + BIAS) << MANTISSA;
        double x;

        memcpy(&x, &bits, sizeof(x));
        return x;
}

double round(double x) {
        if (!(x > -0x1p52 && x < 0x1p52)) // has no fraction
                return x;
        return (double) (int64_t) (x < 0 ? x - 0.5 : x + 0.5);
}

// x = m * 2^e with m from 0.7 to 1.4, and log m = 2 * artanh((m - 1) / (m + 1)).
double log(double x) {
        double m, t, square, sum = 0;
        uint64_t bits;
        int e;

        if (!(x >= 0x1p-1022))
                x = 0x1p-1022;
        memcpy(&bits, &x, sizeof(bits));
        e = (int) (bits >> MANTISSA) - BIAS;
        m = x / power_of_two(e);
        if (m > 1.4142) {
                m /= 2;
                e++;
        }
        t = (m - 1) / (m + 1);
        square = t * t;
        for (int i = 2 * LOG_TERMS - 1; i > 0; i -= 2)
                sum = sum * square + 1.0 / i;
        return e * LN2 + 2 * t * sum;
}

// x = n * log 2 + rest, and e^rest is Taylor's series.
double exp(double x) {
        double n, rest, sum = 1;

        if (x > 709)
                return __builtin_inf();
        if (x < -708)
                return 0;
        n = round(x / LN2);
        rest = x - n * LN2;
        for (int i = EXP_TERMS; i > 0; i--)
                sum = 1 + sum * rest / i;
        return sum * power_of_two((int) n);
}
