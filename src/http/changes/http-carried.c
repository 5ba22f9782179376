// SPDX-License-Identifier: LGPL-2.1-or-later
//
// read_files() notes what is no unit file -> drop-ins stand behind their files -> each content gets what it
// names by File=, and the manifest of that, as argosyctl makes it of a folder. A file that nobody names is
// refused, since a change would do nothing about it.
//
// A content that came with a manifest and without its files stays as it is: the cluster may have them.

#include "http-carried.h"

#include <errno.h>

#include "array.h"
#include "http-drop-ins.h"
#include "http-write.h"
#include "quadlet.h"
#include "str.h"
#include "unit-name.h"

void http_carried_done(HttpCarried *c) {
        for (size_t i = 0; i < c->n; i++)
                free(c->list[i].decoded);
        for (size_t i = 0; i < c->n_composed; i++) {
                buf_done(&c->composed[i]);
                free(c->lists[i]);
        }
        free(c->list);
        free(c->composed);
        free(c->lists);
        *c = (HttpCarried){};
}

bool http_carried_is_one(const char *name) {
        return unit_name_kind(name, NULL) == UNIT_NAME_INVALID && !quadlet_is_container(name) &&
               !http_drop_ins_is_one(name) && carried_file_name_is_valid(name);
}

static int digit_of(char c) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const char *at = c ? strchr(digits, c) : NULL;

        return at ? (int) (at - digits) : -1;
}

// RFC 4648, 4, with what fills the end. False: it is no such text.
static bool decode(const char *text, uint8_t *ret, size_t *ret_len) {
        size_t len = strlen(text), fill = 0, n = 0;

        if (len % 4 != 0)
                return false;
        while (fill < 2 && fill < len && text[len - 1 - fill] == '=')
                fill++;
        for (size_t i = 0; i < len; i += 4) {
                uint32_t word = 0;

                for (size_t k = 0; k < 4; k++) {
                        int digit = i + k < len - fill ? digit_of(text[i + k]) : 0;

                        if (digit < 0)
                                return false;
                        word = word << 6 | (uint32_t) digit;
                }
                for (size_t k = 0; k < 3; k++)
                        ret[n++] = (uint8_t) (word >> (16 - 8 * k));
        }
        *ret_len = n - fill;
        return true;
}

static int decode_content(HttpCarriedFile *f, const char *text, char **ret_why) {
        f->decoded = malloc(strlen(text) / 4 * 3 + 3);
        if (!f->decoded)
                return -ENOMEM;
        f->bytes.data = f->decoded;
        return decode(text, f->decoded, &f->bytes.len)
                       ? 0
                       : str_refuse(ret_why, "'%.128s': its content is not base64", f->name);
}

static int read_object(HttpCarriedFile *f, const cJSON *value, char **ret_why) {
        const char *content = NULL;
        bool base64 = false;

        for (const cJSON *m = value->child; m; m = m->next) {
                if (streq(m->string, "content") && cJSON_IsString(m))
                        content = m->valuestring;
                else if (streq(m->string, "encoding") && cJSON_IsString(m) &&
                         streq(m->valuestring, "base64"))
                        base64 = true;
                else if (streq(m->string, "executable") && cJSON_IsBool(m))
                        f->executable = cJSON_IsTrue(m);
                else
                        return str_refuse(ret_why,
                                          "'%.128s' has a 'content', and may have an 'encoding', which is "
                                          "'base64', and be 'executable'",
                                          f->name);
        }
        if (!content)
                return str_refuse(ret_why, "'%.128s' has no 'content'", f->name);
        f->bytes = (ProtobufCBinaryData){strlen(content), (uint8_t *) content};
        return base64 ? decode_content(f, content, ret_why) : 0;
}

