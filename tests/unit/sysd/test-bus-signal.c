// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Signals that sd-bus has written, read by ourselves: every type, every cut, every byte turned.
#include <errno.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "buf.h"
#include "bus-signal.h"
#include "systemd-message.h"
#include "systemd-signal.h"
#include "test.h"

static sd_bus *writer;
static int wire; // where its bytes come out
static Buf bytes;
static uint32_t serial;

static void read_wire(void) {
        ssize_t n;

        while ((n = recv(wire, buf_reserve(&bytes, 65536), 65536, MSG_DONTWAIT)) > 0)
                bytes.len += (size_t) n;
}

// A bus in the role of systemd: it accepts whoever comes.
static int setup(void **state) {
        static const char hello[] = "\0AUTH ANONYMOUS 30\r\nBEGIN\r\n";
        sd_id128_t id = SD_ID128_MAKE(01, 23, 45, 67, 89, ab, cd, ef, 01, 23, 45, 67, 89, ab, cd, ef);
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        assert_return_code(sd_bus_new(&writer), 0);
        assert_return_code(sd_bus_set_fd(writer, pair[0], pair[0]), 0);
        assert_return_code(sd_bus_set_server(writer, true, id), 0);
        assert_return_code(sd_bus_set_anonymous(writer, true), 0);
        assert_return_code(sd_bus_start(writer), 0);
        wire = pair[1];
        assert_int_equal(write(wire, hello, sizeof(hello) - 1), sizeof(hello) - 1);
        while (sd_bus_process(writer, NULL) > 0)
                ;
        assert_int_equal(sd_bus_is_ready(writer), 1);
        read_wire();
        bytes.len = 0;
        serial = 0;
        return 0;
}

FIXTURE(teardown) {
        writer = sd_bus_close_unref(writer);
        close(wire);
        buf_done(&bytes);
}

static sd_bus_message *begin(const char *member) {
        sd_bus_message *m;

        assert_return_code(sd_bus_message_new_signal(writer, &m, SYSTEMD_PATH "/unit/web_2eservice",
                                                     "org.freedesktop.DBus.Properties", member),
                           0);
        return m;
}

// `bytes` are then those of this message alone.
static void end(sd_bus_message *m) {
        bytes.len = 0;
        assert_return_code(sd_bus_send(writer, m, NULL), 0);
        assert_return_code(sd_bus_flush(writer), 0);
        sd_bus_message_unref(m);
        read_wire();
        serial++;
}

static int read_bytes(const uint8_t *message, size_t len, BusSignal *ret) {
        BusHead head;
        int r = bus_head_read(message, &head);

        if (r < 0)
                return r;
        if (head.total != len)
                return -EMSGSIZE;
        return bus_signal_read(&head, message, ret);
}

static void a_signal_is_what_sd_bus_wrote(void **state) {
        sd_bus_message *m = begin("Hello");
        BusSignal s;
        BusHead head;

        assert_return_code(sd_bus_message_append(m, "uos", 4711, "/job/1", "web.service"), 0);
        end(m);
        assert_int_equal(bus_head_read(bytes.data, &head), 0);
        assert_int_equal(head.type, BUS_TYPE_SIGNAL);
        assert_int_equal(head.total, bytes.len);
        assert_int_equal(head.serial, serial);
        assert_int_equal(read_bytes(bytes.data, bytes.len, &s), 0);
        assert_string_equal(s.path, SYSTEMD_PATH "/unit/web_2eservice");
        assert_string_equal(s.interface, "org.freedesktop.DBus.Properties");
        assert_string_equal(s.member, "Hello");
        assert_string_equal(s.signature, "uos");
        assert_int_equal(bus_read_u32(&s.body), 4711);
        assert_string_equal(bus_read_string(&s.body), "/job/1");
        assert_string_equal(bus_read_string(&s.body), "web.service");
        assert_int_equal(s.body.error, 0);
        assert_int_equal(s.body.at, s.body.len);
        assert_int_equal(bus_read_u32(&s.body), 0);
        assert_int_equal(s.body.error, -EBADMSG);
}

