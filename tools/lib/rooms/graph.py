# SPDX-License-Identifier: LGPL-2.1-or-later
"""Circles."""


def cycles(edges):
    """The sets of more than one in which everybody reaches everybody. `edges`: {one: set of others}"""
    reach = {one: reached(edges, one) for one in edges}
    found = []
    for one in sorted(edges):
        cycle = {other for other in reach[one] if one in reach.get(other, ())}
        if len(cycle) > 1 and cycle not in found:
            found.append(cycle)
    return found


def reached(edges, start):
    seen, left = {start}, [start]
    while left:
        for other in edges.get(left.pop(), ()):
            if other not in seen:
                seen.add(other)
                left.append(other)
    return seen
