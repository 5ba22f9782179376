// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Values of the configuration: how each type is written, compared, exchanged and freed. A value that is none
// changes nothing and is NOT_A_VALUE; of several words in one line the valid ones count all the same.
//
// What a type is compared and exchanged by has to be there only if a key of it counts from a restart.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "config-private.h"
#include "host-address.h"
#include "manager-name.h"
#include "process-end.h"
#include "str.h"
#include "unit-file.h"

enum { CONFIG_LABELS_MAX = 64 };

static void managers_clear(Config *c) {
        for (size_t i = 0; i < c->n_managers; i++)
                free(c->managers[i]);
        free(c->managers);
        c->managers = NULL;
        c->n_managers = 0;
}

static void labels_clear(Config *c) {
        for (size_t i = 0; i < c->n_labels; i++)
                argosy__label__free_unpacked(c->labels[i], NULL);
        free(c->labels);
        c->labels = NULL;
        c->n_labels = 0;
}

static void listen_clear(HttpListenList *l) {
        free(l->list);
        *l = (HttpListenList){};
}

void config_done(Config *c) {
        labels_clear(c);
        managers_clear(c);
        listen_clear(&c->http_listen);
        listen_clear(&c->fleet_listen);
        free(c->http_names);
        free(c->http_proxies);
        free(c->fleet);
        free(c->fleet_take_over);
        free(c->http_certificate);
        free(c->http_key);
        free(c->name);
        free(c->address);
        *c = (Config){};
}

static Argosy__Label *label_new(const char *key, const char *value) {
        Argosy__Label *l = malloc(sizeof(*l));

        if (!l)
                return NULL;
        argosy__label__init(l);
        l->key = strdup(key);
        l->value = strdup(value);
        if (l->key && l->value)
                return l;
        argosy__label__free_unpacked(l, NULL);
        return NULL;
}

// A later value for the same key replaces the earlier one.
static int label_put(Config *c, const char *key, const char *value) {
        Argosy__Label *l = label_new(key, value);

        if (!l)
                return -ENOMEM;
        for (size_t i = 0; i < c->n_labels; i++)
                if (streq(c->labels[i]->key, key)) {
                        argosy__label__free_unpacked(c->labels[i], NULL);
                        c->labels[i] = l;
                        return 0;
                }
        if (ARRAY_RESERVE(c->labels, c->n_labels + 1) < 0) {
                argosy__label__free_unpacked(l, NULL);
                return -ENOMEM;
        }
        c->labels[c->n_labels++] = l;
        return 0;
}

