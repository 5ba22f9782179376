// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Classes, made once per meaning, and conflicts. A glob has two sides: units whose class declares it, and
// units whose name matches it. On one node there may be some of one side only. Each side of each glob is
// counted per node; a count that becomes one or zero changes one bit of the selectors of the other side.
// Only those whose name it matches mind a glob of Replaces= (Glob.one_sided).
#include <errno.h>
#include <fnmatch.h>

#include "buf.h"
#include "placement-private.h"
#include "str.h"

enum { DECLARED, MATCHED };

static uint32_t side(uint32_t glob, int which) {
        return 2 * glob + (uint32_t) which;
}

static bool has(const Numbers *l, uint32_t number) {
        for (uint32_t i = 0; i < l->n; i++)
                if (l->of[i] == number)
                        return true;
        return false;
}

bool conflict_on(const Placement *p, const Selector *s, uint32_t node) {
        for (uint32_t i = 0; i < s->hates.n; i++)
                if (!p->globs[s->hates.of[i]].one_sided &&
                    counts_get(&p->conflicts, side(s->hates.of[i], MATCHED), node))
                        return true;
        for (uint32_t i = 0; i < s->matches.n; i++)
                if (counts_get(&p->conflicts, side(s->matches.of[i], DECLARED), node))
                        return true;
        return false;
}

bool conflict_with_others(const Placement *p, uint32_t unit) {
        const PlacedUnit *u = &p->units[unit];
        const Selector *s = &p->selectors[p->shapes[u->shape].selector];

        for (uint32_t i = 0; i < s->hates.n; i++)
                if (!p->globs[s->hates.of[i]].one_sided &&
                    counts_get(&p->conflicts, side(s->hates.of[i], MATCHED), u->node) >
                            has(&s->matches, s->hates.of[i]))
                        return true;
        for (uint32_t i = 0; i < s->matches.n; i++)
                if (counts_get(&p->conflicts, side(s->matches.of[i], DECLARED), u->node) >
                    has(&s->hates, s->matches.of[i]))
                        return true;
        return false;
}

bool placement_unit_replaces(const Placement *p, uint32_t unit) {
        const Selector *s = &p->selectors[p->shapes[p->units[unit].shape].selector];

        for (uint32_t i = 0; i < s->hates.n; i++)
                if (p->globs[s->hates.of[i]].one_sided)
                        return true;
        return false;
}

bool placement_unit_replaces_unit(const Placement *p, uint32_t unit, uint32_t other) {
        const Numbers *hates = &p->selectors[p->shapes[p->units[unit].shape].selector].hates;
        const Numbers *matches = &p->selectors[p->shapes[p->units[other].shape].selector].matches;

        for (uint32_t i = 0; i < hates->n; i++)
                if (p->globs[hates->of[i]].one_sided && has(matches, hates->of[i]))
                        return true;
        return false;
}

bool placement_unit_replaced(const Placement *p, uint32_t unit) {
        const PlacedUnit *u = &p->units[unit];
        const Selector *s = &p->selectors[p->shapes[u->shape].selector];

        for (uint32_t i = 0; u->node != PLACEMENT_NONE && i < s->matches.n; i++)
                if (p->globs[s->matches.of[i]].one_sided &&
                    counts_get(&p->conflicts, side(s->matches.of[i], DECLARED), u->node) >
                            has(&s->hates, s->matches.of[i]))
                        return true;
        return false;
}

static void count_side(Placement *p, uint32_t glob, int which, uint32_t node, int step) {
        uint32_t n = counts_get(&p->conflicts, side(glob, which), node) + (uint32_t) step;
        const Glob *g = &p->globs[glob];
        const Numbers *others = which == DECLARED ? &g->matched : &g->declared;

        counts_set(&p->conflicts, side(glob, which), node, n);
        if (n == 0 || (n == 1 && step > 0))
                for (uint32_t i = 0; i < others->n; i++)
                        selector_refresh(p, others->of[i], node);
}

