// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "property-format.h"

enum { LONG = 4 * 1024 * 1024 };

static sd_bus *bus;
static int fds[2];
static sd_bus_message *message;
static Argosy__Response__Property **shown;
static size_t n_shown;

FIXTURE(setup) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
        assert_true(sd_bus_new(&bus) >= 0);
        assert_true(sd_bus_set_fd(bus, fds[0], fds[0]) >= 0);
        assert_true(sd_bus_start(bus) >= 0);
        assert_true(sd_bus_message_new_method_call(bus, &message, NULL, "/x", "x.y", "GetAll") >= 0);
        assert_true(sd_bus_message_open_container(message, 'a', "{sv}") >= 0);
}

FIXTURE(teardown) {
        properties_free(shown, n_shown);
        shown = NULL;
        n_shown = 0;
        sd_bus_message_unref(message);
        sd_bus_close(bus);
        sd_bus_unref(bus);
        close(fds[1]);
}

static void add(const char *name, const char *type, const void *value) {
        assert_true(sd_bus_message_open_container(message, 'e', "sv") >= 0);
        assert_true(sd_bus_message_append(message, "s", name) >= 0);
        assert_true(sd_bus_message_open_container(message, 'v', type) >= 0);
        if (*type == 'a' && type[1] == 'y')
                assert_true(sd_bus_message_append_array(message, 'y', value, LONG) >= 0);
        else if (*type == 'a')
                assert_true(sd_bus_message_append_strv(message, (char **) value) >= 0);
        else
                assert_true(sd_bus_message_append(message, type, value) >= 0);
        assert_true(sd_bus_message_close_container(message) >= 0);
        assert_true(sd_bus_message_close_container(message) >= 0);
}

static double format_all(void) {
        struct timespec from, to;

        assert_true(sd_bus_message_close_container(message) >= 0);
        assert_true(sd_bus_message_seal(message, 1, 0) >= 0);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        assert_true(properties_format(message, &shown, &n_shown) >= 0);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        return (double) (to.tv_sec - from.tv_sec) * 1e3 + (double) (to.tv_nsec - from.tv_nsec) / 1e6;
}

static void of_a_long_text_the_beginning_is_shown(void **state) {
        static char text[LONG + 1];

        memset(text, 'x', LONG);
        add("Bytes", "ay", text);
        add("Text", "s", text);
        add("Short", "s", "a");
        double ms = format_all();
        assert_int_equal(n_shown, 3);
        for (size_t i = 0; i < 2; i++) {
                assert_int_equal(strlen(shown[i]->value), PROPERTY_TEXT_MAX + 3);
                assert_string_equal(shown[i]->value + PROPERTY_TEXT_MAX, "...");
        }
        assert_string_equal(shown[2]->value, "a");
        assert_true(ms < 100); // it took seconds, and a slow machine takes more than 20 ms
}

static void behind_an_endless_list_nothing_is_read(void **state) {
        static char *many[LONG / 8 + 1];

        for (size_t i = 0; i < LONG / 8; i++)
                many[i] = (char *) "a";
        add("Before", "s", "a");
        add("Many", "as", many);
        add("Behind", "s", "a");
        assert_true(format_all() < 20);
        assert_int_equal(n_shown, 2);
        assert_int_equal(strlen(shown[1]->value), PROPERTY_TEXT_MAX + 3);
}

static void a_short_one_is_shown_whole(void **state) {
        static char *few[] = {(char *) "a", (char *) "b", NULL};

        add("Few", "as", few);
        add("Behind", "s", "c");
        (void) format_all();
        assert_int_equal(n_shown, 2);
        assert_string_equal(shown[0]->value, "a b");
        assert_string_equal(shown[1]->value, "c");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        CASE(of_a_long_text_the_beginning_is_shown),
        CASE(behind_an_endless_list_nothing_is_read),
        CASE(a_short_one_is_shown_whole)
)
