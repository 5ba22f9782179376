// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Labels, terms and selectors of the placement, all as numbers.
//
//      label_pair() "key=value" -> node_set_pairs()
//          -> selectors_refresh(): one bit for each selector and node
//      term_make() -> selector_get(): equal terms and conflicts share a selector, which counts its users
//
// A string that was seen once keeps its number: there are as many as unit files and hosts have named.
// Without memory the process ends (oom.h).

#include "buf.h"
#include "placement-private.h"
#include "str.h"

enum { PAIR_NODES_MAX = 64 }; // nodes listed for one label; with more of them all nodes are searched

void label_key(Placement *p, const char *key, uint32_t *ret) {
        uint32_t number = number_of(&p->keys_by_name, key);
        Key *k;

        if (number) {
                *ret = number - 1;
                return;
        }
        table_grow(&p->keys, &p->keys_allocated, p->n_keys + 1, sizeof *p->keys);
        k = &p->keys[p->n_keys];
        *k = (Key){.name = oom_checked(strdup(key))};
        number_add(&p->keys_by_name, k->name, p->n_keys);
        *ret = p->n_keys++;
}

void label_pair(Placement *p, const char *key, const char *value, uint32_t *ret) {
        _cleanup_free_ char *text = oom_checked(str_printf("%s=%s", key, value));
        uint32_t number = number_of(&p->pairs_by_text, text), k;
        Pair *pair;

        if (number) {
                *ret = number - 1;
                return;
        }
        label_key(p, key, &k);
        table_grow(&p->pairs, &p->pairs_allocated, p->n_pairs + 1, sizeof *p->pairs);
        number_add(&p->pairs_by_text, text, p->n_pairs);
        pair = &p->pairs[p->n_pairs];
        *pair = (Pair){.text = TAKE_PTR(text), .key = k, .index = p->keys[k].n_values++};
        *ret = p->n_pairs++;
}

static int number_compare(const void *a, const void *b) {
        uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

        return (x > y) - (x < y);
}

// Of a node with these pairs.
static uint32_t domain_by_pairs(const Placement *p, const uint32_t *pairs, size_t n, uint32_t key) {
        for (size_t i = 0; i < n; i++)
                if (p->pairs[pairs[i]].key == key)
                        return p->pairs[pairs[i]].index + 1;
        return 0;
}

static uint32_t find_domain(const Placement *p, uint32_t node, uint32_t key) {
        return domain_by_pairs(p, p->nodes[node].labels, p->nodes[node].n_labels, key);
}

uint32_t node_domain(const Placement *p, uint32_t node, uint32_t key) {
        return p->keys[key].domains ? p->keys[key].domains[node] : find_domain(p, node, key);
}

void key_need_domains(Placement *p, uint32_t key) {
        Key *k = &p->keys[key];

        if (k->domains)
                return;
        k->domains = oom_checked(calloc((size_t) p->masks_allocated + 1, sizeof *k->domains));
        for (uint32_t n = 0; n < p->node_slots.n; n++)
                if (p->node_slots.used[n])
                        k->domains[n] = find_domain(p, n, key);
}

static void pair_add_node(Pair *pair, uint32_t node) {
        if (pair->nodes.n == PAIR_NODES_MAX) {
                numbers_done(&pair->nodes);
                pair->many = true;
        }
        if (!pair->many)
                numbers_add(&pair->nodes, node);
}

void node_forget_labels(Placement *p, uint32_t node) {
        PlacedNode *n = &p->nodes[node];

        for (uint32_t i = 0; i < n->n_labels; i++)
                if (!p->pairs[n->labels[i]].many)
                        numbers_drop(&p->pairs[n->labels[i]].nodes, node);
        free(n->labels);
        n->labels = NULL;
        n->n_labels = 0;
}

uint32_t *label_pairs(Placement *p, const PlacementLabel *labels, size_t n) {
        uint32_t *pairs = oom_checked(calloc(n + 1, sizeof *pairs));

        for (size_t i = 0; i < n; i++)
                label_pair(p, labels[i].key, labels[i].value, &pairs[i]);
        if (n > 0)
                qsort(pairs, n, sizeof *pairs, number_compare);
        return pairs;
}

