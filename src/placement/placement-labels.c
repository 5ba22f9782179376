// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Labels are numbers here: a key, and a pair (key=value). Strings that were seen once stay; there are as
// many as somebody has written into unit files and onto hosts.
#include <errno.h>

#include "buf.h"
#include "placement-private.h"
#include "str.h"

static uint32_t number_of(const Map *m, const char *text) {
        return (uint32_t) (uintptr_t) map_find_str(m, text); // + 1; 0: none
}

static int number_add(Map *m, const char *text, uint32_t number) {
        return map_add_str(m, text,
                           (void *) (uintptr_t) (number + 1)); // NOLINT: a number in a pointer's place
}

int label_key(Placement *p, const char *key, uint32_t *ret) {
        uint32_t number = number_of(&p->keys_by_name, key);
        Key *k;

        if (number) {
                *ret = number - 1;
                return 0;
        }
        if (grow(&p->keys, &p->keys_allocated, p->n_keys + 1, sizeof *p->keys) < 0)
                return -ENOMEM;
        k = &p->keys[p->n_keys];
        *k = (Key){.name = strdup(key)};
        if (!k->name || number_add(&p->keys_by_name, k->name, p->n_keys) < 0) {
                free(k->name);
                return -ENOMEM;
        }
        *ret = p->n_keys++;
        return 0;
}

int label_pair(Placement *p, const char *key, const char *value, uint32_t *ret) {
        _cleanup_free_ char *text = str_printf("%s=%s", key, value);
        uint32_t number, k;
        Pair *pair;

        if (!text)
                return -ENOMEM;
        number = number_of(&p->pairs_by_text, text);
        if (number) {
                *ret = number - 1;
                return 0;
        }
        if (label_key(p, key, &k) < 0 ||
            grow(&p->pairs, &p->pairs_allocated, p->n_pairs + 1, sizeof *p->pairs) < 0 ||
            number_add(&p->pairs_by_text, text, p->n_pairs) < 0)
                return -ENOMEM;
        pair = &p->pairs[p->n_pairs];
        *pair = (Pair){.text = TAKE_PTR(text), .key = k, .index = p->keys[k].n_values++};
        *ret = p->n_pairs++;
        return 0;
}

static int number_compare(const void *a, const void *b) {
        uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

        return (x > y) - (x < y);
}

uint32_t node_domain(const Placement *p, uint32_t node, uint32_t key) {
        const PlacedNode *n = &p->nodes[node];

        if (p->keys[key].domains)
                return p->keys[key].domains[node];
        for (uint32_t i = 0; i < n->n_labels; i++)
                if (p->pairs[n->labels[i]].key == key)
                        return p->pairs[n->labels[i]].index + 1;
        return 0;
}

static uint32_t find_domain(const Placement *p, uint32_t node, uint32_t key) {
        const PlacedNode *n = &p->nodes[node];

        for (uint32_t i = 0; i < n->n_labels; i++)
                if (p->pairs[n->labels[i]].key == key)
                        return p->pairs[n->labels[i]].index + 1;
        return 0;
}

int key_need_domains(Placement *p, uint32_t key) {
        Key *k = &p->keys[key];

        if (k->domains)
                return 0;
        k->domains = calloc((size_t) p->masks_allocated + 1, sizeof *k->domains);
        if (!k->domains)
                return -ENOMEM;
        for (uint32_t n = 0; n < p->node_slots.n; n++)
                if (p->node_slots.used[n])
                        k->domains[n] = find_domain(p, n, key);
        return 0;
}

int node_set_labels(Placement *p, uint32_t node, const PlacementLabel *labels, size_t n) {
        PlacedNode *to = &p->nodes[node];
        uint32_t *pairs = calloc(n + 1, sizeof *pairs);
        int r = 0;

        if (!pairs)
                return -ENOMEM;
        for (size_t i = 0; i < n && r >= 0; i++)
                r = label_pair(p, labels[i].key, labels[i].value, &pairs[i]);
        if (r < 0) {
                free(pairs);
                return r;
        }
        if (n > 0)
                qsort(pairs, n, sizeof *pairs, number_compare);
        free(to->labels);
        to->labels = pairs;
        to->n_labels = (uint32_t) n;
        for (uint32_t k = 0; k < p->n_keys; k++)
                if (p->keys[k].domains)
                        p->keys[k].domains[node] = find_domain(p, node, k);
        return 0;
}

// ------------------------------------------------------------------------------------------------ terms

