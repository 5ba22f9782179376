// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Asks argosyd what this host's units use, so many times, as often as `argosyctl top` would.
//
//   watch-usage SOCKET COUNT INTERVAL_MS
//       For each reading: the milliseconds that argosyd took for it, from the choice of the units to the
//       last row, and the number of rows.

#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "clock.h"
#include "str.h"

enum { PATIENCE_US = 60 * 1000 * 1000 };

static void fail(const char *why) {
        fprintf(stderr, "watch-usage: %s\n", why);
        exit(EXIT_FAILURE);
}

int main(int argc, char **argv) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__Top top = ARGOSY__REQUEST__TOP__INIT;
        uint64_t count = 0, interval_ms = 0, deadline_us = clock_boot_us() + PATIENCE_US;
        size_t n_rows = 0;
        Client c;

        if (argc != 4 || !parse_u64(argv[2], 10000, &count) || !parse_u64(argv[3], 10000, &interval_ms))
                fail("usage: watch-usage SOCKET COUNT INTERVAL_MS");
        client_init(&c, argv[1], NULL);
        top.local = true;
        top.interval_ms = (uint32_t) interval_ms;
        request.what_case = ARGOSY__REQUEST__WHAT_TOP;
        request.top = &top;
        if (client_send(&c, &request, deadline_us) < 0)
                fail(c.why);
        while (count > 0) {
                Argosy__Response *response;

                if (client_receive(&c, deadline_us, &response) < 0)
                        fail(c.why);
                if (response->what_case != ARGOSY__RESPONSE__WHAT_USAGE)
                        fail(response->message);
                n_rows += response->usage->n_rows;
                if (response->usage->last) {
                        printf("%.3f %zu\n", (double) response->usage->took_us / 1e3, n_rows);
                        n_rows = 0;
                        count--;
                }
                argosy__response__free_unpacked(response, NULL);
        }
        client_done(&c);
        return EXIT_SUCCESS;
}
