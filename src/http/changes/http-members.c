// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads the members of a JSON body into a message, by a list of typed rows (http-members.h).
//
//      http_members_read() -> each row of the list -> the function of its kind -> the field of the message
//
// Strings and lists belong to the body or the arena. Failures: -EINVAL and a sentence with the member's name
// for a value that is not of its kind; -ENOMEM.

#include "http-members.h"

#include <errno.h>
#include <string.h>

#include "access.h"
#include "argosy.pb-c.h"
#include "clock.h"
#include "macro.h"
#include "str.h"
#include "unit-file.h"
#include "unit-options.h"

static void *field(void *message, size_t at) {
        return (char *) message + at;
}

void *http_reading_alloc(HttpReading *g, size_t n, size_t size) {
        void *room = arena_alloc(g->arena, MAX_OF(n, (size_t) 1) * size);

        if (room)
                memset(room, 0, n * size);
        return room;
}

bool http_value_is_text(const cJSON *value) {
        return cJSON_IsString(value) && *value->valuestring;
}

bool http_value_is_number(const cJSON *value, uint64_t max) {
        double n = cJSON_IsNumber(value) ? value->valuedouble : 0;

        return n >= 1 && n <= (double) max && n == (double) (uint64_t) n;
}

// ---- one value

static int read_text(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        if (!http_value_is_text(value))
                return str_refuse(g->ret_why, "'%s' is a text", m->name);
        *(char **) field(message, m->at) = value->valuestring;
        return 0;
}

static int read_flag(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        if (!cJSON_IsBool(value))
                return str_refuse(g->ret_why, "'%s' is true or false", m->name);
        *(protobuf_c_boolean *) field(message, m->at) = cJSON_IsTrue(value);
        return 0;
}

static int refuse_number(HttpReading *g, const HttpMember *m) {
        return str_refuse(g->ret_why, "'%s' is a whole number from 1 to %llu", m->name,
                          (unsigned long long) m->max);
}

static int read_number(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        if (!http_value_is_number(value, m->max))
                return refuse_number(g, m);
        *(uint64_t *) field(message, m->at) = (uint64_t) value->valuedouble;
        return 0;
}

static int read_number32(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        if (!http_value_is_number(value, m->max))
                return refuse_number(g, m);
        *(uint32_t *) field(message, m->at) = (uint32_t) value->valuedouble;
        return 0;
}

static int parse_span(HttpReading *g, const HttpMember *m, const cJSON *value, uint64_t *ret_us) {
        if (!http_value_is_text(value) || !parse_span_us(value->valuestring, ret_us) ||
            *ret_us / USEC_PER_SEC > m->max)
                return str_refuse(g->ret_why, "'%s' is a time span, as \"30s\" or \"5min\"", m->name);
        return 0;
}

static int read_span_us(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        return parse_span(g, m, value, field(message, m->at));
}

static int read_span_sec(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        uint64_t us = 0;
        int r = parse_span(g, m, value, &us);

        *(uint64_t *) field(message, m->at) = us / USEC_PER_SEC;
        return r;
}

static int read_span_sec32(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        uint64_t us = 0;
        int r = parse_span(g, m, value, &us);

        *(uint32_t *) field(message, m->at) = (uint32_t) (us / USEC_PER_SEC);
        return r;
}

static int read_share(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        UnitShare share = {};

        if (http_value_is_number(value, INT32_MAX))
                share.value = (uint32_t) value->valuedouble;
        else if (!http_value_is_text(value) || !unit_share_parse(value->valuestring, &share))
                return str_refuse(g->ret_why, "'%s' is a number from 1 on, or a text like \"25%%\"",
                                  m->name);
        *(uint32_t *) field(message, m->at) = share.value;
        *(protobuf_c_boolean *) field(message, m->other) = share.percent;
        return 0;
}

static int read_right(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        if (!http_value_is_text(value))
                return str_refuse(g->ret_why, "'%s' is a text", m->name);
        return right_from_string(value->valuestring, field(message, m->at))
                       ? 0
                       : str_refuse(g->ret_why, "'%s' is one of view, operate, deploy and admin", m->name);
}

// ---- several values

// Puts an empty list with room for all items of `value`, of `size` bytes each, into the field `at`.
static void *begin_list(HttpReading *g, const HttpMember *m, const cJSON *value, size_t size,
                        void *message) {
        void *list = http_reading_alloc(g, (size_t) cJSON_GetArraySize(value), size);

        *(void **) field(message, m->at) = list;
        return list;
}

static int read_numbers(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        uint64_t *numbers = begin_list(g, m, value, sizeof(*numbers), message);
        size_t *n = field(message, m->other);

        if (!numbers)
                return -ENOMEM;
        if (!cJSON_IsArray(value) || !value->child)
                return str_refuse(g->ret_why, "'%s' is an array of numbers", m->name);
        for (const cJSON *one = value->child; one; one = one->next) {
                if (!http_value_is_number(one, HTTP_NUMBER_MAX))
                        return str_refuse(g->ret_why, "'%s' is an array of numbers", m->name);
                numbers[(*n)++] = (uint64_t) one->valuedouble;
        }
        return 0;
}

