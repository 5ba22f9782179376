// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      the resource -> the schema of one of its rows
//
// Where a row is a list of fields (row-fields.h) it is the table's that stand here. What model/row-json.c writes by hand, a null where
// there is no word, has its members here again; tests/unit/http/test-openapi.c finds it out if the two differ. Of a resource without
// either no more is said than that a row is an object.

#include "http-body.h"
#include "http-openapi-private.h"
#include "macro.h"
#include "row-fields.h"

// Of a list of objects, either of both says what each of them has.
typedef struct Member Member;
struct Member {
        const char *name;
        HttpShape shape;
        const Field *fields;
        const Member *members;
        size_t n;
        bool is_rare; // it is there only if there is something to say
};

// What has no more to say than its shape.
#define PLAIN(name_, shape_) {name_, SHAPE_##shape_, NULL, NULL, 0, false}

static const Member of_resources[] = {
        PLAIN("resource", TEXT),
        PLAIN("used", NUMBER),
        PLAIN("total", NUMBER),
        PLAIN("guarantee", NUMBER_OR_NULL),
        PLAIN("limit", NUMBER_OR_NULL),
};

static const Member of_roles[] = {
        PLAIN("role", TEXT),
        PLAIN("weight", NUMBER),
        PLAIN("share_permille", NUMBER),
        PLAIN("units", NUMBER),
        PLAIN("waiting", NUMBER),
        {"resources", SHAPE_OBJECTS, NULL, of_resources, ELEMENTSOF(of_resources), false},
};

static const Member of_pools[] = {
        PLAIN("pool", TEXT),
        PLAIN("named", TEXTS),
        PLAIN("labels", TEXTS_BY_NAME),
        PLAIN("nodes", TEXTS),
};

static const Member of_rules[] = {
        PLAIN("rule", NUMBER),
        PLAIN("action", TEXT_OR_NULL),
        PLAIN("text", TEXT_OR_NULL),
        PLAIN("limit", NUMBER),
        PLAIN("author", TEXT_OR_NULL),
        PLAIN("verb", TEXT_OR_NULL),
        PLAIN("unit", TEXT_OR_NULL),
        PLAIN("role", TEXT_OR_NULL),
        PLAIN("reason", TEXT_OR_NULL),
        PLAIN("running", NUMBER),
        PLAIN("held", NUMBER),
};

static const Member of_grants[] = {
        PLAIN("right", TEXT_OR_NULL),
        PLAIN("user", TEXT_OR_NULL),
        PLAIN("group", TEXT_OR_NULL),
        PLAIN("host", TEXT_OR_NULL),
        PLAIN("role", TEXT_OR_NULL),
};

static const Member of_tokens[] = {
        PLAIN("id", TEXT_OR_NULL),
        PLAIN("name", TEXT_OR_NULL),
        PLAIN("right", TEXT_OR_NULL),
        PLAIN("role", TEXT_OR_NULL),
        PLAIN("created_by", TEXT_OR_NULL),
        PLAIN("created_us", NUMBER),
        PLAIN("expires_us", NUMBER),
        PLAIN("used_us", NUMBER_OR_NULL),
        PLAIN("revoked_us", NUMBER_OR_NULL),
        PLAIN("revoked_by", TEXT_OR_NULL),
        PLAIN("state", TEXT_OR_NULL),
};

static const Member of_secret_uses[] = {
        PLAIN("unit", TEXT),
        PLAIN("version", NUMBER_OR_NULL),
        PLAIN("nodes", TEXTS),
};

static const Member of_secrets[] = {
        PLAIN("name", TEXT),
        PLAIN("version", NUMBER),
        PLAIN("set_us", NUMBER),
        PLAIN("set_by", TEXT),
        PLAIN("bytes", NUMBER),
        PLAIN("units", NUMBER),
        PLAIN("stale", NUMBER),
        {"uses", SHAPE_OBJECTS, NULL, of_secret_uses, ELEMENTSOF(of_secret_uses), false},
};

static const Member of_hosts[] = {
        PLAIN("host", TEXT),
        PLAIN("address", TEXT),
        PLAIN("role", TEXT),
        PLAIN("state", TEXT),
        PLAIN("leader", BOOL),
        PLAIN("log_index", NUMBER_OR_NULL),
        PLAIN("lag", NUMBER_OR_NULL),
        PLAIN("version", TEXT_OR_NULL),
};

static const Member of_usage[] = {
        PLAIN("unit", TEXT),
        PLAIN("node", TEXT),
        PLAIN("tasks", NUMBER_OR_NULL),
        PLAIN("memory", NUMBER_OR_NULL),
        PLAIN("cpu-time", NUMBER_OR_NULL),
        PLAIN("read-total", NUMBER_OR_NULL),
        PLAIN("written-total", NUMBER_OR_NULL),
        PLAIN("run", NUMBER),
        PLAIN("time", NUMBER),
};

