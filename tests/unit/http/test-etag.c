// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "http-etag.h"
#include "macro.h"
#include "str.h"

static const EventCursor here = {.cluster = {1, 2, 3, 4}, .generation = 1, .term = 2, .seq = 30, .index = 7};

static bool matches(const char *format, const EventCursor *c) {
        char tag[HTTP_ETAG_SIZE], header[512];

        http_etag_format(c, tag);
        str_fit(header, sizeof(header), format, tag);
        return http_etag_matches(header, &here);
}

static void a_tag_is_found_among_others(void **state) {
        assert_true(matches("%s", &here));
        assert_true(matches("W/%s", &here));
        assert_true(matches("\"x\", \"\",%s", &here));
        assert_true(matches("  \"x\" , W/%s, \"y\"", &here));
        assert_false(matches("\"%s", &here));
        assert_false(matches("%s0", &(EventCursor){}));
        assert_false(http_etag_matches("*", &here));
        assert_false(http_etag_matches("", &here));
        assert_false(http_etag_matches("\"", &here));
        assert_false(http_etag_matches("\"0123", &here));
}

static void only_the_place_counts_and_all_of_it(void **state) {
        EventCursor other = here;

        other.index = 8; // nothing that can be seen
        assert_true(matches("%s", &other));
        other = here;
        other.seq--;
        assert_false(matches("%s", &other));
        other.seq += 2;
        assert_false(matches("%s", &other));
        assert_true(http_etag_covers(&other, &here));
        assert_false(http_etag_covers(&here, &other));
        other = here;
        other.term++;
        assert_false(matches("%s", &other));
        other = here;
        other.generation++;
        assert_false(matches("%s", &other));
        other = here;
        other.scope = 5; // of somebody who sees something else
        assert_false(matches("%s", &other));
        other = here;
        other.mode = EVENT_CURSOR_STATE; // of somebody who was not told of everything yet
        assert_false(matches("%s", &other));
        other = here;
        other.cluster[3]++;
        assert_false(matches("%s", &other));
}

RUN_TESTS(
        cmocka_unit_test(a_tag_is_found_among_others),
        cmocka_unit_test(only_the_place_counts_and_all_of_it)
)
