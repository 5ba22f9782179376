// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A name is looked up for as long as whoever asks waits, whatever the resolver does.
#include "loop.h"

#include <errno.h>
#include <netdb.h>
#include <semaphore.h>
#include <string.h>

#include "host-lookup.h"
#include "str.h"

enum { BRIEFLY_MS = 20, LONG_MS = 600 * 1000 };

static sem_t go;

// The resolver: "hangs" until it is let go, knows "here", and no other name.
static struct sockaddr_in here = {.sin_family = AF_INET};
static struct addrinfo answer = {.ai_family = AF_INET, .ai_addr = (struct sockaddr *) &here};
static _Atomic unsigned n_given, n_freed;

int __wrap_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret);
int __wrap_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret) {
        if (streq(name, "hangs"))
                while (sem_wait(&go) < 0)
                        ;
        else if (!streq(name, "here"))
                return EAI_NONAME;
        n_given++;
        *ret = &answer;
        return 0;
}

void __wrap_freeaddrinfo(struct addrinfo *found);
void __wrap_freeaddrinfo(struct addrinfo *found) {
        n_freed++;
}

typedef struct Seen {
        unsigned n;
        int error;
        char why[128];
} Seen;

static void on_done(int error, const char *why, struct addrinfo *found, void *userdata) {
        Seen *s = userdata;

        s->n++;
        s->error = error;
        str_fit(s->why, sizeof(s->why), "%s", why);
        assert_true((error == 0) == (found != NULL));
        if (found)
                freeaddrinfo(found);
}

static HostLookup *ask(const char *name, unsigned ms, Seen *s) {
        HostLookup *l;

        *s = (Seen){};
        assert_int_equal(host_lookup_new(&test_loop, name, ms, on_done, s, &l), 0);
        assert_int_equal(s->n, 0);
        return l;
}

static void a_name_has_addresses_or_none(void **state) {
        Seen s;

        (void) ask("here", LONG_MS, &s);
        loop_until(s.n);
        assert_int_equal(s.error, 0);
        (void) ask("nowhere", LONG_MS, &s);
        loop_until(s.n);
        assert_int_equal(s.error, -EADDRNOTAVAIL);
        assert_string_equal(s.why, gai_strerror(EAI_NONAME));
}

static void who_waits_is_told_in_time_and_once(void **state) {
        Seen s;

        (void) ask("hangs", BRIEFLY_MS, &s);
        loop_until(s.n);
        assert_int_equal(s.error, -ETIMEDOUT);
        sem_post(&go);
        uv_run(&test_loop, UV_RUN_DEFAULT); // until the thread is back
        assert_int_equal(s.n, 1);
        assert_int_equal(n_freed, n_given);
}

static void who_has_gone_is_told_nothing(void **state) {
        Seen s;

        host_lookup_cancel(ask("here", BRIEFLY_MS, &s));
        host_lookup_cancel(NULL);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        (void) ask("here", LONG_MS, &(Seen){});
        uv_run(&test_loop, UV_RUN_DEFAULT);
        assert_int_equal(s.n, 0);
        assert_int_equal(n_freed, n_given);
}

#define T(f) cmocka_unit_test_setup_teardown(f, loop_setup, loop_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                T(a_name_has_addresses_or_none),
                T(who_waits_is_told_in_time_and_once),
                T(who_has_gone_is_told_nothing),
        };

        sem_init(&go, 0, 0);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
