// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See door.h. A head is cut into lines, of which each is compared with the few that matter; what is passed
// on is written anew, without what is between the browser and us. What is not as HTTP has it, is there twice
// or too long is refused with a status and words, and nothing of it goes on. Without memory so is the
// request.

#include "door.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "random.h"
#include "str.h"

#define COOKIE "argosy-dashboard="
#define SECRET "/?secret="

// A part of the head, not NUL-terminated.
typedef struct Span {
        const char *s;
        size_t len;
} Span;

typedef struct Head {
        Span method, target, host, origin, length;
        bool has_cookie; // ours
        bool is_doubled; // there are two of what may be there once
        bool is_chunked;
} Head;

static const struct {
        unsigned status;
        const char *words;
} statuses[] = {
        {400, "Bad Request"},       {403, "Forbidden"},           {411, "Length Required"},
        {413, "Content Too Large"}, {421, "Misdirected Request"}, {431, "Request Header Fields Too Large"},
        {502, "Bad Gateway"},       {503, "Service Unavailable"},
};

void door_init(Door *d) {
        uint8_t keys[2][DOOR_KEY_SIZE], name[8];
        char hex[2 * sizeof(name) + 1];

        random_bytes(keys, sizeof(keys));
        random_bytes(name, sizeof(name));
        *d = (Door){};
        hex_encode(keys[0], DOOR_KEY_SIZE, d->secret);
        hex_encode(keys[1], DOOR_KEY_SIZE, d->cookie);
        hex_encode(name, sizeof(name), hex);
        str_fit(d->name, sizeof(d->name), "argosy-%s.localhost", hex);
}

size_t door_head_length(const char *bytes, size_t len) {
        const char *end = memmem(bytes, len, "\r\n\r\n", 4);

        return end ? (size_t) (end - bytes) + 4 : 0;
}

// ---- words

static bool span_is(Span a, const char *s) {
        return a.len == strlen(s) && strncasecmp(a.s, s, a.len) == 0;
}

// In a time that does not say how much of it is right.
static bool is_key(Span a, const char *key) {
        unsigned differs = 0;

        if (a.len != strlen(key))
                return false;
        for (size_t i = 0; i < a.len; i++)
                differs |= (unsigned) (a.s[i] ^ key[i]);
        return differs == 0;
}

static Span trimmed(const char *begin, const char *end) {
        while (begin < end && (*begin == ' ' || *begin == '\t'))
                begin++;
        while (end > begin && (end[-1] == ' ' || end[-1] == '\t'))
                end--;
        return (Span){begin, (size_t) (end - begin)};
}

