// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "buf.h"
#include "elsewhere.h"

// All places, in order, as "first|second:port|...".
static const char *places(const Elsewhere *e, const MeshPeer *peer) {
        static char text[512];
        _cleanup_buf_ Buf line = {};
        MeshAddress at = elsewhere_first(peer);
        unsigned i = 0;

        assert_int_equal(buf_printf(&line, "%s", at.text), 0);
        while (elsewhere_next(e, peer, &i, &at)) {
                assert_int_equal(buf_printf(&line, "|%s", at.text), 0);
                if (at.port != peer->port)
                        assert_int_equal(buf_printf(&line, ":%u", at.port), 0);
        }
        snprintf(text, sizeof(text), "%.*s", (int) line.len, (const char *) line.data);
        return text;
}

static void every_place_is_tried_once_in_the_order_of_its_likelihood(void **state) {
        static const struct {
                MeshPeer peer;
                Elsewhere e;
                const char *places;
        } cases[] = {
                {{.address = "10.0.0.1"}, {}, "10.0.0.1"},
                {{}, {}, ""},
                {{.address = "10.0.0.1", .host_name = "n1"}, {}, "10.0.0.1|n1"},
                {{.host_name = "n1"}, {}, "|n1"},
                {{.address = "10.0.0.1", .name = "a.example", .host_name = "n1"},
                 {},
                 "a.example|10.0.0.1|n1"},
                {{.address = "10.0.0.1", .name = "n1", .host_name = "N1"}, {}, "n1|10.0.0.1"},
                {{.address = "10.0.0.1", .host_name = "n1"},
                 {.seen = {"10.0.0.2", 0}, .announced = {"10.0.0.3", 0}, .by_hand = {{"b", 0}, {"c", 0}}},
                 "10.0.0.1|b|c|10.0.0.2|10.0.0.3|n1"},
                {{.address = "10.0.0.1"},
                 {.seen = {"10.0.0.1", 0}, .announced = {"10.0.0.1", 0}},
                 "10.0.0.1"},
                {{.address = "10.0.0.1"}, {.by_hand = {[3] = {"10.0.0.1", 99}}}, "10.0.0.1|10.0.0.1:99"},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_string_equal(places(&cases[i].e, &cases[i].peer), cases[i].places);
}

RUN_TESTS(
        cmocka_unit_test(every_place_is_tried_once_in_the_order_of_its_likelihood)
)
