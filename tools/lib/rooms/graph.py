# SPDX-License-Identifier: LGPL-2.1-or-later
"""Circles."""


def circles(edges):
    """The sets of more than one in which everybody reaches everybody. `edges`: {one: set of others}"""
    reach = {one: reached(edges, one) for one in edges}
    found = []
    for one in sorted(edges):
        circle = {other for other in reach[one] if one in reach.get(other, ())}
        if len(circle) > 1 and circle not in found:
            found.append(circle)
    return found


def reached(edges, start):
    seen, left = {start}, [start]
    while left:
        for other in edges.get(left.pop(), ()):
            if other not in seen:
                seen.add(other)
                left.append(other)
    return seen