// 0; NOT_A_VALUE if one of them is none, and the others count; -ENOMEM.
static int each_word(Config *c, const char *value, int (*take)(Config *c, char *word)) {
        _cleanup_free_ char *copy = strdup(value);
        char *save = NULL;
        int bad = 0;

        if (!copy)
                return -ENOMEM;
        for (char *word = strtok_r(copy, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
                int r = take(c, word);

                if (r < 0)
                        return r;
                bad |= r;
        }
        return bad;
}

static int take_label(Config *c, char *word) {
        char *eq = strchr(word, '=');

        if (eq)
                *eq = 0;
        if (!eq || !label_is_valid(word) || !label_is_valid(eq + 1) || c->n_labels >= CONFIG_LABELS_MAX)
                return NOT_A_VALUE;
        return label_put(c, word, eq + 1);
}

// "rack=a zone=b"; several lines accumulate, an empty one resets.
static int assign_labels(Config *c, const char *value) {
        if (!*value)
                labels_clear(c);
        return each_word(c, value, take_label);
}

static bool has_manager(const Config *c, const char *word) {
        for (size_t i = 0; i < c->n_managers; i++)
                if (streq(c->managers[i], word))
                        return true;
        return false;
}

// "user@1000 container@web"; several lines accumulate, an empty one resets.
static int assign_managers(Config *c, const char *value) {
        _cleanup_free_ char *copy = strdup(value);
        char *save = NULL;
        int bad = 0;

        if (!copy)
                return -ENOMEM;
        if (!*value)
                managers_clear(c);
        for (char *word = strtok_r(copy, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
                ManagerKind kind = manager_name_kind(word);

                if ((kind != MANAGER_USER && kind != MANAGER_CONTAINER) ||
                    c->n_managers >= MANAGERS_PER_HOST) {
                        bad = NOT_A_VALUE;
                        continue;
                }
                if (has_manager(c, word))
                        continue;
                if (ARRAY_RESERVE(c->managers, c->n_managers + 1) < 0)
                        return -ENOMEM;
                c->managers[c->n_managers] = strdup(word);
                if (!c->managers[c->n_managers])
                        return -ENOMEM;
                c->n_managers++;
        }
        return bad;
}

static int assign_string(char **where, const char *value) {
        char *s = strdup(value);

        if (!s)
                return -ENOMEM;
        free(*where);
        *where = s;
        return 0;
}

// Without slashes at its end, as links name what is in it. All of the file system is no place for anything.
static int assign_directory(char **where, const char *value) {
        _cleanup_free_ char *path = strdup(value);
        size_t len = strlen(value);

        if (!path)
                return -ENOMEM;
        while (len > 0 && path[len - 1] == '/')
                path[--len] = 0;
        return *value && *path != '/' ? NOT_A_VALUE : assign_string(where, path);
}

static bool listens(const HttpListenList *all, const HttpListen *l) {
        for (size_t i = 0; i < all->n; i++)
                if (streq(all->list[i].text, l->text))
                        return true;
        return false;
}

static int add_listen(HttpListenList *all, const char *word) {
        HttpListen l;

        if (!http_listen_parse(word, &l) || all->n == HTTP_LISTENERS_MAX)
                return NOT_A_VALUE;
        if (listens(all, &l))
                return 0;
        if (ARRAY_RESERVE(all->list, all->n + 1) < 0)
                return -ENOMEM;
        all->list[all->n++] = l;
        return 0;
}

static int take_listen(Config *c, char *word) {
        if (streq(word, "unix"))
                c->http = true;
        else if (streq(word, "none")) {
                listen_clear(&c->http_listen);
                c->http = false;
        } else
                return add_listen(&c->http_listen, word);
        return 0;
}

// "unix 192.0.2.7:8443"; an address comes beside the unix socket, and "none" takes away all that was said
// before.
static int assign_listen(Config *c, const char *value) {
        if (!*value) {
                listen_clear(&c->http_listen);
                c->http = true;
        }
        return each_word(c, value, take_listen);
}

static int take_fleet(Config *c, char *word) {
        return *word == '/' ? assign_string(&c->fleet, word) : add_listen(&c->fleet_listen, word);
}

// "/run/argosy/fleet.sock 192.0.2.7:49153": one path, of which the last one counts, and addresses. As above.
static int assign_fleet(Config *c, const char *value) {
        if (*value && c->fleet)
                return each_word(c, value, take_fleet);
        listen_clear(&c->fleet_listen);
        return assign_string(&c->fleet, "") < 0 ? -ENOMEM : each_word(c, value, take_fleet);
}

static int take_name(Config *c, char *word) {
        HttpName name;

        if (!c->http_names)
                c->http_names = calloc(1, sizeof(*c->http_names));
        if (!c->http_names)
                return -ENOMEM;
        return http_name_parse(word, strlen(word), &name) && http_names_add(c->http_names, &name)
                       ? 0
                       : NOT_A_VALUE;
}

// "argosy.example.org 192.0.2.7"; as above.
static int assign_names(Config *c, const char *value) {
        if (!*value) {
                free(c->http_names);
                c->http_names = NULL;
        }
        return each_word(c, value, take_name);
}

static int take_proxy(Config *c, char *word) {
        HttpProxy proxy;

        if (!c->http_proxies)
                c->http_proxies = calloc(1, sizeof(*c->http_proxies));
        if (!c->http_proxies)
                return -ENOMEM;
        return http_proxy_parse(word, &proxy) && http_proxies_add(c->http_proxies, &proxy) ? 0 : NOT_A_VALUE;
}

// "127.0.0.1 192.0.2.0/24"; as above.
static int assign_proxies(Config *c, const char *value) {
        if (!*value) {
                free(c->http_proxies);
                c->http_proxies = NULL;
        }
        return each_word(c, value, take_proxy);
}

static int assign_bool(bool *where, const char *value) {
        static const char *const words[][2] = {{"no", "yes"}, {"false", "true"}, {"off", "on"}, {"0", "1"}};

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (streq(value, words[i][0]) || streq(value, words[i][1])) {
                        *where = streq(value, words[i][1]);
                        return 0;
                }
        return NOT_A_VALUE;
}

int config_value_put(Config *c, const ConfigKey *k, const char *value) {
        void *where = (char *) c + k->offset;
        uint64_t n;

        switch (k->type) {
        case KEY_NAME:
                return *value && !label_is_valid(value) ? NOT_A_VALUE : assign_string(where, value);
        case KEY_ADDRESS:
                return *value && !host_address_may_be_configured(value) ? NOT_A_VALUE
                                                                        : assign_string(where, value);
        case KEY_NUMBER:
        case KEY_ODD:
                if (!parse_u64(value, k->max, &n) || n < k->min || (k->type == KEY_ODD && n % 2 == 0))
                        return NOT_A_VALUE;
                *(uint64_t *) where = n;
                return 0;
        case KEY_SPAN:
                if (!parse_span_us(value, &n) || n < k->min || n > k->max)
                        return NOT_A_VALUE;
                *(uint64_t *) where = n;
                return 0;
        case KEY_BOOL:
                return assign_bool(where, value);
        case KEY_PATH:
                return *value && *value != '/' ? NOT_A_VALUE : assign_string(where, value);
        case KEY_DIRECTORY:
                return assign_directory(where, value);
        case KEY_LABELS:
                return assign_labels(c, value);
        case KEY_MANAGERS:
                return assign_managers(c, value);
        case KEY_LISTEN:
                return assign_listen(c, value);
        case KEY_FLEET:
                return assign_fleet(c, value);
        case KEY_NAMES:
                return assign_names(c, value);
        case KEY_PROXIES:
                return assign_proxies(c, value);
        }
        return NOT_A_VALUE;
}

// ---- of those that count from a restart

static bool is_same_list(const HttpListenList *a, const HttpListenList *b) {
        for (size_t i = 0; i < a->n && i < b->n; i++)
                if (!streq(a->list[i].text, b->list[i].text))
                        return false;
        return a->n == b->n;
}

bool config_value_is_same(const ConfigKey *k, const Config *a, const Config *b) {
        const void *in_a = (const char *) a + k->offset, *in_b = (const char *) b + k->offset;

        switch (k->type) {
        case KEY_NAME:
                return streq(*(char *const *) in_a, *(char *const *) in_b);
        case KEY_NUMBER:
        case KEY_SPAN:
                return *(const uint64_t *) in_a == *(const uint64_t *) in_b;
        case KEY_BOOL:
                return *(const bool *) in_a == *(const bool *) in_b;
        case KEY_LISTEN:
                return a->http == b->http && is_same_list(&a->http_listen, &b->http_listen);
        case KEY_FLEET:
                return streq(a->fleet, b->fleet) && is_same_list(&a->fleet_listen, &b->fleet_listen);
        default:
                process_abort("a key of that type cannot count from a restart");
        }
}

static void exchange(void *a, void *b, size_t size) {
        char kept[sizeof(HttpListenList)];

        memcpy(kept, a, size);
        memcpy(a, b, size);
        memcpy(b, kept, size);
}

void config_value_exchange(const ConfigKey *k, Config *a, Config *b) {
        void *in_a = (char *) a + k->offset, *in_b = (char *) b + k->offset;

        switch (k->type) {
        case KEY_NAME:
                return exchange(in_a, in_b, sizeof(char *));
        case KEY_NUMBER:
        case KEY_SPAN:
                return exchange(in_a, in_b, sizeof(uint64_t));
        case KEY_BOOL:
                return exchange(in_a, in_b, sizeof(bool));
        case KEY_LISTEN:
                exchange(&a->http, &b->http, sizeof(a->http));
                return exchange(&a->http_listen, &b->http_listen, sizeof(a->http_listen));
        case KEY_FLEET:
                exchange(&a->fleet, &b->fleet, sizeof(a->fleet));
                return exchange(&a->fleet_listen, &b->fleet_listen, sizeof(a->fleet_listen));
        default:
                process_abort("a key of that type cannot count from a restart");
        }
}