int term_make(Placement *p, const PlacementTerm *from, Term *ret) {
        uint32_t n = 0;
        int r;

        *ret = (Term){.op = from->op, .reason = from->reason};
        r = label_key(p, from->key, &ret->key);
        while (from->values && from->values[n])
                n++;
        ret->values = calloc((size_t) n + 1, sizeof *ret->values);
        if (!ret->values)
                return -ENOMEM;
        for (; r >= 0 && ret->n_values < n; ret->n_values++)
                r = label_pair(p, from->key, from->values[ret->n_values], &ret->values[ret->n_values]);
        if (r >= 0 && n > 0)
                qsort(ret->values, n, sizeof *ret->values, number_compare);
        return r;
}

void term_done(Term *t) {
        free(t->values);
        *t = (Term){0};
}

static int term_copy(const Term *from, Term *ret) {
        *ret = *from;
        ret->values = calloc((size_t) from->n_values + 1, sizeof *ret->values);
        if (!ret->values)
                return -ENOMEM;
        memcpy(ret->values, from->values, from->n_values * sizeof *ret->values);
        return 0;
}

static bool node_has_any(const PlacedNode *n, const Term *t) {
        for (uint32_t i = 0, k = 0; i < n->n_labels && k < t->n_values;) {
                if (n->labels[i] == t->values[k])
                        return true;
                if (n->labels[i] < t->values[k])
                        i++;
                else
                        k++;
        }
        return false;
}

bool term_matches(const Placement *p, const Term *t, uint32_t node) {
        const PlacedNode *n = &p->nodes[node];

        switch (t->op) {
        case PLACEMENT_IN:
                return node_has_any(n, t);
        case PLACEMENT_NOT_IN:
                return !node_has_any(n, t);
        default:
                return (find_domain(p, node, t->key) != 0) == (t->op == PLACEMENT_EXISTS);
        }
}

// ------------------------------------------------------------------------------------------------ selectors

static int text_add_numbers(Buf *text, char what, const uint32_t *of, uint32_t n) {
        int r = 0;

        for (uint32_t i = 0; i < n && r >= 0; i++)
                r = buf_printf(text, "%c%u", what, of[i]);
        return r;
}

static char *selector_key(const Term *const *terms, uint32_t n_terms, const Numbers *hates,
                          const Numbers *matches) {
        _cleanup_buf_ Buf text = {0};

        for (uint32_t i = 0; i < n_terms; i++)
                if (buf_printf(&text, "t%d/%u", terms[i]->op, terms[i]->key) < 0 ||
                    text_add_numbers(&text, ',', terms[i]->values, terms[i]->n_values) < 0)
                        return NULL;
        if ((hates && text_add_numbers(&text, 'h', hates->of, hates->n) < 0) ||
            (matches && text_add_numbers(&text, 'm', matches->of, matches->n) < 0))
                return NULL;
        return buf_take_string(&text);
}

bool selector_has(const Placement *p, uint32_t selector, uint32_t node) {
        return bit_test(p->masks + (size_t) node * p->n_words, selector);
}

// Whether the bit should be set.
static bool selector_suits(const Placement *p, uint32_t selector, uint32_t node) {
        const Selector *s = &p->selectors[selector];

        if (s->base != selector)
                return selector_has(p, s->base, node) && !conflict_on(p, s, node);
        for (uint32_t i = 0; i < s->n_terms; i++)
                if (!term_matches(p, &s->terms[i], node))
                        return false;
        return true;
}

void selector_set(Placement *p, uint32_t selector, uint32_t node, bool yes) {
        Selector *s = &p->selectors[selector];

        if (selector_has(p, selector, node) == yes)
                return;
        if (!yes) { // the index may keep its bits: they are checked
                bit_clear(p->masks + (size_t) node * p->n_words, selector);
                bit_clear(s->nodes, node);
                return;
        }
        bit_set(p->masks + (size_t) node * p->n_words, selector);
        bit_set(s->nodes, node);
        index_add_bit(p, node, selector);
        node_freed(p, node);
}

void selector_refresh(Placement *p, uint32_t selector, uint32_t node) {
        selector_set(p, selector, node, selector_suits(p, selector, node));
}

void selectors_look_again(Placement *p, uint32_t node) {
        for (int with_conflicts = 0; with_conflicts < 2; with_conflicts++)
                for (uint32_t s = 0; s < p->selector_slots.n; s++)
                        if (p->selector_slots.used[s] && (p->selectors[s].base != s) == with_conflicts)
                                selector_refresh(p, s, node);
}

