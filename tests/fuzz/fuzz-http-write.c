// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever stands in a body: it is refused with a reason, or it becomes requests that another host can read.
// The first byte says what kind of body it is.

#include <stdlib.h>
#include <string.h>

#include "http-bulk.h"
#include "macro.h"
#include "message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const HttpWriteHeaders headers = {.key = "key"};

static void check_lines(const HttpBulk *b) {
        if (b->n_steps == 0 || b->n_operations < b->n_steps)
                abort();
        for (size_t i = 0; i < b->n_operations; i++) {
                const HttpOperation *o = &b->operations[i];

                if (o->step >= b->n_steps || o->first + o->n_names > b->steps[o->step].n_names)
                        abort();
        }
        for (size_t i = 0; i < b->n_steps; i++) {
                void *copy = message_copy(b->steps[i].request);

                if (!copy)
                        abort();
                message_free(copy);
        }
}

static int read_lines(const HttpTarget *t, char *body, size_t len, char **ret_why) {
        unsigned line;
        HttpBulk *b;
        int r = http_bulk_parse(t, &headers, body, len, &b, ret_why, &line);

        if (r == 0) {
                check_lines(b);
                http_bulk_free(b);
        }
        return r;
}

static int read_one(const HttpTarget *t, const char *body, size_t len, char **ret_why) {
        Argosy__Request *q;
        int r = http_write_parse(t, &headers, body, len, &q, ret_why);

        if (r == 0) {
                if (q->what_case == ARGOSY__REQUEST__WHAT__NOT_SET)
                        abort();
                message_free(q);
        }
        return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static char name[] = "web@.service", secret[] = "db";
        HttpTarget t = {.resource = HTTP_NEW_JOB, .name = name};
        _cleanup_free_ char *body = calloc(1, size + 1), *why = NULL;
        int r;

        if (size == 0 || !body)
                return 0;
        memcpy(body, data + 1, size - 1);
        if (data[0] == 't')
                t.resource = HTTP_PUT_UNIT_FILE;
        if (data[0] == 's')
                t = (HttpTarget){.resource = HTTP_PUT_SECRET, .name = secret};
        r = data[0] == 'l' ? read_lines(&t, body, size - 1, &why) : read_one(&t, body, size - 1, &why);
        if (r < 0 && !why)
                abort();
        return 0;
}
