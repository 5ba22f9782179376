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
        {HTTP_JOB, of_one_job, ELEMENTSOF(of_one_job)},
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

        (void) http_body_rows(resource, &fields, &n_fields);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (rows[i].resource == resource) {
                        members = rows[i].members;
                        n_members = rows[i].n;
                }
        write_row(j, fields, n_fields, resource == HTTP_UNIT_FILE ? UNIT_FILE_PAST_FIELDS : n_fields, members, n_members);
}