static int numbers_copy(const Numbers *from, Numbers *ret) {
        int r = 0;

        for (uint32_t i = 0; from && i < from->n && r >= 0; i++)
                r = numbers_add(ret, from->of[i]);
        return r;
}

static int selector_fill(Placement *p, uint32_t selector, const Term *const *terms, uint32_t n_terms,
                         const Numbers *hates, const Numbers *matches) {
        Selector *s = &p->selectors[selector];
        int r;

        s->nodes = calloc(p->node_words + 1, sizeof *s->nodes);
        s->terms = calloc((size_t) n_terms + 1, sizeof *s->terms);
        if (!s->nodes || !s->terms || numbers_copy(hates, &s->hates) < 0 ||
            numbers_copy(matches, &s->matches) < 0)
                return -ENOMEM;
        for (; s->n_terms < n_terms; s->n_terms++)
                if (term_copy(terms[s->n_terms], &s->terms[s->n_terms]) < 0)
                        return -ENOMEM;
        for (uint32_t i = 0; i < s->hates.n; i++)
                if (numbers_add(&p->globs[s->hates.of[i]].declared, selector) < 0)
                        return -ENOMEM;
        for (uint32_t i = 0; i < s->matches.n; i++)
                if (numbers_add(&p->globs[s->matches.of[i]].matched, selector) < 0)
                        return -ENOMEM;
        if (s->hates.n + s->matches.n > 0) {
                uint32_t base;

                r = selector_get(p, terms, n_terms, NULL, NULL, &base);
                if (r < 0)
                        return r;
                p->selectors[selector].base = base;
        }
        for (uint32_t n = 0; n < p->node_slots.n; n++)
                if (p->node_slots.used[n])
                        selector_set(p, selector, n, selector_suits(p, selector, n));
        return 0;
}

int selector_get(Placement *p, const Term *const *terms, uint32_t n_terms, const Numbers *hates,
                 const Numbers *matches, uint32_t *ret) {
        char *key = selector_key(terms, n_terms, hates, matches);
        uint32_t number;
        int r;

        if (!key)
                return -ENOMEM;
        number = number_of(&p->selectors_by_key, key);
        if (number) {
                free(key);
                *ret = number - 1;
                p->selectors[*ret].refs++;
                return 0;
        }
        r = slots_take(&p->selector_slots, ret);
        if (r >= 0)
                r = grow(&p->selectors, &p->selectors_allocated, *ret + 1, sizeof *p->selectors);
        if (r >= 0 && *ret >= p->n_words * WORD_BITS)
                r = index_restride(p, p->n_words + MAX_OF(p->n_words / 2, 1U));
        if (r < 0) {
                free(key);
                return r;
        }
        p->selectors[*ret] =
                (Selector){.key = key, .refs = 1, .base = *ret, .first_blocked = PLACEMENT_NONE};
        r = number_add(&p->selectors_by_key, key, *ret);
        return r < 0 ? r : selector_fill(p, *ret, terms, n_terms, hates, matches);
}

void selector_done(Selector *s) {
        for (uint32_t i = 0; i < s->n_terms; i++)
                term_done(&s->terms[i]);
        free(s->terms);
        free(s->nodes);
        free(s->key);
        numbers_done(&s->hates);
        numbers_done(&s->matches);
        numbers_done(&s->spreads);
}

void selector_unref(Placement *p, uint32_t selector) {
        Selector *s = &p->selectors[selector];
        uint32_t base = s->base;

        if (--s->refs > 0)
                return;
        map_take_str(&p->selectors_by_key, s->key);
        for (uint32_t n = 0; n < p->node_slots.n; n++)
                bit_clear(p->masks + (size_t) n * p->n_words, selector);
        for (IndexKind kind = 0; kind < N_INDEXES; kind++)
                for (uint32_t k = 0; p->indexes[kind].on && k < INDEX_KEYS; k++)
                        index_drop_bit(p, &p->indexes[kind], k, selector);
        for (uint32_t i = 0; i < s->hates.n; i++)
                numbers_drop(&p->globs[s->hates.of[i]].declared, selector);
        for (uint32_t i = 0; i < s->matches.n; i++)
                numbers_drop(&p->globs[s->matches.of[i]].matched, selector);
        selector_done(s);
        *s = (Selector){0};
        slots_give(&p->selector_slots, selector);
        if (base != selector)
                selector_unref(p, base);
}