int http_carried_add(HttpCarried *c, const cJSON *value, char **ret_why) {
        HttpCarriedFile *f;
        int r;

        if (c->n == HTTP_FILES_MAX)
                return str_refuse(ret_why, "a request brings at most %i files", (int) HTTP_FILES_MAX);
        if (ARRAY_GROW(c->list, c->allocated, c->n + 1) < 0)
                return -ENOMEM;
        f = &c->list[c->n++];
        *f = (HttpCarriedFile){.name = value->string};
        if (cJSON_IsString(value))
                f->bytes = (ProtobufCBinaryData){strlen(value->valuestring), (uint8_t *) value->valuestring};
        r = cJSON_IsString(value) ? 0
            : cJSON_IsObject(value)
                    ? read_object(f, value, ret_why)
                    : str_refuse(ret_why, "'%.128s' is neither a text nor an object", value->string);
        if (r == 0 && f->bytes.len > CARRIED_FILE_MAX)
                return str_refuse(ret_why,
                                  "'%.128s' is larger than %d KiB, the most that a file of a unit may have: "
                                  "larger things are images or packages",
                                  f->name, CARRIED_FILE_MAX / 1024);
        if (r == 0)
                f->hash = hash_of(f->bytes.data, f->bytes.len);
        return r;
}

static bool is_named(const UnitFile *file, const char *name) {
        for (size_t i = 0; i < file->n_file_sources; i++)
                if (file_source_covers(&file->file_sources[i], name))
                        return true;
        return false;
}

// Those that the file names; `list` has room for all.
static int pick(HttpCarried *c, const UnitFile *file, CarriedFiles *ret, ProtobufCBinaryData *list) {
        for (size_t i = 0; i < c->n; i++) {
                HttpCarriedFile *f = &c->list[i];

                if (!is_named(file, f->name))
                        continue;
                f->used = true;
                list[ret->n] = f->bytes;
                if (carried_files_add(ret, f->name, f->executable, f->bytes.len, &f->hash) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int compose(HttpCarried *c, Argosy__NamedFile *file, const UnitFile *parsed, CarriedFiles *carried,
                   ProtobufCBinaryData *list, char **ret_why) {
        Buf *content;
        int r;

        if (ARRAY_GROW(c->composed, c->composed_allocated, c->n_composed + 1) < 0 ||
            ARRAY_GROW(c->lists, c->lists_allocated, c->n_composed + 1) < 0)
                return -ENOMEM;
        c->lists[c->n_composed] = NULL;
        content = &c->composed[c->n_composed++];
        *content = (Buf){};
        r = buf_append(content, file->content.data,
                       carried_files_text_len(file->content.data, file->content.len));
        if (r == 0)
                r = carried_files_compose(file->name, parsed, carried, content, ret_why);
        if (r < 0)
                return r;
        file->content = (ProtobufCBinaryData){content->len, content->data};
        file->files = c->lists[c->n_composed - 1] = list;
        file->n_files = carried->n;
        return 1;
}

// What cannot be parsed, or has not all its files, is refused by the leader.
static int take_file(HttpCarried *c, Argosy__NamedFile *file, char **ret_why) {
        _cleanup_(unit_file_freep) UnitFile *parsed = NULL;
        _cleanup_carried_files_ CarriedFiles carried = {};
        _cleanup_free_ ProtobufCBinaryData *list = NULL;
        int r = unit_file_parse(file->name, file->content.data, file->content.len, &parsed, NULL);

        if (r < 0)
                return r == -EINVAL ? 0 : r;
        if (parsed->n_file_sources == 0)
                return 0;
        list = calloc(c->n, sizeof(*list));
        r = list ? pick(c, parsed, &carried, list) : -ENOMEM;
        if (r == 0 && carried.n > 0)
                r = compose(c, file, parsed, &carried, list, ret_why);
        if (r > 0)
                (void) TAKE_PTR(list);
        return MIN_OF(r, 0);
}

int http_carried_take(HttpCarried *c, Argosy__NamedFile *files, size_t n_files, char **ret_why) {
        int r = 0;

        for (size_t i = 0; r == 0 && c->n > 0 && i < n_files; i++)
                r = take_file(c, &files[i], ret_why);
        return r;
}

const char *http_carried_unused(const HttpCarried *c) {
        for (size_t i = 0; i < c->n; i++)
                if (!c->list[i].used)
                        return c->list[i].name;
        return NULL;
}