void conflicts_count(Placement *p, const Shape *shape, uint32_t node, int step) {
        const Numbers *declared = &p->classes[shape->class].globs, *matched = &shape->matches;

        for (uint32_t i = 0; i < declared->n; i++)
                count_side(p, declared->of[i], DECLARED, node, step);
        for (uint32_t i = 0; i < matched->n; i++)
                count_side(p, matched->of[i], MATCHED, node, step);
}

// ------------------------------------------------------------------------------------------------ shapes

static char *shape_key(uint32_t class, const Numbers *matches) {
        _cleanup_buf_ Buf text = {0};

        oom_check(buf_printf(&text, "%u", class));
        for (uint32_t i = 0; i < matches->n; i++)
                oom_check(buf_printf(&text, ",%u", matches->of[i]));
        return oom_checked(buf_take_string(&text));
}

static void shape_fill(Placement *p, uint32_t shape) {
        Shape *s = &p->shapes[shape];
        const Class *c = &p->classes[s->class];
        const Selector *base = &p->selectors[c->base];
        uint32_t n_base = base->n_terms, n_sets = 1U << c->spec.n_preferences;
        const Term *terms[PLACEMENT_TERMS_MAX + 1 + PLACEMENT_PREFERENCES_MAX];

        for (uint32_t set = 0; set < n_sets; set++) {
                uint32_t n = n_base;

                base = &p->selectors[c->base]; // the array may have moved
                for (uint32_t i = 0; i < n_base; i++)
                        terms[i] = &base->terms[i];
                for (uint32_t i = 0; i < c->spec.n_preferences; i++)
                        if (set & 1U << i)
                                terms[n++] = &c->preferences[i];
                selector_get(p, terms, n, &c->globs, &s->matches, &s->preferred[set]);
        }
        s->selector = s->preferred[0];
}

static void shape_of(Placement *p, uint32_t class, const Numbers *matches, uint32_t *ret) {
        char *key;
        uint32_t number;
        Shape *s;

        if (matches->n == 0 && p->classes[class].plain != PLACEMENT_NONE) {
                *ret = p->classes[class].plain;
                p->shapes[*ret].refs++;
                return;
        }
        key = shape_key(class, matches);
        number = number_of(&p->shapes_by_key, key);
        if (number) {
                free(key);
                *ret = number - 1;
                p->shapes[*ret].refs++;
                return;
        }
        slots_take(&p->shape_slots, ret);
        table_grow(&p->shapes, &p->shapes_allocated, *ret + 1, sizeof *p->shapes);
        number_add(&p->shapes_by_key, key, *ret);
        if (matches->n == 0)
                p->classes[class].plain = *ret;
        s = &p->shapes[*ret];
        *s = (Shape){.key = key, .refs = 1, .class = class};
        p->classes[class].refs++;
        for (uint32_t i = 0; i < matches->n; i++)
                numbers_add(&s->matches, matches->of[i]);
        shape_fill(p, *ret);
}

static bool glob_matches(const Glob *g, const char *name) {
        return strncmp(g->text, name, g->plain) == 0 && fnmatch(g->text, name, 0) == 0;
}

// "&KEY=": of the same key, not the same value.
static bool differs(const char *a, const char *b) {
        size_t key = strcspn(a, "=");

        return *b == PLACEMENT_SHARED && strncmp(a, b, key + 1) == 0 && !streq(a + key, b + key);
}

static bool is_claim(const char *text) {
        return *text == PLACEMENT_CLAIM || *text == PLACEMENT_SHARED;
}

// A claim is matched by units with the same one, or of those that are shared with another one.
static bool is_claimed(const Placement *p, uint32_t class, const char *text) {
        const Numbers *claims = &p->classes[class].globs;
        bool found = false;

        if (!is_claim(text))
                return false;
        for (uint32_t i = 0; i < claims->n && !found; i++) {
                const char *own = p->globs[claims->of[i]].text;

                found = *text == PLACEMENT_CLAIM ? streq(text, own) : differs(text, own);
        }
        return found;
}

