// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What those who make messages say (asks-*.c): names of nodes, units, roles, secrets, numbers of jobs,
// labels, files, as a story draws them. All of it is in the arena of the request that is being made.
#include "asks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "macro.h"
#include "test.h"

void *asks_alloc(size_t size) {
        void *p = arena_alloc(&asks.arena, size);

        assert_non_null(p);
        return memset(p, 0, size);
}

char *asks_printf(const char *format, ...) {
        char text[1024];
        va_list ap;
        int n;

        va_start(ap, format);
        n = vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        assert_in_range(n, 0, sizeof(text) - 1);
        return memcpy(asks_alloc((size_t) n + 1), text, (size_t) n);
}

ProtobufCBinaryData asks_id(void) {
        uint64_t *id = asks_alloc(2 * sizeof(*id));

        id[0] = ++asks.n_ids;
        id[1] = 29;
        return (ProtobufCBinaryData){.data = (uint8_t *) id, .len = 2 * sizeof(*id)};
}

Argosy__NamedFile *asks_file_of(const WorldUnit *u, const WorldContent *c) {
        Argosy__NamedFile *file = ASKS_NEW(Argosy__NamedFile, argosy__named_file__init);

        file->name = file->path = (char *) u->file;
        file->content = (ProtobufCBinaryData){strlen(c->text), (uint8_t *) c->text};
        file->files = asks_alloc((c->n_files + 1) * sizeof(*file->files));
        for (unsigned i = 0; i < c->n_files; i++)
                file->files[file->n_files++] = world_body(c->files[i]);
        return file;
}

Argosy__NamedFile *asks_file(Draw *d, const WorldUnit *u) {
        return asks_file_of(u, world_content_draw(d, u));
}

uint32_t asks_host(Draw *d) {
        if (asks.focus_host > 0 && draw_below(d, 6) > 0)
                return asks.focus_host;
        return 1 + draw_below(d, asks.swarm.hosts);
}

const char *asks_node(Draw *d) {
        if (asks.focus_host > 0)
                return asks_printf("n%u", asks_host(d));
        return asks_printf("n%u", 1 + draw_below(d, asks.swarm.hosts + draw_one_in(d, 16)));
}

const char *asks_unit(Draw *d) {
        return draw_one_in(d, 24) ? "nobody.service" : world_unit_draw(d)->name;
}

uint64_t asks_job(Draw *d) {
        uint64_t last = cluster_state_last_job(asks.port->state());

        return last == 0 ? 1 : last - MIN_OF(draw_log(d, 1, last + 1) - 1, last - 1);
}

uint64_t asks_held_job(Draw *d) {
        uint64_t last = cluster_state_last_job(asks.port->state()), at = asks_job(d);

        for (uint64_t i = 0; i < last; i++, at = at > 1 ? at - 1 : last)
                if (cluster_state_job_state(asks.port->state(), at) == ARGOSY__JOB_STATE__JOB_HELD)
                        return at;
        return at;
}

char **asks_words(Draw *d, size_t *ret_n, unsigned max, const char *(*make)(Draw *d)) {
        size_t n = draw_one_in(d, 3) ? 0 : 1 + draw_below(d, max);
        char **words = n > 0 ? asks_alloc(n * sizeof(*words)) : NULL;

        for (size_t i = 0; i < n; i++)
                words[i] = (char *) make(d);
        *ret_n = n;
        return words;
}

const char *asks_pattern(Draw *d) {
        static const char *const patterns[] = {"*",      "u*", "t0@*", "t?@*.service", "u[0-4].service",
                                               "nobody*"};

        return draw_one_in(d, 2) ? DRAW_PICK(d, patterns) : world_unit_draw(d)->name;
}

const char *asks_rev(Draw *d) {
        static const Hash unknown = {{1}};
        const WorldContent *c = asks.n_contents > 0 && draw_below(d, 8) > 0
                                        ? &asks.contents[draw_below(d, (unsigned) asks.n_contents)]
                                        : NULL;
        char hex[HASH_HEX_SIZE];

        hash_hex(c ? &c->hash : &unknown, draw_one_in(d, 2) ? HASH_SIZE : 8, hex);
        return asks_printf("%s", hex);
}

const char *asks_role(Draw *d) {
        return DRAW_PICK(d, world_roles);
}

const char *asks_pool(Draw *d) {
        return DRAW_PICK(d, world_pools);
}

const char *asks_secret(Draw *d) {
        return DRAW_PICK(d, world_secrets);
}

Argosy__Label *asks_label(Draw *d) {
        Argosy__Label *label = ASKS_NEW(Argosy__Label, argosy__label__init);

        switch (draw_below(d, 6)) {
        case 0:
                label->key = (char *) "disk";
                label->value = (char *) "fast";
                break;
        case 1:
                label->key = (char *) "offers/gpu";
                label->value = asks_printf("%u", draw_below(d, 4));
                break;
        default:
                label->key = (char *) "zone";
                label->value = (char *) DRAW_PICK(d, world_zones);
        }
        return label;
}

Argosy__Label **asks_labels(Draw *d, size_t *ret_n, unsigned max) {
        size_t n = draw_one_in(d, 2) ? 0 : 1 + draw_below(d, max);
        Argosy__Label **labels = n > 0 ? asks_alloc(n * sizeof(*labels)) : NULL;

        for (size_t i = 0; i < n; i++)
                labels[i] = asks_label(d);
        *ret_n = n;
        return labels;
}

Argosy__Right asks_right(Draw *d) {
        return (Argosy__Right) (ARGOSY__RIGHT__RIGHT_VIEW + draw_below(d, 4));
}

const Argosy__Response *asks_last_response(const WorldAsked *a) {
        return asks.port->last_response(a);
}

const Argosy__UnitRecord *asks_record(const char *name) {
        const UnitEntry *e = cluster_state_find_unit(asks.port->state(), name);

        return e ? e->record : NULL;
}