// A value of each type, with something behind it that tells where the value ended.
static void every_type_is_gone_behind(void **state) {
        static const char *const others[] = {"ay", "as", "as", "a(st)", "a(st)", "a{sv}", "(ys(bt))"};
        static const uint8_t some[] = {1, 2, 3};
        sd_bus_message *m = begin("All");
        BusSignal s;

        assert_return_code(sd_bus_message_append(m, "ybnqiuxtdsog", 1, 1, 2, 3, 4, 5, INT64_C(6),
                                                 UINT64_C(7), 8.0, "text", "/path", "a{sv}"),
                           0);
        assert_return_code(sd_bus_message_append_array(m, 'y', some, sizeof(some)), 0);
        assert_return_code(sd_bus_message_append(m, "asas", 2, "one", "two", 0), 0);
        assert_return_code(sd_bus_message_append(m, "a(st)a(st)", 2, "a", UINT64_C(1), "b", UINT64_C(2), 0),
                           0);
        assert_return_code(sd_bus_message_append(m, "a{sv}", 2, "k", "s", "v", "l", "t", UINT64_C(9)), 0);
        assert_return_code(sd_bus_message_append(m, "(ys(bt))", 1, "in", true, UINT64_C(3)), 0);
        assert_return_code(sd_bus_message_append(m, "v", "a(sasbttttuii)", 1, "p", 1, "q", 0, UINT64_C(1),
                                                 UINT64_C(1), UINT64_C(1), UINT64_C(1), 1, 1, 1),
                           0);
        assert_return_code(sd_bus_message_append(m, "v", "v", "y", 5), 0);
        assert_return_code(sd_bus_message_append(m, "s", "the end"), 0);
        end(m);
        assert_int_equal(read_bytes(bytes.data, bytes.len, &s), 0);
        const char *rest = s.signature;
        for (size_t n = strlen("ybnqiuxtdsog"); n > 0; n--)
                bus_skip(&s.body, rest++);
        for (size_t i = 0; i < ELEMENTSOF(others); i++) {
                assert_memory_equal(rest, others[i], strlen(others[i]));
                bus_skip(&s.body, rest);
                rest += strlen(others[i]);
        }
        assert_string_equal(rest, "vvs");
        bus_skip_variant(&s.body);
        bus_skip_variant(&s.body);
        assert_string_equal(bus_read_string(&s.body), "the end");
        assert_int_equal(s.body.error, 0);
        assert_int_equal(s.body.at, s.body.len);
}

// A number or a text is passed in one step, anything else type by type: both come to the same place, and to
// no place of a variant that is cut.
static void a_variant_is_passed_in_one_step_as_in_many(void **state) {
        static const char *const types[] = {"y", "b", "n", "q", "i", "u", "x", "t", "d", "s", "o", "g"};
        sd_bus_message *m = begin("Variants");
        BusSignal s;

        assert_return_code(sd_bus_message_append(m, "vvvv", "y", 1, "b", 1, "n", 2, "q", 3), 0);
        assert_return_code(sd_bus_message_append(m, "vvvvv", "i", 4, "u", 5, "x", INT64_C(6), "t",
                                                 UINT64_C(7), "d", 8.0),
                           0);
        assert_return_code(sd_bus_message_append(m, "vvv", "s", "text", "o", "/path", "g", "a{sv}"), 0);
        end(m);
        assert_int_equal(read_bytes(bytes.data, bytes.len, &s), 0);
        for (size_t i = 0; i < ELEMENTSOF(types); i++) {
                BusReader at_once = s.body;

                bus_skip(&s.body, "v");
                assert_int_equal(s.body.error, 0);
                for (size_t len = at_once.at; len <= s.body.len; len++) {
                        BusReader cut = at_once;

                        cut.len = len;
                        bus_skip_variant(&cut);
                        assert_int_equal(cut.error, len < s.body.at ? -EBADMSG : 0);
                        assert_int_equal(cut.at, len < s.body.at ? len : s.body.at);
                }
        }
        assert_int_equal(s.body.at, s.body.len);
}

