// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "address-choice.h"

enum { MAX = 4 };

static void the_best_address_is_announced(void **state) {
        static const struct {
                const char *what, *configured;
                AddressText links[MAX], routed[2], others[MAX];
                const char *before, *chosen;
        } cases[] = {
                {"no network yet", "", {}, {}, {"127.0.0.1", "::1"}, "", ""},
                {"its network went", "", {}, {}, {"127.0.0.1"}, "10.0.0.1", ""},
                {"one interface", "", {}, {"10.0.0.1"}, {"127.0.0.1", "10.0.0.1"}, "", "10.0.0.1"},
                {"it got another address", "", {}, {"10.0.0.2"}, {"10.0.0.2"}, "10.0.0.1", "10.0.0.2"},
                {"configured",
                 "192.0.2.7",
                 {"10.0.0.1"},
                 {"10.0.0.1"},
                 {"10.0.0.1"},
                 "10.0.0.1",
                 "192.0.2.7"},
                {"configured as loopback", "127.0.0.1", {}, {"10.0.0.1"}, {}, "", "127.0.0.1"},
                {"a link beats the default route",
                 "",
                 {"10.9.0.1"},
                 {"10.0.0.1"},
                 {"10.0.0.1", "10.9.0.1"},
                 "10.0.0.1",
                 "10.9.0.1"},
                {"the leader's link comes first", "", {"10.9.0.1", "10.8.0.1"}, {}, {}, "", "10.9.0.1"},
                {"what works stays", "", {"10.9.0.1", "10.8.0.1"}, {}, {}, "10.8.0.1", "10.8.0.1"},
                {"a link within the machine says nothing",
                 "",
                 {"127.0.0.1"},
                 {"10.0.0.1"},
                 {},
                 "",
                 "10.0.0.1"},
                {"nor does one to a neighbour by fe80", "", {"fe80::1"}, {}, {"fe80::1"}, "", ""},
                {"an address without DHCP, proven by a link",
                 "",
                 {"169.254.3.3"},
                 {},
                 {},
                 "",
                 "169.254.3.3"},
                {"and not proven", "", {}, {"169.254.3.3"}, {"169.254.3.3", "fe80::1"}, "", ""},
                {"IPv6 only",
                 "",
                 {},
                 {"", "2001:db8::1"},
                 {"::1", "fe80::1", "2001:db8::1"},
                 "",
                 "2001:db8::1"},
                {"both", "", {}, {"10.0.0.1", "2001:db8::1"}, {}, "", "10.0.0.1"},
                {"both, and it was IPv6",
                 "",
                 {},
                 {"10.0.0.1", "2001:db8::1"},
                 {},
                 "2001:db8::1",
                 "2001:db8::1"},
                {"no default route, several interfaces",
                 "",
                 {},
                 {},
                 {"127.0.0.1", "fd00::1", "172.17.0.1", "10.0.0.1"},
                 "",
                 "172.17.0.1"},
                {"and it was another", "", {}, {}, {"172.17.0.1", "10.0.0.1"}, "10.0.0.1", "10.0.0.1"},
                {"a bridge does not beat the default route",
                 "",
                 {},
                 {"10.0.0.1"},
                 {"172.17.0.1", "10.0.0.1"},
                 "172.17.0.1",
                 "10.0.0.1"},
                {"only IPv6 on an interface without a route", "", {}, {}, {"::1", "fd00::1"}, "", "fd00::1"},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                AddressFacts f = {.configured = cases[i].configured,
                                  .links = cases[i].links,
                                  .others = cases[i].others,
                                  .before = cases[i].before};

                memcpy(f.routed, cases[i].routed, sizeof(f.routed));
                while (f.n_links < MAX && *cases[i].links[f.n_links])
                        f.n_links++;
                while (f.n_others < MAX && *cases[i].others[f.n_others])
                        f.n_others++;
                if (strcmp(address_choose(&f), cases[i].chosen) != 0)
                        fail_msg("%s: '%s'", cases[i].what, address_choose(&f));
        }
}

RUN_TESTS(
        cmocka_unit_test(the_best_address_is_announced)
)