bool node_changes_domain(const Placement *p, uint32_t node, const uint32_t *pairs, size_t n) {
        for (uint32_t k = 0; k < p->n_keys; k++)
                if (p->keys[k].domains && p->keys[k].domains[node] != domain_by_pairs(p, pairs, n, k))
                        return true;
        return false;
}

void node_set_pairs(Placement *p, uint32_t node, uint32_t *pairs, size_t n) {
        PlacedNode *to = &p->nodes[node];

        node_forget_labels(p, node);
        for (size_t i = 0; i < n; i++)
                pair_add_node(&p->pairs[pairs[i]], node);
        to->labels = pairs;
        to->n_labels = (uint32_t) n;
        for (uint32_t k = 0; k < p->n_keys; k++)
                if (p->keys[k].domains)
                        p->keys[k].domains[node] = find_domain(p, node, k);
}

// ------------------------------------------------------------------------------------------------ terms

void term_make(Placement *p, const PlacementTerm *from, Term *ret) {
        uint32_t n = 0;

        *ret = (Term){.op = from->op, .reason = from->reason};
        label_key(p, from->key, &ret->key);
        while (from->values && from->values[n])
                n++;
        ret->values = oom_checked(calloc((size_t) n + 1, sizeof *ret->values));
        for (; ret->n_values < n; ret->n_values++)
                label_pair(p, from->key, from->values[ret->n_values], &ret->values[ret->n_values]);
        if (n > 0)
                qsort(ret->values, n, sizeof *ret->values, number_compare);
}

void term_done(Term *t) {
        free(t->values);
        *t = (Term){0};
}