static const Member of_findings[] = {
        PLAIN("line", NUMBER_OR_NULL),
        PLAIN("kind", TEXT),
        PLAIN("text", TEXT),
};

static const Member of_verified[] = {
        PLAIN("unit", TEXT),
        PLAIN("node", TEXT),
        PLAIN("systemd", TEXT),
        {"findings", SHAPE_OBJECTS, NULL, of_findings, ELEMENTSOF(of_findings), false},
        PLAIN("refused", BOOL),
};

// Behind the fields of a row of jobs.
static const Member of_one_job[] = {
        PLAIN("cut", BOOL),
        PLAIN("after", NUMBERS),
        PLAIN("waiting", NUMBERS),
        {"settings", SHAPE_OBJECTS, job_setting_row_fields, NULL, JOB_SETTING_ROW_FIELDS, false},
        {"units", SHAPE_OBJECTS, job_unit_row_fields, NULL, JOB_UNIT_ROW_FIELDS, false},
        {"more_units", SHAPE_NUMBER, NULL, NULL, 0, true},
};

static const struct {
        HttpResource resource;
        const Member *members;
        size_t n;
} rows[] = {
        {HTTP_JOB, of_one_job, ELEMENTSOF(of_one_job)},   {HTTP_ROLES, of_roles, ELEMENTSOF(of_roles)},
        {HTTP_POOLS, of_pools, ELEMENTSOF(of_pools)},     {HTTP_QUEUE, of_rules, ELEMENTSOF(of_rules)},
        {HTTP_ACCESS, of_grants, ELEMENTSOF(of_grants)},  {HTTP_TOKENS, of_tokens, ELEMENTSOF(of_tokens)},
        {HTTP_SECRETS, of_secrets, ELEMENTSOF(of_secrets)},
        {HTTP_HOSTS, of_hosts, ELEMENTSOF(of_hosts)},     {HTTP_USAGE, of_usage, ELEMENTSOF(of_usage)},
        {HTTP_VERIFY, of_verified, ELEMENTSOF(of_verified)},
};

HttpShape http_openapi_shape_of_field(FieldType type) {
        switch (type) {
        case FIELD_STRING:
        case FIELD_HASH:
        case FIELD_ROLE:
        case FIELD_STATE:
                return SHAPE_TEXT;
        case FIELD_BOOL:
        case FIELD_OK:
                return SHAPE_BOOL;
        case FIELD_U32:
        case FIELD_RESTARTS:
        case FIELD_U64:
        case FIELD_TIME:
                return SHAPE_NUMBER;
        case FIELD_COUNT:
        case FIELD_BYTES:
        case FIELD_PERMILLE:
        case FIELD_USEC:
                return SHAPE_NUMBER_OR_NULL;
        case FIELD_LABELS:
                return SHAPE_TEXTS_BY_NAME;
        case FIELD_TARGETS:
        case FIELD_GROUPS:
        case FIELD_MAY_RUN:
                return SHAPE_TEXTS;
        case FIELD_CHANGE:
        case FIELD_REFUSALS:
                return SHAPE_OBJECTS;
        }
        return SHAPE_ANY;
}

static void write_row(Json *j, const Field *fields, size_t n_fields, size_t n_always, const Member *members, size_t n_members);

static void write_member(Json *j, const Member *m) {
        begin(j, m->name);
        if (m->n > 0) {
                text(j, "type", "array");
                begin(j, "items");
                write_row(j, m->fields, m->fields ? m->n : 0, m->fields ? m->n : 0, m->members, m->members ? m->n : 0);
                end(j);
        } else
                http_openapi_shape(j, m->shape);
        end(j);
}

static void write_row(Json *j, const Field *fields, size_t n_fields, size_t n_always, const Member *members, size_t n_members) {
        text(j, "type", "object");
        if (n_fields + n_members == 0)
                return;
        begin(j, "properties");
        for (size_t i = 0; i < n_fields; i++)
                property(j, fields[i].name, http_openapi_shape_of_field(fields[i].type));
        for (size_t i = 0; i < n_members; i++)
                write_member(j, &members[i]);
        end(j);
        begin_list(j, "required");
        for (size_t i = 0; i < n_always; i++)
                json_string(j, fields[i].name);
        for (size_t i = 0; i < n_members; i++)
                if (!members[i].is_rare)
                        json_string(j, members[i].name);
        json_end(j, ']');
}

void http_openapi_row(Json *j, HttpResource resource) {
        const Member *members = NULL;
        const Field *fields;
        size_t n_fields, n_members = 0;

        if (resource == HTTP_JOB_TARGETS) {
                text(j, "type", "string");
                return;
        }
        (void) http_body_rows(resource, &fields, &n_fields);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (rows[i].resource == resource) {
                        members = rows[i].members;
                        n_members = rows[i].n;
                }
        write_row(j, fields, n_fields, resource == HTTP_UNIT_FILE ? UNIT_FILE_PAST_FIELDS : n_fields, members, n_members);
}
