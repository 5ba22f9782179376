#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A fault stands beside what it takes the place of, and where both values can be worked out without doing anything it is known whether they differ."""

from mutants.statements import change_of, text_of

LINES = """int thing(const Thing *t) {
        int r = 0; // so far

        if (t->n > 0 &&
            is_big(t->n)) {
                t->done = true;
        } else if (t->n < 0)
                return -EINVAL;
        while (next(t))
                ;
        r = compute(t, 7);
        free(t->text);
        for (int i = 0; i < 7; i++)
                r++;
        return is_big(r) ? 1 : 0;
}
""".splitlines(keepends=True)

# (first line, the line behind, what takes its place, what stands there then, whether it differs)
FITS = [
    (1, 2, "int r = 1;", "int r = PLANTED ? (1) : (0);", "(0) != (1)"),
    (3, 4, "if (t->n > 1 &&", "if (PLANTED ? !!(t->n > 1 && is_big(t->n)) : !!(t->n > 0 && is_big(t->n))) {",
     "!(t->n > 0 && is_big(t->n)) != !(t->n > 1 && is_big(t->n))"),
    (4, 5, "true) {", "if (PLANTED ? !!(t->n > 0 && true) : !!(t->n > 0 && is_big(t->n))) {", "!(t->n > 0 && is_big(t->n)) != !(t->n > 0 && true)"),
    (5, 6, ";", "if (PLANTED) { ; } else { t->done = true; }", "(t->done) != (true)"),
    (6, 7, "} else if (false)", "} else if (PLANTED ? !!(false) : !!(t->n < 0))", "!(t->n < 0) != !(false)"),
    (7, 8, "return 0;", "if (PLANTED) { return 0; } else { return -EINVAL; }", "(-EINVAL) != (0)"),
    (8, 9, "while (false)", "while (PLANTED ? !!(false) : !!(next(t)))", "1"),  # it may do something
    (10, 11, "", "if (PLANTED) { ; } else { r = compute(t, 7); }", "1"),
    (11, 12, "", "if (PLANTED) { ; } else { free(t->text); }", "1"),
    (14, 15, "return 0;", "if (PLANTED) { return 0; } else { return is_big(r) ? 1 : 0; }", "(is_big(r) ? 1 : 0) != (0)"),
]
DOES_NOT = [(12, 13, "for (;;)"), (3, 5, ";"), (6, 8, ";"), (3, 4, "while (t->n > 0 &&")]


def pure(expression):
    return "compute" not in expression and "next" not in expression


for first, end, instead, text, differs in FITS:
    change = change_of(LINES, 1, len(LINES), first, end, instead)
    assert change, (first, instead)
    assert text_of([(change, "PLANTED")]) == text + "\n", text_of([(change, "PLANTED")])
    assert change.differs(pure) == differs, change.differs(pure)
for first, end, instead in DOES_NOT:
    assert not change_of(LINES, 1, len(LINES), first, end, instead), (first, instead)
both = [(change_of(LINES, 1, len(LINES), 7, 8, f"return {i};"), f"PLANTED_{i}") for i in (1, 2)]
assert text_of(both) == "if (PLANTED_1) { return 1; } else if (PLANTED_2) { return 2; } else { return -EINVAL; }\n", text_of(both)
