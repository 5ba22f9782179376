// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A helper in the hands of its user: whatever it does, argosyd loses no more than that helper.
#include "loop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "helper-link.h"
#include "messages.h"
#include "str.h"

enum { IMPATIENCE_MS = 50, SOMEBODY = 12345 };

// ---- what helpers do

static void send_bytes(const void *data, size_t len) {
        if (write(STDIN_FILENO, data, len) < 0)
                _exit(EXIT_FAILURE);
}

static void send_empty(int n) { // an empty reply is one
        static const uint8_t frame[4] = {};

        for (int i = 0; i < n; i++)
                send_bytes(frame, sizeof(frame));
}

static void pass(int fd) {
        uint8_t frame[4] = {};

        union {
                struct cmsghdr header;
                char bytes[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct iovec iov = {frame, sizeof(frame)};
        struct msghdr m = {.msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof(control)};

        control.header = (struct cmsghdr){
                .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
        if (sendmsg(STDIN_FILENO, &m, 0) < 0)
                _exit(EXIT_FAILURE);
}

static void pass_socket_of(uid_t uid) {
        int fds[2];

        if (seteuid(uid) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
                _exit(EXIT_FAILURE);
        pass(fds[0]);
}

static int helper_main(const char *kind) {
        static const uint8_t huge[] = {0x7f, 0xff, 0xff, 0xff}, nonsense[] = {0, 0, 0, 2, 0xff, 0xff},
                             complaint[] = {0, 0, 0, 2, 0x12, 0}, // an empty reason
                good_news[] = {0, 0, 0, 2, 0x08, 0x05},           // error 5, which is none
                merged[] = {0, 0, 0, 4, 0xca, 0x0b, 1, 6};        // a load state that no directory shows

        if (streq(kind, "silent"))
                pause();
        else if (streq(kind, "huge"))
                send_bytes(huge, sizeof(huge));
        else if (streq(kind, "nonsense"))
                send_bytes(nonsense, sizeof(nonsense));
        else if (streq(kind, "good-news"))
                send_bytes(good_news, sizeof(good_news));
        else if (streq(kind, "merged"))
                send_bytes(merged, sizeof(merged));
        else if (streq(kind, "talkative"))
                send_empty(3);
        else if (streq(kind, "answers"))
                send_empty(1);
        else if (streq(kind, "complains")) {
                send_bytes(complaint, sizeof(complaint));
                return EXIT_FAILURE;
        } else if (streq(kind, "null"))
                pass(open("/dev/null", O_RDWR));
        else if (streq(kind, "theirs"))
                pass_socket_of(getuid() ?: SOMEBODY);
        else if (streq(kind, "others"))
                pass_socket_of(0);
        else
                return EXIT_FAILURE;
        pause();
        return EXIT_SUCCESS;
}

// ---- what argosyd sees

static struct {
        HelperLink *link;
        unsigned n_replies, n_ended, n_closed;
        int error, fd, reply_error;
} seen;

static void on_reply(const Argosy__HelperReply *reply, int fd, void *userdata) {
        seen.n_replies++;
        seen.fd = fd;
        seen.reply_error = reply->error;
}

static void on_ended(int error, void *userdata) {
        seen.n_ended++;
        seen.error = error;
        helper_link_close(seen.link);
}

static void on_closed(void *userdata) {
        seen.n_closed++;
}

static void start(const char *kind, bool connect) {
        static const HelperOps ops = {.reply = on_reply, .ended = on_ended, .closed = on_closed};
        const char *command[] = {"/proc/self/exe", "--helper", kind, NULL};
        char manager[32];
        HelperConfig config = {.loop = &test_loop,
                               .command = command,
                               .manager = manager,
                               .mode = connect ? HELPER_CONNECT : HELPER_WRITE,
                               .answer_ms = streq(kind, "silent") ? IMPATIENCE_MS : 0};

        memset(&seen, 0, sizeof(seen));
        seen.fd = -1;
        snprintf(manager, sizeof(manager), "user@%u", (unsigned) (getuid() ?: SOMEBODY));
        assert_int_equal(helper_link_new(&config, &ops, NULL, &seen.link), 0);
}

static void ask(void) {
        Argosy__HelperRequest q = ARGOSY__HELPER_REQUEST__INIT;

        assert_int_equal(helper_link_send(seen.link, &q), 0);
}

static void assert_ends(const char *kind, bool connect, int error) {
        start(kind, connect);
        if (!connect)
                ask();
        loop_until(seen.n_closed);
        assert_int_equal(seen.n_ended, 1);
        assert_int_equal(seen.error, error);
}

static void whoever_does_not_answer_is_ended(void **state) {
        assert_ends("silent", false, -ETIMEDOUT);
        assert_ends("silent", true, -ETIMEDOUT);
        assert_int_equal(seen.n_replies, 0);
}

static void what_is_no_reply_ends_it(void **state) {
        assert_ends("huge", false, -EBADMSG);
        assert_ends("nonsense", false, -EBADMSG);
        assert_ends("good-news", false, -EBADMSG);
        assert_ends("merged", false, -EBADMSG);
        assert_ends("talkative", false, -EBADMSG); // nobody asked for the second
        assert_int_equal(seen.n_replies, 1);
        assert_ends("ends", false, -ECONNRESET);
        assert_ends("ends", true, -ECONNRESET);
}

// One that cannot do its work says why and ends, without reading what it was asked.
static void the_last_words_of_one_that_ends_are_heard(void **state) {
        for (int i = 0; i < 20; i++) {
                assert_ends("complains", false, -ECONNRESET);
                assert_int_equal(seen.n_replies, 1);
        }
}

static void only_a_connection_to_the_manager_s_owner_is_taken(void **state) {
        static const char *const wrong[] = {"null", "answers", "others"};

        for (size_t i = 0; i < ELEMENTSOF(wrong); i++) {
                if (streq(wrong[i], "others") && getuid() != 0)
                        continue; // nobody to take it for
                start(wrong[i], true);
                loop_until(seen.n_replies);
                assert_int_equal(seen.fd, -1);
                assert_int_equal(seen.reply_error, -EPERM);
                helper_link_close(seen.link);
                loop_until(seen.n_closed);
        }
        start("theirs", true);
        loop_until(seen.n_replies);
        assert_true(seen.fd >= 0);
        close(seen.fd);
        helper_link_close(seen.link);
        loop_until(seen.n_closed);
        assert_int_equal(seen.n_ended, 0);
}

static void a_request_that_no_frame_takes_is_refused(void **state) {
        ProtobufCBinaryData content = {.len = HELPER_FRAME_MAX};

        content.data = calloc(1, content.len);
        Argosy__HelperRequest q = MESSAGE_OF(helper_request, .contents = &content, .n_contents = 1);
        start("silent", false);
        assert_int_equal(helper_link_send(seen.link, &q), -EMSGSIZE);
        helper_link_close(seen.link);
        loop_until(seen.n_closed);
        free(content.data);
}

#define T(f) cmocka_unit_test_setup_teardown(f, loop_setup, loop_teardown)

// ---- what is parsed

static bool is_reply(const uint8_t *data, size_t len) {
        Argosy__HelperReply *reply = helper_reply_parse(data, len);

        if (reply)
                argosy__helper_reply__free_unpacked(reply, NULL);
        return reply;
}

// `n` empty ones of a field whose key is two bytes long.
static bool is_reply_of(size_t n, const uint8_t key[static 2]) {
        _cleanup_free_ uint8_t *data = malloc(3 * n);

        for (size_t i = 0; i < n; i++)
                memcpy(data + 3 * i, (uint8_t[]){key[0], key[1], 0}, 3);
        return is_reply(data, 3 * n);
}

static void what_went_wrong_is_heard(void **state) {
        Argosy__HelperReply sent = HELPER_REPLY_OF(.error = -EACCES,
                                                   .why = (char *) "cannot become the user: not permitted"),
                            *received;
        Argosy__HelperResult result = MESSAGE_OF(helper_result,
                                                 .foreign = (char *) "/etc/systemd/system/web.service"),
                             *results[] = {&result};
        uint8_t bytes[128];

        sent.results = results;
        sent.n_results = 1;
        assert_true(argosy__helper_reply__get_packed_size(&sent) <= sizeof(bytes));
        received = helper_reply_parse(bytes, argosy__helper_reply__pack(&sent, bytes));
        assert_non_null(received);
        assert_int_equal(received->error, -EACCES);
        assert_string_equal(received->why, sent.why);
        assert_string_equal(received->results[0]->foreign, result.foreign);
        argosy__helper_reply__free_unpacked(received, NULL);
}

// Each takes memory, also if it is empty: together many times what the frame has.
static void a_reply_of_very_many_parts_is_none(void **state) {
        static const uint8_t line[] = {0x9a, 0x0c}, unknown[] = {0xf2, 0x0c}, load[] = {0xc8, 0x0b};
        _cleanup_free_ uint8_t *results = calloc(HELPER_REPLY_MAX, 1);

        assert_true(is_reply_of(16 * 1024, line));
        assert_false(is_reply_of(85000, line));
        assert_false(is_reply_of(85000, unknown));
        assert_false(is_reply_of(85000, load));
        for (size_t i = 0; i < HELPER_REPLY_MAX; i += 2) // field 3, of no bytes
                results[i] = 0x1a;
        assert_true(is_reply(results, 2 * 512));
        assert_false(is_reply(results, HELPER_REPLY_MAX));
        // One result of 85,000 fields that nobody knows.
        memcpy(results, (uint8_t[]){0x1a, 0x80, 0x80, 0x0f}, 4);
        for (size_t i = 4; i + 3 <= 4 + 0xf * 0x4000; i += 3)
                memcpy(results + i, (uint8_t[]){unknown[0], unknown[1], 0}, 3);
        assert_false(is_reply(results, 4 + 0xf * 0x4000));
        // All loads that may be asked for, and more than a frame of them.
        memset(results, ARGOSY__LOAD_STATE__LOAD_LOADED, HELPER_REPLY_MAX);
        memcpy(results, (uint8_t[]){0xca, 0x0b, 0x80, 0x20}, 4);
        assert_true(is_reply(results, 4 + HELPER_NAMES_PER_REQUEST));
        memcpy(results, (uint8_t[]){0xca, 0x0b, 0x80, 0x80, 0x0f}, 5);
        assert_false(is_reply(results, 5 + 0xf * 0x4000));
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                T(whoever_does_not_answer_is_ended),
                T(what_is_no_reply_ends_it),
                T(the_last_words_of_one_that_ends_are_heard),
                T(only_a_connection_to_the_manager_s_owner_is_taken),
                T(a_request_that_no_frame_takes_is_refused),
                T(what_went_wrong_is_heard),
                cmocka_unit_test(a_reply_of_very_many_parts_is_none),
        };

        if (argc > 2 && streq(argv[1], "--helper"))
                return helper_main(argv[2]);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
