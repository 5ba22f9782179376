// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      http_bulk_parse() -> each line as if it came alone (http-write.h) -> joined to the step before, or a
//      step of its own
//
// Whatever is wrong with the form of a line is found before anything is done, and the whole body is refused,
// with that line. Whether units are there is the leader's to say, step by step.
//
// Joining moves the names and the files of a Request to the one before; nothing is copied.

#include "http-bulk.h"

#include <errno.h>
#include <string.h>

#include "array.h"
#include "map.h"
#include "message.h"
#include "request-key.h"
#include "request-kind.h"

// What an operation has to have in common with the step that it joins.
typedef struct Joiner {
        HttpBulk *bulk;
        const HttpWriteHeaders *headers;
        Map names, files;
        size_t names_allocated, files_allocated, bytes;
        size_t bytes_of_all; // of contents, of all operations
} Joiner;

static void step_done(HttpBulkStep *s) {
        message_free(s->request);
        free(s->message);
        http_parts_free(s->parts, s->n_parts);
        free(s->end.data);
}

void http_bulk_free(HttpBulk *b) {
        if (!b)
                return;
        for (size_t i = 0; i < b->n_steps; i++)
                step_done(&b->steps[i]);
        free(b->steps);
        free(b->operations);
        free(b);
}

// ---- what may be one step

static bool same_job(const Argosy__Request__Job *a, const Argosy__Request__Job *b) {
        return strcmp(a->reason, b->reason) == 0 && a->if_revision == b->if_revision && a->hold == b->hold &&
               a->queue == b->queue && a->n_after == b->n_after &&
               (a->n_after == 0 || memcmp(a->after, b->after, a->n_after * sizeof(*a->after)) == 0);
}

static bool same_file(const Argosy__NamedFile *a, const Argosy__NamedFile *b) {
        return a->content.len == b->content.len &&
               (a->content.len == 0 || memcmp(a->content.data, b->content.data, a->content.len) == 0);
}

static bool may_join(const Joiner *j, const Argosy__Request *q) {
        const HttpBulkStep *last = j->bulk->n_steps > 0 ? &j->bulk->steps[j->bulk->n_steps - 1] : NULL;
        const Argosy__Request__Change *a, *b;

        if (!last || q->what_case != ARGOSY__REQUEST__WHAT_CHANGE ||
            last->request->what_case != ARGOSY__REQUEST__WHAT_CHANGE)
                return false;
        a = last->request->change;
        b = q->change;
        if (a->verb != b->verb || a->replace != b->replace || a->unpinned != b->unpinned ||
            a->preview != b->preview || !same_job(last->request->job, q->job) ||
            a->n_names + b->n_names > CHANGE_UNITS_MAX || j->bytes >= HTTP_STEP_BYTES)
                return false;
        for (size_t i = 0; i < b->n_names; i++)
                if (map_find_str(&j->names, b->names[i]))
                        return false;
        for (size_t i = 0; i < b->n_files; i++) {
                const Argosy__NamedFile *known = map_find_str(&j->files, b->files[i]->name);

                if (known && !same_file(known, b->files[i]))
                        return false;
        }
        return true;
}

// ---- joining

// They are of the step from here on. Each unit is named once: so has each name one result, and each
// operation its own.
static int note_names(Joiner *j, const Argosy__Request__Change *change, size_t first_name,
                      size_t first_file) {
        int r = 0;

        for (size_t i = first_name; i < change->n_names && (r == 0 || r == -EEXIST); i++)
                r = map_add_str(&j->names, change->names[i], change->names[i]);
        for (size_t i = first_file; i < change->n_files && (r == 0 || r == -EEXIST); i++) {
                r = map_add_str(&j->files, change->files[i]->name, change->files[i]);
                j->bytes += change->files[i]->content.len;
        }
        return r == -EEXIST ? 0 : r;
}

static void forget_targets(Argosy__Request__Job *job) {
        for (size_t i = 0; i < job->n_targets; i++)
                free(job->targets[i]);
        job->n_targets = job->more_targets = 0;
}

// Empties that Request of what the step takes. The leader names what a job without targets is about.
static int join(Joiner *j, Argosy__Request *q) {
        Argosy__Request__Change *to = j->bulk->steps[j->bulk->n_steps - 1].request->change,
                                *from = q->change;
        size_t first_name = to->n_names, first_file = to->n_files, n_left = 0;

        if (ARRAY_GROW(to->names, j->names_allocated, to->n_names + from->n_names) < 0 ||
            ARRAY_GROW(to->files, j->files_allocated, to->n_files + from->n_files) < 0)
                return -ENOMEM;
        forget_targets(j->bulk->steps[j->bulk->n_steps - 1].request->job);
        for (size_t i = 0; i < from->n_names; i++)
                to->names[to->n_names++] = from->names[i];
        from->n_names = 0;
        for (size_t i = 0; i < from->n_files; i++)
                if (map_find_str(&j->files, from->files[i]->name))
                        from->files[n_left++] = from->files[i];
                else
                        to->files[to->n_files++] = from->files[i];
        from->n_files = n_left;
        return note_names(j, to, first_name, first_file);
}