void shape_get(Placement *p, uint32_t class, const char *name, uint32_t *ret) {
        Numbers matches = {0};

        for (uint32_t g = 0; g < p->glob_slots.n; g++)
                if (p->glob_slots.used[g] &&
                    (glob_matches(&p->globs[g], name) || is_claimed(p, class, p->globs[g].text)))
                        numbers_add(&matches, g);
        shape_of(p, class, &matches, ret);
        numbers_done(&matches);
}

void shape_unref(Placement *p, uint32_t shape) {
        Shape *s = &p->shapes[shape];
        uint32_t class = s->class;

        if (--s->refs > 0)
                return;
        map_take_str(&p->shapes_by_key, s->key);
        for (uint32_t set = 0; set < 1U << p->classes[class].spec.n_preferences; set++)
                selector_unref(p, s->preferred[set]);
        if (p->classes[class].plain == shape)
                p->classes[class].plain = PLACEMENT_NONE;
        numbers_done(&s->matches);
        free(s->key);
        *s = (Shape){0};
        slots_give(&p->shape_slots, shape);
        placement_class_unref(p, class);
}

// ------------------------------------------------------------------------------------------------ globs

NameHead placement_name_head(const char *name) {
        size_t n = strlen(name);
        NameHead h = {.hash = (uint16_t) map_hash(name, n)};

        memcpy(h.letters, name, MIN_OF(n, sizeof(h.letters)));
        return h;
}

static bool is_of_any_class(const Placement *p, const char *claim) {
        for (uint32_t c = 0; c < p->class_slots.n; c++)
                if (p->class_slots.used[c] && is_claimed(p, c, claim))
                        return true;
        return false;
}

static bool is_for(const Placement *p, const Glob *g, uint32_t unit) {
        const PlacedUnit *u = &p->units[unit];

        return is_claim(g->text) ? is_claimed(p, p->shapes[u->shape].class, g->text)
                                 : glob_matches(g, u->name);
}

// What the heads of names that a glob may match have in common.
typedef struct Likeness {
        NameHead head, mask;
} Likeness;

static Likeness likeness_of(const Glob *g) {
        Likeness l = {.head = placement_name_head(g->text)};

        if (is_claim(g->text))
                return l;
        memset(l.mask.letters, 0xff, MIN_OF((size_t) g->plain, sizeof(l.mask.letters)));
        if (!g->text[g->plain]) // it is one name
                memset(&l.mask, 0xff, sizeof(l.mask));
        return l;
}

static bool is_alike(const Placement *p, const Likeness *l, uint32_t unit) {
        const NameHead *h = &p->name_heads[unit];

        return (((h->words[0] ^ l->head.words[0]) & l->mask.words[0]) |
                ((h->words[1] ^ l->head.words[1]) & l->mask.words[1])) == 0;
}

// A glob came or went: units that it is for get another shape. If it is a claim that no class has to do with
// there are none; else it looks at what stands beside each other of all names, a nanosecond each, and at the
// units that are alike, which are somewhere in memory (up to 0.7 us each).
static void units_reshape(Placement *p, const Glob *g) {
        Likeness like = likeness_of(g);

        if (is_claim(g->text) && !is_of_any_class(p, g->text))
                return;
        for (uint32_t i = 0; i < p->unit_slots.n; i++)
                if (p->unit_slots.used[i] && is_alike(p, &like, i) && is_for(p, g, i)) {
                        const PlacedUnit *u = &p->units[i];

                        placement_unit_change(p, i, p->shapes[u->shape].class, u->role, u->priority);
                }
}

