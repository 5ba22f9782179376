// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      on_target()  -> http_head_hide_parameters()
//      on_headers() -> http_head_judge() -> 400 or 411, and the connection ends
//
// What a header is called and what it says libmicrohttpd tells. How its lines ended it does not, and before
// version 1.0 it takes a bare LF for an end of line, joins lines that are folded, and stops at a NUL. But it
// copies nothing: a head lies in memory as it was sent, with NULs where a word or line ended. So each word
// has to be where it is if everything between them is what it should be:
//
//      GET 0 /v1/units 0 HTTP/1.1 0 0 Host 0 [blanks] x 0 0 ... 0 0 end
//                                ^ CR LF                    ^ the empty line
//
// and the size of the whole head, which libmicrohttpd tells, says where that is. From 1.0 on it refuses all
// of this by itself, when it is told to be strict (http_head_strictness()).
//
// What cannot be seen: empty lines before a request, which are skipped however they end, and a NUL right
// before a bare LF.

#include "http-head.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "macro.h"

typedef struct HeadCheck {
        unsigned n_hosts, n_lengths, n_encodings;
        bool strange;   // no name or value at all
        bool displaced; // its next word is not where it should be
        bool looks;     // whether anybody asks where words are
        uintptr_t at;   // where the next line begins
} HeadCheck;

// As RFC 9110 has tokens (5.6.2) and values (5.5).
static bool is_token(const char *text, size_t len) {
        static const char marks[] = "!#$%&'*+-.^_`|~";

        for (size_t i = 0; i < len; i++) {
                char c = text[i];
                bool alphanumeric =
                        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

                if (!alphanumeric && (c == 0 || !strchr(marks, c)))
                        return false;
        }
        return len > 0;
}

static bool is_field_value(const char *text, size_t len) {
        for (size_t i = 0; i < len; i++)
                if (((unsigned char) text[i] < ' ' && text[i] != '\t') || text[i] == 0x7f)
                        return false;
        return true;
}

static bool is_target(const char *text) {
        for (; *text; text++)
                if ((unsigned char) *text <= ' ' || *text == 0x7f)
                        return false;
        return true;
}

// Pointers that may be of several objects are compared as numbers.
static uintptr_t place(const char *text) {
        return (uintptr_t) text;
}

static bool is_at(const HeadCheck *check, const char *name, size_t name_len, const char *value) {
        return place(name) == check->at && place(value) > place(name) + name_len &&
               strspn(name + name_len + 1, " \t") == (size_t) (value - name) - name_len - 1;
}

static enum MHD_Result on_header(void *userdata, enum MHD_ValueKind kind, const char *name, size_t name_len,
                                 const char *value, size_t value_len) {
        HeadCheck *check = userdata;

        check->n_hosts += strcasecmp(name, "Host") == 0;
        check->n_lengths += strcasecmp(name, "Content-Length") == 0;
        check->n_encodings += strcasecmp(name, "Transfer-Encoding") == 0;
        check->strange |= !is_token(name, name_len) || !is_field_value(value ?: "", value ? value_len : 0);
        if (check->looks && !check->displaced) {
                check->displaced = !value || !is_at(check, name, name_len, value);
                check->at = place(value) + value_len + strlen("\r\n");
        }
        return MHD_YES;
}

// Before 1.0.
static bool takes_anything(void) {
        return strncmp(MHD_get_version(), "0.", 2) == 0;
}

static bool first_line_is_whole(const HttpHead *head) {
        uintptr_t url = place(head->method) + strlen(head->method) + strlen(" ");

        return place(head->url) == url && place(head->version) == url + strlen(head->target) + strlen(" ");
}

// All of it, and behind it the empty line.
static bool is_displaced(const HttpHead *head, const HeadCheck *check) {
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(head->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

        return check->displaced || !first_line_is_whole(head) || !info ||
               check->at + strlen("\r\n") != place(head->method) + info->header_size;
}

unsigned http_head_judge(const HttpHead *head, const char **ret_why) {
        HeadCheck check = {.looks = takes_anything(),
                           .at = place(head->version) + strlen(head->version) + strlen("\r\n")};

        (void) MHD_get_connection_values_n(head->connection, MHD_HEADER_KIND, on_header, &check);
        *ret_why = "the method is no token, or the target has blanks or control characters";
        if (!is_token(head->method, strlen(head->method)) || !is_target(head->target))
                return 400;
        *ret_why = "the name of a header is no token, or its value has control characters";
        if (check.strange)
                return 400;
        *ret_why = "a line of the head does not end in CR LF, is folded, or has a NUL or a blank that "
                   "nobody expects";
        if (check.looks && is_displaced(head, &check))
                return 400;
        *ret_why = "the request has more than one Host";
        if (check.n_hosts > 1)
                return 400;
        *ret_why = "the request says more than once where its body ends";
        if (check.n_lengths + check.n_encodings > 1)
                return 400;
        *ret_why = "a body comes with its Content-Length, and not in chunks";
        return check.n_encodings > 0 ? 411 : 0;
}

// Before 1.0 to be strict is to end connections without a word.
int http_head_strictness(void) {
        return takes_anything() ? 0 : 1;
}

// The memory is no constant but libmicrohttpd's, which is about to write there itself.
void http_head_hide_parameters(const char *target) {
        char *mark = strchr((char *) (uintptr_t) target, '?');

        if (mark)
                mark[1] = 0;
}