// Under a key each step is known by its place.
static void set_id(const HttpWriteHeaders *headers, size_t nth, Argosy__Request *q) {
        if (headers->key)
                request_key_id(headers->key, nth, http_write_id(q)->data);
        if (q->job)
                q->job->keyed = headers->key != NULL;
}

static int add_step(Joiner *j, Argosy__Request *q) {
        HttpBulk *b = j->bulk;

        map_done(&j->names);
        map_done(&j->files);
        j->names = j->files = (Map){};
        j->bytes = 0;
        if (ARRAY_GROW(b->steps, b->steps_allocated, b->n_steps + 1) < 0)
                return -ENOMEM;
        set_id(j->headers, b->n_steps, q);
        b->steps[b->n_steps++] = (HttpBulkStep){.request = q};
        if (q->what_case != ARGOSY__REQUEST__WHAT_CHANGE)
                return 0;
        j->names_allocated = q->change->n_names;
        j->files_allocated = q->change->n_files;
        return note_names(j, q->change, 0, 0);
}

// Takes the Request, also when it fails.
static int add_operation(Joiner *j, Argosy__Request *q, size_t line) {
        HttpBulk *b = j->bulk;
        HttpBulkStep *step;
        bool joins = may_join(j, q);
        int r;

        if (ARRAY_GROW(b->operations, b->operations_allocated, b->n_operations + 1) < 0) {
                message_free(q);
                return -ENOMEM;
        }
        r = joins ? join(j, q) : add_step(j, q);
        if (joins || r < 0)
                message_free(q);
        if (r < 0) {
                if (!joins && b->n_steps > 0 && b->steps[b->n_steps - 1].request == q)
                        b->n_steps--;
                return r;
        }
        step = &b->steps[b->n_steps - 1];
        b->operations[b->n_operations] =
                (HttpOperation){.line = line, .step = b->n_steps - 1, .first = step->n_names};
        if (step->request->what_case == ARGOSY__REQUEST__WHAT_CHANGE)
                step->n_names = step->request->change->n_names;
        b->operations[b->n_operations].n_names = step->n_names - b->operations[b->n_operations].first;
        b->n_operations++;
        return 0;
}

// ---- lines

// Without drop-ins these are no more bytes than the body has.
static bool has_room(Joiner *j, const Argosy__Request *q) {
        for (size_t i = 0; q->what_case == ARGOSY__REQUEST__WHAT_CHANGE && i < q->change->n_files; i++)
                j->bytes_of_all += q->change->files[i]->content.len;
        return j->bytes_of_all <= HTTP_LINES_BYTES_MAX;
}

static int add_line(Joiner *j, const HttpTarget *t, const char *text, size_t len, size_t line,
                    char **ret_why) {
        Argosy__Request *q;
        int r = http_write_parse(t, j->headers, text, len, &q, ret_why);

        if (r == 0 && q->job->retries > 0) {
                message_free(q);
                *ret_why = strdup("'job retry' goes alone");
                return -EINVAL;
        }
        if (r == 0 && !has_room(j, q)) {
                message_free(q);
                *ret_why = strdup("with their drop-ins the files of this body are more than 32 MiB");
                return -E2BIG;
        }
        return r < 0 ? r : add_operation(j, q, line);
}

static int parse(Joiner *j, const HttpTarget *t, char *body, size_t len, char **ret_why,
                 unsigned *ret_line) {
        char *end = body + len;
        int r = 0;

        for (char *stop; body < end && r == 0; body = stop + 1) {
                size_t n;

                stop = memchr(body, '\n', (size_t) (end - body)) ?: end;
                *stop = 0; // at the end it is one
                n = (size_t) (stop - body);
                if (n > 0 && body[n - 1] == '\r')
                        body[--n] = 0;
                ++*ret_line;
                if (n == 0)
                        continue;
                if (j->bulk->n_operations == HTTP_LINES_MAX) {
                        *ret_why = strdup("a body has at most 20000 operations");
                        return -E2BIG;
                }
                r = add_line(j, t, body, n, *ret_line, ret_why);
        }
        return r;
}

int http_bulk_parse(const HttpTarget *t, const HttpWriteHeaders *headers, char *body, size_t len,
                    HttpBulk **ret, char **ret_why, unsigned *ret_line) {
        Joiner j = {.bulk = calloc(1, sizeof(HttpBulk)), .headers = headers};
        int r;

        *ret_why = NULL;
        *ret_line = 0;
        if (!j.bulk)
                return -ENOMEM;
        r = parse(&j, t, body, len, ret_why, ret_line);
        map_done(&j.names);
        map_done(&j.files);
        if (r == 0 && j.bulk->n_operations == 0) {
                *ret_line = 0;
                *ret_why = strdup("the body has no operation");
                r = -EINVAL;
        }
        if (r < 0)
                http_bulk_free(j.bulk);
        else
                *ret = j.bulk;
        return r;
}