// 0 or -ENOSPC.
static int glob_get(Placement *p, const char *text, bool one_sided, uint32_t *ret) {
        _cleanup_free_ char *key = oom_checked(str_printf("%c%s", one_sided ? '>' : ' ', text));
        uint32_t number = number_of(&p->globs_by_text, key);
        Glob *g;

        if (number) {
                *ret = number - 1;
                p->globs[*ret].refs++;
                return 0;
        }
        if (p->glob_slots.count >= PLACEMENT_CONFLICTS_MAX)
                return -ENOSPC;
        slots_take(&p->glob_slots, ret);
        table_grow(&p->globs, &p->globs_allocated, *ret + 1, sizeof *p->globs);
        g = &p->globs[*ret];
        *g = (Glob){.text = key + 1, .one_sided = one_sided, .plain = strcspn(text, "*?[\\"), .refs = 1};
        g->key = TAKE_PTR(key);
        number_add(&p->globs_by_text, g->key, *ret);
        const Glob of = *g; // whose place may move
        units_reshape(p, &of);
        return 0;
}

static void glob_unref(Placement *p, uint32_t glob) {
        Glob *g = &p->globs[glob];
        char *key = g->key;

        if (--g->refs > 0)
                return;
        map_take_str(&p->globs_by_text, key);
        slots_give(&p->glob_slots, glob); // from now on no name matches it
        const Glob of = *g; // whose place may move
        units_reshape(p, &of);
        g = &p->globs[glob];
        numbers_done(&g->declared);
        numbers_done(&g->matched);
        *g = (Glob){0};
        free(key);
}

// ------------------------------------------------------------------------------------------------ classes

static void class_terms(Placement *p, const PlacementSpec *spec, Term *terms, uint32_t *n) {
        const PlacementTerm labelled = {.op = LABEL_EXISTS, .key = spec->spread};

        for (size_t i = 0; i < spec->n_terms; i++)
                term_make(p, &spec->terms[i], &terms[(*n)++]);
        if (spec->spread && !spec->spread_soft) // a node without the label is in no domain
                term_make(p, &labelled, &terms[(*n)++]);
}

// 0 or -ENOSPC.
static int class_add_globs(Placement *p, Class *c, const char *const *globs, bool one_sided) {
        int r = 0;

        for (const char *const *g = globs; g && *g && r >= 0; g++) {
                uint32_t glob;

                r = glob_get(p, *g, one_sided, &glob);
                if (r >= 0 && has(&c->globs, glob))
                        p->globs[glob].refs--;
                else if (r >= 0)
                        numbers_add(&c->globs, glob);
        }
        return r;
}

// 0 or -ENOSPC.
static int class_fill(Placement *p, Class *c, const PlacementSpec *spec, Term *terms) {
        const Term *pointers[PLACEMENT_TERMS_MAX + 1];
        uint32_t n = 0, base, spread = PLACEMENT_NONE, key;
        int r;

        class_terms(p, spec, terms, &n);
        for (uint32_t i = 0; i < n; i++)
                pointers[i] = &terms[i];
        selector_get(p, pointers, n, NULL, NULL, &base);
        c->base = base;
        for (size_t i = 0; i < spec->n_preferences; i++)
                term_make(p, &spec->preferences[i], &c->preferences[i]);
        if (spec->spread) {
                label_key(p, spec->spread, &key);
                spread_get(p, base, key, spec->spread_group ?: "", &spread);
        }
        c->spread = spread;
        r = class_add_globs(p, c, spec->conflicts, false);
        return r < 0 ? r : class_add_globs(p, c, spec->replaces, true);
}

static void text_add(Buf *text, const char *words) {
        oom_check(buf_append(text, words, strlen(words)));
}

static void text_add_digit(Buf *text, char what, int digit) {
        const char both[] = {what, (char) ('0' + digit)};

        oom_check(buf_append(text, both, sizeof both));
}

static void text_add_term(Buf *text, char what, const PlacementTerm *t) {
        text_add_digit(text, what, (int) t->op);
        text_add(text, t->key);
        for (const char *const *v = t->values; v && *v; v++) {
                text_add(text, ",");
                text_add(text, *v);
        }
        text_add(text, "\n");
}

static void text_add_globs(Buf *text, const char *what, const char *const *globs) {
        for (; globs && *globs; globs++) {
                text_add(text, what);
                text_add(text, *globs);
                text_add(text, "\n");
        }
}