static int read_texts(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        char **texts = begin_list(g, m, value, sizeof(*texts), message);
        size_t *n = field(message, m->other);

        if (!texts)
                return -ENOMEM;
        if (!cJSON_IsArray(value) || (m->required && !value->child))
                return str_refuse(g->ret_why, "'%s' is an array of texts", m->name);
        for (const cJSON *one = value->child; one; one = one->next) {
                if (!http_value_is_text(one))
                        return str_refuse(g->ret_why, "'%s' is an array of texts", m->name);
                texts[(*n)++] = one->valuestring;
        }
        return 0;
}

static int read_labels(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        Argosy__Label **list = begin_list(g, m, value, sizeof(*list), message);
        Argosy__Label *labels = http_reading_alloc(g, (size_t) cJSON_GetArraySize(value), sizeof(*labels));
        size_t *n = field(message, m->other);

        if (!list || !labels)
                return -ENOMEM;
        if (!cJSON_IsObject(value))
                return str_refuse(g->ret_why, "'%s' is an object of names and texts", m->name);
        for (const cJSON *one = value->child; one; one = one->next) {
                Argosy__Label *label = &labels[*n];

                if (!cJSON_IsString(one))
                        return str_refuse(g->ret_why, "'%s' is an object of names and texts", m->name);
                *label = (Argosy__Label) ARGOSY__LABEL__INIT;
                label->key = one->string;
                label->value = one->valuestring;
                list[(*n)++] = label;
        }
        return 0;
}

// Parses "cpu" and "memory" as in unit options, or the number of another resource; null unsets the amount.
static bool parse_amount(const cJSON *value, Argosy__Amount *a) {
        const char *text = http_value_is_text(value) ? value->valuestring : NULL;
        uint32_t n = 0;
        bool valid;

        *a = (Argosy__Amount) ARGOSY__AMOUNT__INIT;
        a->resource = value->string;
        a->unset = cJSON_IsNull(value);
        if (streq(value->string, "cpu") && !a->unset)
                valid = text && cpu_parse(text, &n);
        else if (streq(value->string, "memory") && !a->unset)
                valid = text && memory_parse(text, &n);
        else {
                valid = label_is_valid(value->string) &&
                        (a->unset || http_value_is_number(value, INT32_MAX));
                n = valid && !a->unset ? (uint32_t) value->valuedouble : 0;
        }
        a->amount = n;
        return valid;
}

static int read_amounts(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        Argosy__Amount **list = begin_list(g, m, value, sizeof(*list), message);
        Argosy__Amount *amounts =
                http_reading_alloc(g, (size_t) cJSON_GetArraySize(value), sizeof(*amounts));
        size_t *n = field(message, m->other);

        if (!list || !amounts)
                return -ENOMEM;
        if (!cJSON_IsObject(value))
                return str_refuse(g->ret_why, "'%s' is an object of resources and amounts", m->name);
        for (const cJSON *one = value->child; one; one = one->next) {
                if (!parse_amount(one, &amounts[*n]))
                        return str_refuse(
                                g->ret_why,
                                "'%.64s' is no amount: {\"cpu\": \"1.5\", \"memory\": \"2G\", \"NAME\": 3}, "
                                "or null for none",
                                one->string);
                list[*n] = &amounts[*n];
                ++*n;
        }
        return 0;
}

// ---- lists of members

const HttpMemberKind http_member_text = {SHAPE_TEXT, read_text};
const HttpMemberKind http_member_flag = {SHAPE_BOOL, read_flag};
const HttpMemberKind http_member_number = {SHAPE_NUMBER, read_number};
const HttpMemberKind http_member_number32 = {SHAPE_NUMBER, read_number32};
const HttpMemberKind http_member_numbers = {SHAPE_NUMBERS, read_numbers};
const HttpMemberKind http_member_texts = {SHAPE_TEXTS, read_texts};
const HttpMemberKind http_member_span_us = {SHAPE_TEXT, read_span_us};
const HttpMemberKind http_member_span_sec = {SHAPE_TEXT, read_span_sec};
const HttpMemberKind http_member_span_sec32 = {SHAPE_TEXT, read_span_sec32};
const HttpMemberKind http_member_share = {SHAPE_NUMBER_OR_TEXT, read_share};
const HttpMemberKind http_member_labels = {SHAPE_TEXTS_BY_NAME, read_labels};
const HttpMemberKind http_member_amounts = {SHAPE_OBJECT, read_amounts};
const HttpMemberKind http_member_right = {SHAPE_TEXT, read_right};

int http_members_read(HttpReading *g, const HttpMember *list, const cJSON *body, void *message) {
        int r = 0;

        for (const HttpMember *m = list; m && m->name && r == 0; m++) {
                const cJSON *value = cJSON_GetObjectItemCaseSensitive(body, m->name);

                if (m->kind->read && (value || m->required))
                        r = m->kind->read(g, m, value, message);
        }
        return r;
}

const HttpMember *http_members_find(const HttpMember *list, const char *name) {
        for (const HttpMember *m = list; m && m->name; m++)
                if (streq(m->name, name))
                        return m;
        return NULL;
}
