// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      the resource -> the table of its rows (model) -> the schema of one of them
//
// A row has here what the table has by which it is written; so what is told of it is so. Of what a field of
// several members has, no more is said than that it is an object, unless that is a row, too.

#include "http-openapi-private.h"

static HttpShape shape_of(const Field *f) {
        switch (f->type) {
        case FIELD_STRING:
        case FIELD_HASH:
        case FIELD_ROLE:
        case FIELD_STATE:
        case FIELD_ENUM:
                return SHAPE_TEXT;
        case FIELD_WORD:
        case FIELD_ENUM_OR_NULL:
                return SHAPE_TEXT_OR_NULL;
        case FIELD_BOOL:
        case FIELD_OK:
                return SHAPE_BOOL;
        case FIELD_U32:
        case FIELD_RESTARTS:
        case FIELD_U64:
        case FIELD_TIME:
                return f->or_null || f->has > 0 ? SHAPE_NUMBER_OR_NULL : SHAPE_NUMBER;
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
        case FIELD_WORDS:
                return SHAPE_TEXTS;
        case FIELD_NUMBERS:
                return SHAPE_NUMBERS;
        case FIELD_ROWS:
        case FIELD_CHANGE:
        case FIELD_REFUSALS:
                return SHAPE_OBJECTS;
        }
        return SHAPE_ANY;
}

void http_openapi_field(Json *j, const Field *f) {
        begin(j, f->name);
        if (f->of) {
                text(j, "type", "array");
                begin(j, "items");
                http_openapi_row(j, f->of);
                end(j);
        } else
                http_openapi_shape(j, shape_of(f));
        end(j);
}

static void write_properties(Json *j, const Row *row) {
        for (size_t i = 0; i < row->n; i++)
                http_openapi_field(j, &row->fields[i]);
}

static void write_required(Json *j, const Row *row) {
        for (size_t i = 0; i < (row->n_always > 0 ? row->n_always : row->n); i++)
                if (!row->fields[i].is_rare)
                        json_string(j, row->fields[i].name);
}

void http_openapi_row(Json *j, const Row *row) {
        text(j, "type", "object");
        begin(j, "properties");
        for (const Row *r = row; r; r = r->more)
                write_properties(j, r);
        end(j);
        begin_list(j, "required");
        for (const Row *r = row; r; r = r->more)
                write_required(j, r);
        json_end(j, ']');
}
