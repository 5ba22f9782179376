// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever somebody says on a connection for HTTP, in pieces of so many bytes as the first byte says: it
// gets an end, whole answers and no more of them than a reader of requests who takes nothing but what RFC
// 9112 wants finds requests in it; and if that finds one, an answer. Whoever stands in front of us may be
// that reader: what we answered beyond it would be a request that it did not see.

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "accounts.h"
#include "author-names.h"
#include "buf.h"
#include "http-api.h"
#include "macro.h"
#include "message.h"
#include "str.h"
#include "stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
        INPUT_MAX = 6000, // of which every head has room in a connection's memory
        WORDS_MAX = 48,
};

static struct {
        uv_loop_t loop;
        Accounts *accounts;
        AuthorNames *names;
        HttpApi *api;
        char dir[32], path[64];
} f = {.dir = "/tmp/fuzz-http-head-XXXXXX"};

// ---- who answers

static void on_request(HttpCall *call, Argosy__Request *request, const Argosy__Author *author,
                       void *userdata) {
        message_free(request);
        http_call_fail(call, ENOENT, NULL);
}

static void on_cancel(void *route, void *userdata) {
}

static bool admits(const Argosy__Author *author, void *userdata) {
        return true;
}

static bool is_ready(void *userdata) {
        return true;
}

static const HttpApiOps ops = {
        .request = on_request, .cancel = on_cancel, .admits = admits, .is_ready = is_ready};

static void tidy(void) {
        (void) unlink(f.path);
        (void) rmdir(f.dir);
}

static void begin(void) {
        int fd;

        if (f.api)
                return;
        if (!mkdtemp(f.dir))
                abort();
        str_fit(f.path, sizeof(f.path), "%s/http", f.dir);
        atexit(tidy);
        f.accounts = accounts_new(&account_limits);
        if (!f.accounts || uv_loop_init(&f.loop) < 0 ||
            author_names_new(&f.loop, &account_source_system, &f.names) < 0 ||
            listener_bind_unix(f.path, 0600, (gid_t) -1, &fd) < 0 ||
            http_api_new(&f.loop, fd, f.accounts, f.names, &ops, NULL, &f.api) < 0)
                abort();
}

// ---- who is right

static bool is_name(const char *text, size_t len) {
        for (size_t i = 0; i < len; i++)
                if (text[i] <= ' ' || text[i] == 0x7f || strchr("\"(),/:;<=>?@[\\]{}", text[i]))
                        return false;
        return len > 0;
}

static bool is_value(const char *text, size_t len) {
        for (size_t i = 0; i < len; i++)
                if (((unsigned char) text[i] < ' ' && text[i] != '\t') || text[i] == 0x7f)
                        return false;
        return true;
}

static bool is_digits(const char *text, size_t len) {
        for (size_t i = 0; i < len; i++)
                if (text[i] < '0' || text[i] > '9')
                        return false;
        return len > 0;
}

// "GET /target HTTP/1.1"
static bool is_first_line(const char *text, size_t len) {
        const char *target = memchr(text, ' ', len), *version;

        if (!target || target == text)
                return false;
        version = memchr(target + 1, ' ', len - (size_t) (target + 1 - text));
        if (!version || version == target + 1 || (size_t) (text + len - version) != strlen(" HTTP/1.1"))
                return false;
        for (const char *c = text; c < version; c++)
                if (((unsigned char) *c < ' ' || *c == 0x7f) || (*c == ' ' && c != target))
                        return false;
        return memcmp(version, " HTTP/1.", strlen(" HTTP/1.")) == 0 && is_digits(text + len - 1, 1);
}

typedef struct Head {
        unsigned n_hosts, n_lengths;
        uint64_t body;
} Head;

static bool take_header(Head *h, const char *text, size_t len) {
        const char *colon = memchr(text, ':', len), *end = text + len;
        size_t name = colon ? (size_t) (colon - text) : 0;

        if (!colon || !is_name(text, name))
                return false;
        for (colon++; colon < end && (*colon == ' ' || *colon == '\t'); colon++)
                ;
        if (!is_value(colon, (size_t) (end - colon)))
                return false;
        h->n_hosts += name == strlen("Host") && strncasecmp(text, "Host", name) == 0;
        if (name == strlen("Transfer-Encoding") && strncasecmp(text, "Transfer-Encoding", name) == 0)
                return false;
        if (name != strlen("Content-Length") || strncasecmp(text, "Content-Length", name) != 0)
                return true;
        h->n_lengths++;
        h->body = strtoull(colon, NULL, 10);
        return is_digits(colon, (size_t) (end - colon)) && end - colon < 10;
}

