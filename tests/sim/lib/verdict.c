// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cmocka's assertions, for a program that is no test of cmocka's: which keeps what they have to say until
// the end of a test, and then ends a process that has none. Here the process ends (see leader-sim.c), with
// what they had to say last.
#include "verdict.h"

#include "test.h"

#include <execinfo.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { CALLERS_MAX = 40 };

static struct {
        char words[1024];
        char place[128];
} verdict;

const char *verdict_words(void) {
        return verdict.words;
}

const char *verdict_sign(void) {
        static char sign[160];
        const char *check = strstr(verdict.words, "check "), *end = check ? strchr(check, ':') : NULL;

        if (check == verdict.words && end)
                snprintf(sign, sizeof(sign), "%.*s", (int) (end - check), check);
        else
                snprintf(sign, sizeof(sign), "%s", verdict.place);
        return sign;
}

void verdict_set_signal(int number) {
        snprintf(verdict.place, sizeof(verdict.place), "signal %d", number);
        snprintf(verdict.words, sizeof(verdict.words), "signal %d: %s", number, strsignal(number));
}

// The first call loads a library, which a handler of signals cannot.
__attribute__((constructor)) static void load_unwinder(void) {
        void *caller;

        (void) backtrace(&caller, 1);
}

void verdict_show_callers(void) {
        void *callers[CALLERS_MAX];

        backtrace_symbols_fd(callers, backtrace(callers, CALLERS_MAX), STDERR_FILENO);
}

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(verdict.words, sizeof(verdict.words), format, ap);
        va_end(ap);
}

// fail_msg() puts "ERROR: " before its words.
static void hear_error(const char *format, va_list ap) {
        static const char error[] = "ERROR: ";

        (void) vsnprintf(verdict.words, sizeof(verdict.words),
                         strncmp(format, error, strlen(error)) == 0 ? format + strlen(error) : format, ap);
}

void print_error(const char *const format, ...) {
        va_list ap;

        va_start(ap, format);
        hear_error(format, ap);
        va_end(ap);
}

// What fail_msg() of later versions of cmocka calls, as that of Debian 13.
void cm_print_error(const char *const format, ...) __attribute__((format(printf, 1, 2)));

void cm_print_error(const char *const format, ...) {
        va_list ap;

        va_start(ap, format);
        hear_error(format, ap);
        va_end(ap);
}

void _fail(const char *const file, const int line) {
        size_t len = strlen(verdict.words);

        if (len > 0 && verdict.words[len - 1] == '\n')
                verdict.words[len - 1] = 0;
        snprintf(verdict.place, sizeof(verdict.place), "%s:%d",
                 strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line);
        exit(1);
}

void _assert_true(const LargestIntegralType result, const char *const expression, const char *const file,
                  const int line) {
        if (result)
                return;
        say("not so: %s", expression);
        _fail(file, line);
}

void _assert_int_equal(const LargestIntegralType a, const LargestIntegralType b, const char *const file,
                       const int line) {
        if (a == b)
                return;
        say("%" PRIdMAX " is not %" PRIdMAX "\n", (intmax_t) a, (intmax_t) b);
        _fail(file, line);
}

void _assert_int_not_equal(const LargestIntegralType a, const LargestIntegralType b, const char *const file,
                           const int line) {
        if (a != b)
                return;
        say("%" PRIdMAX ", which it must not be\n", (intmax_t) a);
        _fail(file, line);
}

void _assert_in_range(const LargestIntegralType value, const LargestIntegralType minimum,
                      const LargestIntegralType maximum, const char *const file, const int line) {
        if (value >= minimum && value <= maximum)
                return;
        say("%" PRIdMAX " is not between %" PRIdMAX " and %" PRIdMAX "\n", (intmax_t) value,
            (intmax_t) minimum, (intmax_t) maximum);
        _fail(file, line);
}

void _assert_string_equal(const char *const a, const char *const b, const char *const file, const int line) {
        if (strcmp(a, b) == 0)
                return;
        say("'%s' is not '%s'", a, b);
        _fail(file, line);
}

void _assert_memory_equal(const void *const a, const void *const b, const size_t size,
                          const char *const file, const int line) {
        if (memcmp(a, b, size) == 0)
                return;
        say("%zu bytes are not the same", size);
        _fail(file, line);
}

// ----------------------------------------------------------------------------------------------- a debugger

static bool is_debugged(void) {
        FILE *f = fopen("/proc/self/status", "re");
        char line[256];
        int tracer = 0;

        while (f && fgets(line, sizeof(line), f))
                if (sscanf(line, "TracerPid: %d", &tracer) == 1)
                        break;
        if (f)
                fclose(f);
        return tracer != 0;
}

void verdict_stop_for_debugger(void) {
        if (is_debugged()) {
                raise(SIGTRAP);
                return;
        }
        fprintf(stderr, "Here it stops in a debugger, of which there is none: gdb --args PROGRAM ..., with "
                        "the same options\n");
        fflush(NULL);
        _exit(0);
}
