// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "host-address.h"
#include "macro.h"

static void a_text_says_where_a_host_is(void **state) {
        static const struct {
                const char *text;
                HostAddressKind kind;
        } cases[] = {
                {"", HOST_ADDRESS_NONE},
                {"10.0.0.1", HOST_ADDRESS_GLOBAL},
                {"fd00::1", HOST_ADDRESS_GLOBAL},
                {"2001:db8::1", HOST_ADDRESS_GLOBAL},
                {"::ffff:10.0.0.1", HOST_ADDRESS_GLOBAL},
                {"127.0.0.1", HOST_ADDRESS_LOOPBACK},
                {"127.1.2.3", HOST_ADDRESS_LOOPBACK},
                {"::1", HOST_ADDRESS_LOOPBACK},
                {"::ffff:127.0.0.1", HOST_ADDRESS_LOOPBACK},
                {"localhost", HOST_ADDRESS_LOOPBACK},
                {"LocalHost", HOST_ADDRESS_LOOPBACK},
                {"0.0.0.0", HOST_ADDRESS_NOBODY},
                {"::", HOST_ADDRESS_NOBODY},
                {"255.255.255.255", HOST_ADDRESS_NOBODY},
                {"224.0.0.1", HOST_ADDRESS_NOBODY},
                {"ff02::1", HOST_ADDRESS_NOBODY},
                {"169.254.7.7", HOST_ADDRESS_ZEROCONF},
                {"fe80::1", HOST_ADDRESS_LINK_LOCAL},
                {"fe80::1%eth0", HOST_ADDRESS_INVALID},
                {"n1", HOST_ADDRESS_NAME},
                {"n1.example.org", HOST_ADDRESS_NAME},
                {"1st.example.org", HOST_ADDRESS_NAME},
                {"web_1", HOST_ADDRESS_NAME},
                {"10.0.0", HOST_ADDRESS_INVALID},
                {"10.0.0.256", HOST_ADDRESS_INVALID},
                {"n1:7867", HOST_ADDRESS_INVALID},
                {"n1.", HOST_ADDRESS_INVALID},
                {".n1", HOST_ADDRESS_INVALID},
                {"a..b", HOST_ADDRESS_INVALID},
                {"-n1", HOST_ADDRESS_INVALID},
                {"n1-", HOST_ADDRESS_INVALID},
                {"n1-.example", HOST_ADDRESS_INVALID},
                {"n 1", HOST_ADDRESS_INVALID},
                {"n1/x", HOST_ADDRESS_INVALID},
                {"a23456789012345678901234567890123456789012345678901234567890123", HOST_ADDRESS_NAME},
                {"a234567890123456789012345678901234567890123456789012345678901234", HOST_ADDRESS_INVALID},
        };
        char longest[HOST_ADDRESS_SIZE + 1];

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                if (host_address_kind(cases[i].text) != cases[i].kind)
                        fail_msg("%s: %i", cases[i].text, (int) host_address_kind(cases[i].text));
        for (size_t i = 0; i < sizeof(longest); i++)
                longest[i] = i % 2 ? '.' : 'a';
        longest[HOST_ADDRESS_MAX] = 0;
        assert_int_equal(host_address_kind(longest), HOST_ADDRESS_NAME);
        memcpy(longest + HOST_ADDRESS_MAX - 1, "aa", 3);
        assert_int_equal(host_address_kind(longest), HOST_ADDRESS_INVALID);
}

static void nobody_says_of_himself_what_means_somebody_else(void **state) {
        static const struct {
                const char *text;
                bool found_out, configured;
        } cases[] = {
                {"10.0.0.1", true, true},   {"fd00::1", true, true},  {"169.254.1.1", true, true},
                {"127.0.0.1", false, true}, {"::1", false, true},     {"localhost", false, true},
                {"n1", false, true},        {"fe80::1", false, false}, {"0.0.0.0", false, false},
                {"::", false, false},       {"", false, false},       {"what ever", false, false},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                assert_int_equal(host_address_may_be_announced(cases[i].text, false), cases[i].found_out);
                assert_int_equal(host_address_may_be_announced(cases[i].text, true), cases[i].configured);
        }
}

static void an_address_of_one_link_is_known(void **state) {
        static const char *const of_a_link[] = {"fe80::1%eth0", "fe80::1", "FE80::1", "2001:db8::1%eth0"};
        static const char *const others[] = {"2001:db8::1", "10.0.0.1", "169.254.0.1", "n1", "::1", ""};

        for (size_t i = 0; i < ELEMENTSOF(of_a_link); i++) {
                assert_true(host_address_is_of_a_link(of_a_link[i]));
                assert_false(host_address_may_be_configured(of_a_link[i]));
        }
        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                assert_false(host_address_is_of_a_link(others[i]));
}

RUN_TESTS(
        cmocka_unit_test(a_text_says_where_a_host_is),
        cmocka_unit_test(an_address_of_one_link_is_known),
        cmocka_unit_test(nobody_says_of_himself_what_means_somebody_else)
)