static bool is_token(Span a) {
        for (size_t i = 0; i < a.len; i++)
                if (a.s[i] <= ' ' || a.s[i] >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", a.s[i]))
                        return false;
        return a.len > 0;
}

static bool has_cookie(const Door *d, Span cookies) {
        const char *p = cookies.s, *end = cookies.s + cookies.len;

        while (p < end) {
                const char *next = memchr(p, ';', (size_t) (end - p)) ?: end;
                Span one = trimmed(p, next);
                size_t n = strlen(COOKIE);

                if (one.len > n && memcmp(one.s, COOKIE, n) == 0 &&
                    is_key((Span){one.s + n, one.len - n}, d->cookie))
                        return true;
                p = next + 1;
        }
        return false;
}

// ---- the head

static bool read_line(Span line, Head *ret) {
        const char *end = line.s + line.len, *first = memchr(line.s, ' ', line.len),
                   *last = memrchr(line.s, ' ', line.len);

        if (!first || first == last)
                return false;
        ret->method = (Span){line.s, (size_t) (first - line.s)};
        ret->target = (Span){first + 1, (size_t) (last - first - 1)};
        if (!is_token(ret->method) || ret->target.len == 0 || *ret->target.s != '/')
                return false;
        for (size_t i = 0; i < ret->target.len; i++)
                if (ret->target.s[i] <= ' ' || ret->target.s[i] >= 0x7f)
                        return false;
        return (size_t) (end - last - 1) == strlen("HTTP/1.1") &&
               memcmp(last + 1, "HTTP/1.1", strlen("HTTP/1.1")) == 0;
}

static void take_once(Head *h, Span *field, Span value) {
        h->is_doubled |= field->s != NULL;
        *field = value;
}

// What is between the browser and us alone, and what says who somebody is: argosyd asks the kernel.
static bool is_ours(Span name) {
        static const char *const names[] = {
                "Connection", "Keep-Alive",    "Proxy-Connection",    "TE",     "Upgrade",
                "Cookie",     "Authorization", "Proxy-Authorization", "Trailer"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (span_is(name, names[i]))
                        return true;
        return false;
}

// 1: it is to be passed on, 0: it is not, -EINVAL: it is no header.
static int read_header(const Door *d, Span line, Head *h) {
        const char *colon = memchr(line.s, ':', line.len);
        Span name, value;

        if (!colon)
                return -EINVAL;
        name = (Span){line.s, (size_t) (colon - line.s)};
        value = trimmed(colon + 1, line.s + line.len);
        if (!is_token(name)) // a line that goes on with a blank is none either
                return -EINVAL;
        if (span_is(name, "Host"))
                take_once(h, &h->host, value);
        else if (span_is(name, "Origin"))
                take_once(h, &h->origin, value);
        else if (span_is(name, "Content-Length"))
                take_once(h, &h->length, value);
        else if (span_is(name, "Transfer-Encoding"))
                h->is_chunked = true;
        else if (span_is(name, "Cookie"))
                h->has_cookie |= has_cookie(d, value);
        return !is_ours(name);
}

// What of it is passed on, without the end. 0, -EINVAL or -ENOMEM.
static int read_head(const Door *d, const char *head, size_t len, Head *ret, Buf *out) {
        const char *p = head, *end = head + len - 2; // the empty line

        for (size_t i = 0; i < len; i++) // a line ends with both or not at all
                if (head[i] == 0 || (head[i] == '\n' && (i == 0 || head[i - 1] != '\r')) ||
                    (head[i] == '\r' && (i + 1 == len || head[i + 1] != '\n')))
                        return -EINVAL;
        while (p < end) {
                const char *next = memmem(p, (size_t) (head + len - p), "\r\n", 2);
                Span line = {p, (size_t) (next - p)};
                int r = p == head ? read_line(line, ret) ? 1 : -EINVAL : read_header(d, line, ret);

                if (r < 0)
                        return r;
                if (r > 0 && buf_append(out, p, line.len + 2) < 0)
                        return -ENOMEM;
                p = next + 2;
        }
        return 0;
}

// ---- the verdict

static bool is_our_name(const Door *d, Span host) {
        const char *colon = memrchr(host.s, ':', host.len);
        Span name = {host.s, colon ? (size_t) (colon - host.s) : host.len};

        // Whatever the port: it may be another one at the far end of an ssh -L.
        return span_is(name, d->name) || span_is(name, "127.0.0.1") || span_is(name, "localhost");
}

static bool is_same_origin(Span origin, Span host) {
        size_t n = strlen("http://");

        return origin.len == n + host.len && memcmp(origin.s, "http://", n) == 0 &&
               memcmp(origin.s + n, host.s, host.len) == 0;
}

static bool read_length(Span length, uint64_t *ret) {
        char text[24];

        if (!length.s) {
                *ret = 0;
                return true;
        }
        if (length.len >= sizeof(text))
                return false;
        memcpy(text, length.s, length.len);
        text[length.len] = 0;
        return parse_u64(text, DOOR_BODY_MAX, ret);
}

static DoorVerdict refuse(DoorAnswer *ret, unsigned status, const char *why) {
        *ret = (DoorAnswer){.status = status, .why = why};
        return DOOR_REFUSED;
}

static DoorVerdict judge(Door *d, const Head *h, DoorAnswer *ret) {
        size_t n = strlen(SECRET);
        bool brings = span_is(h->method, "GET") && h->target.len > n && memcmp(h->target.s, SECRET, n) == 0;

        if (h->is_doubled || !h->host.s)
                return refuse(ret, 400, "the request is not understood");
        if (!is_our_name(d, h->host))
                return refuse(ret, 421, "this is not the address that argosyctl has printed");
        if (h->origin.s && !is_same_origin(h->origin, h->host))
                return refuse(ret, 403, "another page has asked for this");
        if (brings && !h->has_cookie) {
                if (!is_key((Span){h->target.s + n, h->target.len - n}, d->secret))
                        return refuse(ret, 403, "this is not the address that argosyctl has printed");
                if (d->used)
                        return refuse(ret, 403,
                                      "a browser has used this address already; end argosyctl dashboard and "
                                      "start it again");
                d->used = true;
        }
        if (brings)
                return DOOR_WELCOME;
        if (!h->has_cookie)
                return refuse(ret, 403, "open the whole address that argosyctl dashboard has printed");
        if (h->is_chunked)
                return refuse(ret, 411, "a body without its length");
        if (!read_length(h->length, &ret->body))
                return refuse(ret, h->length.len < 20 ? 413 : 400, "the body is too long");
        return DOOR_PASS;
}

int door_refuse(unsigned status, const char *why, Buf *out) {
        const char *words = "Error";

        for (size_t i = 0; i < ELEMENTSOF(statuses); i++)
                if (statuses[i].status == status)
                        words = statuses[i].words;
        // As argosyd's own problems, so that the page shows them as such.
        return buf_printf(
                out,
                "HTTP/1.1 %u %s\r\nContent-Type: application/problem+json\r\nCache-Control: no-store\r\n"
                "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
                "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%u,\"detail\":\"%s\"}\n",
                status, words, words, status, why);
}

int door_judge(Door *d, const char *head, size_t len, Buf *head_out, DoorAnswer *ret) {
        Head h = {};
        DoorVerdict verdict;
        int r = read_head(d, head, len, &h, head_out);

        *ret = (DoorAnswer){};
        if (r == -ENOMEM)
                return r;
        verdict = r < 0 ? refuse(ret, 400, "the request is not understood") : judge(d, &h, ret);
        if (verdict == DOOR_PASS)
                r = buf_printf(head_out, "Connection: close\r\n\r\n");
        else {
                head_out->len = 0;
                r = verdict == DOOR_WELCOME
                            ? buf_printf(head_out,
                                         "HTTP/1.1 303 See Other\r\nLocation: /\r\n"
                                         "Set-Cookie: " COOKIE "%s; Path=/; HttpOnly; SameSite=Strict\r\n"
                                         "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
                                         "Content-Length: 0\r\nConnection: close\r\n\r\n",
                                         d->cookie)
                            : door_refuse(ret->status, ret->why, head_out);
        }
        return r < 0 ? r : (int) verdict;
}