static void write_unit_changes(void) {
        static const uint8_t invocation[16] = "an invocation id";
        sd_bus_message *m = begin("PropertiesChanged");

        assert_return_code(sd_bus_message_append(m, "s", SYSTEMD_UNIT), 0);
        assert_return_code(sd_bus_message_open_container(m, 'a', "{sv}"), 0);
        assert_return_code(sd_bus_message_append(m, "{sv}{sv}{sv}", "ActiveState", "s", "deactivating",
                                                 "FreezerState", "s", "running", "SubState", "s",
                                                 "stop-sigterm"),
                           0);
        assert_return_code(sd_bus_message_append(m, "{sv}{sv}", "ActiveExitTimestamp", "t", UINT64_C(77),
                                                 "InactiveEnterTimestamp", "t", UINT64_C(66)),
                           0);
        assert_return_code(sd_bus_message_append(m, "{sv}", "Job", "(uo)", 17, "/job/17"), 0);
        assert_return_code(sd_bus_message_append(m, "{sv}{sv}", "ConditionResult", "b", 1,
                                                 "ConditionTimestamp", "t", UINT64_C(55)),
                           0);
        assert_return_code(sd_bus_message_append(m, "{sv}", "Conditions", "a(sbbsi)", 1,
                                                 "ConditionPathExists", 0, 1, "/x", -1),
                           0);
        assert_return_code(sd_bus_message_open_container(m, 'e', "sv"), 0);
        assert_return_code(sd_bus_message_append(m, "s", "InvocationID"), 0);
        assert_return_code(sd_bus_message_open_container(m, 'v', "ay"), 0);
        assert_return_code(sd_bus_message_append_array(m, 'y', invocation, sizeof(invocation)), 0);
        assert_return_code(sd_bus_message_close_container(m), 0);
        assert_return_code(sd_bus_message_close_container(m), 0);
        assert_return_code(sd_bus_message_close_container(m), 0);
        assert_return_code(sd_bus_message_append(m, "as", 1, "StatusErrno"), 0);
        end(m);
}

static void what_changed_of_a_unit_is_found(void **state) {
        UnitFacts facts;
        BusSignal s;

        write_unit_changes();
        assert_int_equal(read_bytes(bytes.data, bytes.len, &s), 0);
        assert_string_equal(s.signature, "sa{sv}as");
        assert_int_equal(signal_read_changes(&s, &facts), 0);
        assert_int_equal(facts.has, UNIT_FACT_ACTIVE | UNIT_FACT_SUB | UNIT_FACT_INVOCATION | UNIT_FACT_JOB |
                                            UNIT_FACT_CONDITION);
        assert_int_equal(facts.job, 17);
        assert_true(facts.condition);
        assert_int_equal(facts.times[UNIT_TIME_CONDITION], 55);
        assert_int_equal(facts.active, ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING);
        assert_string_equal(facts.sub, "stop-sigterm");
        assert_memory_equal(facts.invocation_id, "an invocation id", 16);
        assert_int_equal(facts.times[UNIT_TIME_ACTIVE_EXIT], 77);
        assert_int_equal(facts.times[UNIT_TIME_INACTIVE_ENTER], 66);
        assert_int_equal(facts.times[UNIT_TIME_ACTIVE_ENTER], 0);
}

static UnitFacts changes(const char *interface, const char *property, const char *type, const char *value,
                         int expected) {
        static char kept[256];
        sd_bus_message *m = begin("PropertiesChanged");
        UnitFacts facts;
        BusSignal s;

        assert_return_code(sd_bus_message_append(m, "sa{sv}as", interface, 1, property, type, value, 0), 0);
        end(m);
        assert_int_equal(read_bytes(bytes.data, bytes.len, &s), 0);
        assert_int_equal(signal_read_changes(&s, &facts), expected);
        if (facts.has & UNIT_FACT_RESULT) {
                snprintf(kept, sizeof(kept), "%s", facts.result);
                facts.result = kept;
        }
        return facts;
}

// As systemd 257 sends it; 252 has no such time, and 257 has 0 until then.
static void when_a_service_began_with_its_program_is_found(void **state) {
        sd_bus_message *m = begin("PropertiesChanged");
        UnitFacts facts;
        BusSignal s;

        assert_return_code(sd_bus_message_append(m, "sa{sv}as", "org.freedesktop.systemd1.Service", 5,
                                                 "Result", "s", "success", "NRestarts", "u", 2,
                                                 "ExecMainStartTimestamp", "t", UINT64_C(70),
                                                 "ExecMainHandoffTimestamp", "t", UINT64_C(77),
                                                 "ExecMainCode", "i", 1, 0),
                           0);
        end(m);
        assert_int_equal(read_bytes(bytes.data, bytes.len, &s), 0);
        assert_int_equal(signal_read_changes(&s, &facts), 0);
        assert_int_equal(facts.has, UNIT_FACT_RESULT | UNIT_FACT_RESTARTS | UNIT_FACT_EXEC | UNIT_FACT_EXIT);
        assert_int_equal(facts.times[UNIT_TIME_EXEC], 77);
        assert_int_equal(changes("org.freedesktop.systemd1.Service", "Result", "s", "success", 0).has,
                         UNIT_FACT_RESULT);
}

