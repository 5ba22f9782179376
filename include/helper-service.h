// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// argosy-helper.service: it starts helpers (manager-helper.h) for argosyd, so that argosyd's own service may
// do little, and only this one may become users, enter containers and end what it has started there.
//
//      argosyd                                           this
//      connects to /run/argosy/helper.sock          ->   accepts
//      one packet: MODE\0MANAGER\0LEADER\0BORN and  ->   executes a helper; the descriptor is its link
//      a descriptor
//      shuts the connection down, or is gone        ->   kills the helper
//      the helper is gone                           <-   closes the connection

enum {
        HELPER_SERVICE_WORDS_MAX = 512, // bytes of a packet
        HELPER_SERVICE_MAX = 512,       // connections
};

// Serves clients with this process's user id, on a listening socket of packets, until no helper has run for
// idle_ms, or until SIGTERM, which ends all of them. `command`: what to execute, up to the MODE. 0 or
// negative errno.
int helper_service_run(int listener, const char *const *command, unsigned idle_ms);
// With the socket that systemd has handed over. Returns an exit status.
int helper_service_main(void);