static void term_copy(const Term *from, Term *ret) {
        *ret = *from;
        ret->values = oom_checked(calloc((size_t) from->n_values + 1, sizeof *ret->values));
        memcpy(ret->values, from->values, from->n_values * sizeof *ret->values);
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

const char *pair_value(const Placement *p, uint32_t pair) {
        return p->pairs[pair].text + strlen(p->keys[p->pairs[pair].key].name) + 1;
}

static bool node_compares(const Placement *p, const PlacedNode *n, const Term *t) {
        for (uint32_t i = 0; i < n->n_labels; i++)
                for (uint32_t k = 0; p->pairs[n->labels[i]].key == t->key && k < t->n_values; k++)
                        if (label_op_names(t->op, pair_value(p, t->values[k]), pair_value(p, n->labels[i])))
                                return true;
        return false;
}

bool term_matches(const Placement *p, const Term *t, uint32_t node) {
        const PlacedNode *n = &p->nodes[node];
        bool has;

        if (label_op_compares(t->op))
                has = node_compares(p, n, t);
        else
                has = t->n_values > 0 ? node_has_any(n, t) : find_domain(p, node, t->key) != 0;
        return has == label_op_wants(t->op);
}

// ------------------------------------------------------------------------------------------------ selectors

static void text_add_numbers(Buf *text, char what, const uint32_t *of, uint32_t n) {
        for (uint32_t i = 0; i < n; i++)
                oom_check(buf_printf(text, "%c%u", what, of[i]));
}

static char *selector_key(const Term *const *terms, uint32_t n_terms, const Numbers *hates,
                          const Numbers *matches) {
        _cleanup_buf_ Buf text = {0};

        for (uint32_t i = 0; i < n_terms; i++) {
                oom_check(buf_printf(&text, "t%d/%u", terms[i]->op, terms[i]->key));
                text_add_numbers(&text, ',', terms[i]->values, terms[i]->n_values);
        }
        if (hates)
                text_add_numbers(&text, 'h', hates->of, hates->n);
        if (matches)
                text_add_numbers(&text, 'm', matches->of, matches->n);
        return oom_checked(buf_take_string(&text));
}

bool selector_has(const Placement *p, uint32_t selector, uint32_t node) {
        return bit_test(p->masks + (size_t) node * p->n_words, selector);
}

// What the bit of this selector and node has to be.
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
        if (!yes) { // bits of the index may stay set: walks check the node's own bit
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

void selectors_refresh(Placement *p, uint32_t node) {
        for (int with_conflicts = 0; with_conflicts < 2; with_conflicts++)
                for (uint32_t s = 0; s < p->selector_slots.n; s++)
                        if (p->selector_slots.used[s] && (p->selectors[s].base != s) == with_conflicts)
                                selector_refresh(p, s, node);
}

static void numbers_copy(const Numbers *from, Numbers *ret) {
        for (uint32_t i = 0; from && i < from->n; i++)
                numbers_add(ret, from->of[i]);
}

// A term that at most PAIR_NODES_MAX nodes per value meet. NULL: none.
static const Term *narrow_term(const Placement *p, const Selector *s) {
        for (uint32_t i = 0; i < s->n_terms; i++) {
                bool many = s->terms[i].op != LABEL_IN;

                for (uint32_t v = 0; v < s->terms[i].n_values; v++)
                        many |= p->pairs[s->terms[i].values[v]].many;
                if (!many)
                        return &s->terms[i];
        }
        return NULL;
}

// Hundreds of units may each name one host, so a term that few nodes meet spares the walk over all nodes.
static void selector_find_nodes(Placement *p, uint32_t selector) {
        const Term *narrow = narrow_term(p, &p->selectors[selector]);

        for (uint32_t v = 0; narrow && v < narrow->n_values; v++)
                for (uint32_t i = 0; i < p->pairs[narrow->values[v]].nodes.n; i++)
                        selector_refresh(p, selector, p->pairs[narrow->values[v]].nodes.of[i]);
        for (uint32_t n = 0; !narrow && n < p->node_slots.n; n++)
                if (p->node_slots.used[n])
                        selector_refresh(p, selector, n);
}

static void selector_fill(Placement *p, uint32_t selector, const Term *const *terms, uint32_t n_terms,
                          const Numbers *hates, const Numbers *matches) {
        Selector *s = &p->selectors[selector];

        s->nodes = oom_checked(calloc(p->node_words + 1, sizeof *s->nodes));
        s->terms = oom_checked(calloc((size_t) n_terms + 1, sizeof *s->terms));
        numbers_copy(hates, &s->hates);
        numbers_copy(matches, &s->matches);
        for (; s->n_terms < n_terms; s->n_terms++)
                term_copy(terms[s->n_terms], &s->terms[s->n_terms]);
        for (uint32_t i = 0; i < s->hates.n; i++)
                numbers_add(&p->globs[s->hates.of[i]].declared, selector);
        for (uint32_t i = 0; i < s->matches.n; i++)
                numbers_add(&p->globs[s->matches.of[i]].matched, selector);
        if (s->hates.n + s->matches.n > 0) {
                uint32_t base;

                selector_get(p, terms, n_terms, NULL, NULL, &base);
                p->selectors[selector].base = base;
        }
        selector_find_nodes(p, selector);
}

void selector_get(Placement *p, const Term *const *terms, uint32_t n_terms, const Numbers *hates,
                  const Numbers *matches, uint32_t *ret) {
        char *key = selector_key(terms, n_terms, hates, matches);
        uint32_t number = number_of(&p->selectors_by_key, key);

        if (number) {
                free(key);
                *ret = number - 1;
                p->selectors[*ret].refs++;
                return;
        }
        slots_take(&p->selector_slots, ret);
        table_grow(&p->selectors, &p->selectors_allocated, *ret + 1, sizeof *p->selectors);
        if (*ret >= p->n_words * WORD_BITS)
                index_restride(p, p->n_words + MAX_OF(p->n_words / 2, 1U));
        p->selectors[*ret] =
                (Selector){.key = key, .refs = 1, .base = *ret, .first_blocked = PLACEMENT_NONE};
        number_add(&p->selectors_by_key, key, *ret);
        selector_fill(p, *ret, terms, n_terms, hates, matches);
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
                if (p->indexes[kind].on)
                        index_drop_selector(p, &p->indexes[kind], selector);
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