static void a_result_is_the_types(void **state) {
        assert_string_equal(
                changes("org.freedesktop.systemd1.Service", "Result", "s", "exit-code", 0).result,
                "exit-code");
        assert_string_equal(changes("org.freedesktop.systemd1.Mount", "Result", "s", "success", 0).result,
                            "success");
        assert_int_equal(changes("org.freedesktop.systemd1.Service", "ActiveState", "s", "active", 0).has,
                         0);
        assert_int_equal(changes("org.freedesktop.systemd1.Slice", "Result", "s", "success", 0).has, 0);
        assert_int_equal(changes(SYSTEMD_UNIT, "Result", "s", "success", 0).has, 0);
        assert_int_equal(changes(SYSTEMD_UNIT, "ActiveStates", "s", "active", 0).has, 0);
}

static void a_value_of_another_type_or_no_word_is_refused(void **state) {
        changes(SYSTEMD_UNIT, "ActiveState", "o", "/active", -EBADMSG);
        changes(SYSTEMD_UNIT, "SubState", "s", "two words", -EBADMSG);
        changes(SYSTEMD_UNIT, "SubState", "s", "r\xc3\xbcnning", -EBADMSG);
        changes(SYSTEMD_UNIT, "InvocationID", "s", "no bytes", -EBADMSG);
        changes("org.freedesktop.systemd1.Service", "Result", "g", "s", -EBADMSG);
}

// Whatever is not there is not read: each prefix stands at the end of its own memory, where ASan sees a step
// too far.
static void a_message_that_is_cut_says_less_or_nothing(void **state) {
        write_unit_changes();
        for (size_t len = BUS_HEAD_BYTES; len < bytes.len; len++) {
                uint8_t *cut = memcpy(malloc(len), bytes.data, len);
                uint32_t body = (uint32_t) (bytes.len - len), before;
                UnitFacts facts;
                BusSignal s;

                memcpy(&before, cut + 4, sizeof(before));
                if (before >= body) { // a shorter body, as its head says
                        before -= body;
                        memcpy(cut + 4, &before, sizeof(before));
                        assert_int_equal(read_bytes(cut, len, &s), 0);
                        if (signal_read_changes(&s, &facts) == 0) // all but the names at the end was there
                                assert_true(bytes.len - len <= 20);
                }
                free(cut);
        }
}

static void no_byte_leads_outside(void **state) {
        static const uint8_t values[] = {0, 1, 7, 8, 'a', 'v', '(', 's', 0x7f, 0x80, 0xff};

        write_unit_changes();
        for (size_t at = 0; at < bytes.len; at++)
                for (size_t v = 0; v < ELEMENTSOF(values); v++) {
                        uint8_t *turned = memcpy(malloc(bytes.len), bytes.data, bytes.len);
                        UnitFacts facts;
                        BusSignal s;

                        turned[at] = values[v];
                        if (read_bytes(turned, bytes.len, &s) == 0 && signal_read_changes(&s, &facts) == 0 &&
                            facts.has & UNIT_FACT_SUB)
                                assert_true((const uint8_t *) facts.sub > turned &&
                                            (const uint8_t *) facts.sub < turned + bytes.len);
                        free(turned);
                }
}

// In each other, as deep as a message may be long.
static void depth_has_an_end(void **state) {
        enum { DEPTH = 100000 };
        _cleanup_buf_ Buf b = {};

        for (unsigned i = 0; i < DEPTH; i++)
                assert_int_equal(buf_append(&b, "\1v", 3), 0);
        BusReader r = (BusReader){.data = b.data, .len = b.len, .little = true};
        bus_skip_variant(&r);
        assert_int_equal(r.error, -EBADMSG);
}

static void both_byte_orders_are_read(void **state) {
        static const uint8_t big[] = {0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2};
        BusReader r = {.data = big, .len = sizeof(big)};

        assert_int_equal(bus_read_u32(&r), 5);
        assert_int_equal(bus_read_u64(&r), 258);
        r = (BusReader){.data = big, .len = sizeof(big), .little = true};
        assert_int_equal(bus_read_u32(&r), 0x05000000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(
        TEST(a_signal_is_what_sd_bus_wrote),
        TEST(every_type_is_gone_behind),
        TEST(a_variant_is_passed_in_one_step_as_in_many),
        TEST(what_changed_of_a_unit_is_found),
        TEST(when_a_service_began_with_its_program_is_found),
        TEST(a_result_is_the_types),
        TEST(a_value_of_another_type_or_no_word_is_refused),
        TEST(a_message_that_is_cut_says_less_or_nothing),
        TEST(no_byte_leads_outside),
        TEST(depth_has_an_end),
        TEST(both_byte_orders_are_read)
)
