// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which address this host tells others. What is configured counts before everything; then an end of a link
// that works, as that is what somebody reached; then the address of a route, then any other that is global.
// Among equals the one that was told before stays. Empty: none is known that others could use.

#include <string.h>

#include "address-choice.h"
#include "host-address.h"
#include "macro.h"

// The one that was told before, or else the first IPv4 address, or else the first. NULL: none is of that
// kind.
static const char *choose_of(const AddressText *list, size_t n, const char *before,
                             bool (*is_good)(const char *)) {
        const char *first[2] = {};

        for (size_t i = 0; i < n; i++) {
                bool six = strchr(list[i], ':');

                if (!is_good(list[i]))
                        continue;
                if (streq(list[i], before))
                        return list[i];
                if (!first[six])
                        first[six] = list[i];
        }
        return first[0] ?: first[1];
}

static bool works(const char *address) { // a link is up from there
        return host_address_may_be_announced(address, false);
}

static bool is_global(const char *address) {
        return host_address_kind(address) == HOST_ADDRESS_GLOBAL;
}

static const char *choose_link(const AddressFacts *f) {
        for (size_t i = 0; i < f->n_links; i++)
                if (works(f->links[i]) && streq(f->links[i], f->before))
                        return f->links[i];
        for (size_t i = 0; i < f->n_links; i++)
                if (works(f->links[i]))
                        return f->links[i];
        return NULL;
}

const char *address_choose(const AddressFacts *f) {
        if (*f->configured)
                return f->configured;
        return choose_link(f) ?: choose_of(f->routed, ELEMENTSOF(f->routed), f->before, is_global)
                                       ?: choose_of(f->others, f->n_others, f->before, is_global) ?: "";
}