// Takes one request off it. False: there is none.
static bool take_request(const char **text, const char *end) {
        Head h = {};
        bool first = true;

        for (;;) {
                const char *line = *text, *lf = memmem(line, (size_t) (end - line), "\r\n", 2);
                size_t len = lf ? (size_t) (lf - line) : 0;

                if (!lf)
                        return false;
                *text = lf + 2;
                if (len == 0 && first)
                        continue; // empty lines in front of it
                if (len == 0)
                        break;
                if (first ? !is_first_line(line, len) : !take_header(&h, line, len))
                        return false;
                first = false;
        }
        if (h.n_hosts > 1 || h.n_lengths > 1 || h.body > (size_t) (end - *text))
                return false;
        *text += h.body;
        return true;
}

static size_t count_requests(const char *text, size_t len) {
        const char *end = text + len;
        size_t n = 0;

        while (take_request(&text, end))
                n++;
        return n;
}

// What cannot be seen (http-head.c): a NUL in front of a bare LF, and what libmicrohttpd takes for an empty
// line in front of a request.
static bool is_beyond_us(const char *text, size_t len) {
        for (size_t i = 0; i + 1 < len; i++)
                if ((text[i] == 0 && text[i + 1] == '\n') ||
                    (text[i] == '\n' && (text[i + 1] == '\n' || text[i + 1] == 0)))
                        return true;
        return len > 0 && (text[0] == 0 || text[0] == '\n');
}

// Each cookie and each header takes memory of the connection, and where there is none any more libmicrohttpd
// ends it without a word.
static bool is_too_much(const char *text, size_t len) {
        size_t n = 0;

        for (size_t i = 0; i < len; i++)
                n += text[i] == ';' || text[i] == ',' || text[i] == '\n';
        return n > WORDS_MAX;
}

// ---- what is said, and answered

static int dial(void) {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || !str_copy(at.sun_path, sizeof(at.sun_path), f.path) ||
            connect(fd, (struct sockaddr *) &at, sizeof(at)) < 0)
                abort();
        return fd;
}

// Of what was said nothing waits to be read any more. libmicrohttpd 0.9.75 sees an end that comes right
// behind some bytes only when it looks for who is late.
static bool is_heard(int fd) {
        int n = 0;

        return ioctl(fd, SIOCOUTQ, &n) < 0 || n == 0;
}

// What comes of it, or what the loop is asked meanwhile. False: it is over.
static bool read_some(int fd, Buf *got, int wait_ms) {
        struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = uv_backend_fd(&f.loop), .events = POLLIN}};
        char buf[4096];
        ssize_t n;

        (void) uv_run(&f.loop, UV_RUN_NOWAIT);
        if (poll(p, 2, wait_ms) <= 0 || !p[0].revents)
                return true;
        n = read(fd, buf, sizeof(buf));
        if (n > 0 && buf_append(got, buf, (size_t) n) < 0)
                abort();
        return n > 0;
}

static size_t count(const Buf *b, const char *words) {
        size_t n = 0;

        for (size_t i = 0; i + strlen(words) <= b->len; i++)
                n += memcmp(b->data + i, words, strlen(words)) == 0;
        return n;
}

static void print(const char *what, const char *text, size_t len) {
        fprintf(stderr, "%s: ", what);
        for (size_t i = 0; i < len; i++)
                if (text[i] >= ' ' && text[i] < 0x7f)
                        fputc(text[i], stderr);
                else
                        fprintf(stderr, "\\x%02x", (unsigned char) text[i]);
        fputc('\n', stderr);
}

static void fail(const char *why, const char *text, size_t len, const Buf *got) {
        print(why, text, len);
        print("answer", (const char *) got->data, got->len);
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *text = (const char *) data + 1;
        _cleanup_buf_ Buf got = {};
        size_t len = size - 1, n_requests;
        int fd;

        if (size < 2 || size > INPUT_MAX)
                return 0;
        begin();
        fd = dial();
        for (size_t at = 0, n; at < len; at += n) {
                n = MIN_OF(data[0] == 0 ? len : data[0] * (size_t) 8, len - at);
                if (send(fd, text + at, n, MSG_NOSIGNAL) < 0)
                        break; // it has heard enough
                if (at + n < len)
                        (void) read_some(fd, &got, 0);
        }
        while (!is_heard(fd) && read_some(fd, &got, 1))
                ;
        (void) shutdown(fd, SHUT_WR);
        while (read_some(fd, &got, uv_backend_timeout(&f.loop)))
                ;
        close(fd);
        while (http_api_stats(f.api).http_requests_open > 0) // nothing of it is left, or this never ends
                (void) uv_run(&f.loop, UV_RUN_NOWAIT);
        n_requests = count_requests(text, len);
        if (count(&got, "HTTP/1.1 200 ") > n_requests && !is_beyond_us(text, len))
                fail("a request was answered that somebody else has not seen", text, len, &got);
        if (n_requests > 0 && got.len == 0 && !is_too_much(text, len))
                fail("nothing was answered", text, len, &got);
        return 0;
}