// What the spec says; equal for equal specs. Made for each unit that comes: printf would be a third of what
// a unit costs to place.
static char *class_key(const PlacementSpec *s) {
        _cleanup_buf_ Buf text = {0};

        for (size_t i = 0; i < s->n_terms; i++)
                text_add_term(&text, 't', &s->terms[i]);
        for (size_t i = 0; i < s->n_preferences; i++) {
                oom_check(buf_printf(&text, "%u", s->weights[i]));
                text_add_term(&text, 'p', &s->preferences[i]);
        }
        text_add_globs(&text, "c", s->conflicts);
        text_add_globs(&text, "r", s->replaces);
        for (unsigned i = 0; i < PLACEMENT_RESOURCES_MAX; i++)
                if (s->demand.of[i])
                        oom_check(buf_printf(&text, "d%u=%d\n", i, s->demand.of[i]));
        if (s->spread)
                oom_check(buf_printf(&text, "s%s %s %d %u\n", s->spread, s->spread_group ?: "",
                                     s->spread_soft, s->spread_skew));
        text_add_digit(&text, 'y', (int) s->policy);
        return oom_checked(buf_take_string(&text));
}

static void class_done(Placement *p, Class *c) {
        for (uint32_t i = 0; i < c->globs.n; i++)
                glob_unref(p, c->globs.of[i]);
        numbers_done(&c->globs);
        for (uint32_t i = 0; i < PLACEMENT_PREFERENCES_MAX; i++)
                term_done(&c->preferences[i]);
        if (c->spread != PLACEMENT_NONE)
                spread_unref(p, c->spread);
        if (c->base != PLACEMENT_NONE)
                selector_unref(p, c->base);
        free(c->key);
}

int placement_class_get(Placement *p, const PlacementSpec *spec, uint32_t *ret) {
        Term terms[PLACEMENT_TERMS_MAX + 1];
        uint32_t number;
        Class made;
        char *key;
        int r;

        if (spec->n_preferences > PLACEMENT_PREFERENCES_MAX || spec->n_terms > PLACEMENT_TERMS_MAX)
                return -EINVAL;
        key = class_key(spec);
        number = number_of(&p->classes_by_key, key);
        if (number) {
                free(key);
                *ret = number - 1;
                p->classes[*ret].refs++;
                p->fresh_resources = 0;
                return 0;
        }
        memset(terms, 0, sizeof terms);
        made = (Class){.key = key,
                       .refs = 1,
                       .spec = *spec,
                       .base = PLACEMENT_NONE,
                       .spread = PLACEMENT_NONE,
                       .plain = PLACEMENT_NONE};
        made.spec.terms = made.spec.preferences = NULL;
        made.spec.conflicts = made.spec.replaces = NULL;
        made.spec.spread = made.spec.spread_group = NULL;
        if (spec->policy == PLACEMENT_BEST_FIT)
                index_start(p, INDEX_FIT);
        r = class_fill(p, &made, spec, terms);
        for (size_t i = 0; i < ELEMENTSOF(terms); i++)
                term_done(&terms[i]);
        if (r < 0) {
                class_done(p, &made);
                return r;
        }
        slots_take(&p->class_slots, ret);
        table_grow(&p->classes, &p->classes_allocated, *ret + 1, sizeof *p->classes);
        number_add(&p->classes_by_key, key, *ret);
        p->classes[*ret] = made;
        p->fresh_resources = 0;
        return 0;
}

void placement_class_ref(Placement *p, uint32_t class) {
        p->classes[class].refs++;
}

void placement_class_unref(Placement *p, uint32_t class) {
        Class c = p->classes[class];

        if (--p->classes[class].refs > 0)
                return;
        map_take_str(&p->classes_by_key, c.key);
        p->classes[class] = (Class){0};
        slots_give(&p->class_slots, class);
        class_done(p, &c);
}

bool placement_class_possible(const Placement *p, uint32_t class) {
        const Selector *s = &p->selectors[p->classes[class].base];

        for (uint32_t w = 0; w < p->node_words; w++)
                if (s->nodes[w])
                        return true;
        return false;
}
