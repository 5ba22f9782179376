# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which folders write which fields of the objects that a room shares, read from the source by libclang.

A field is written by an assignment to it or into it, by ++ and --, and by whoever is given its address to change
what is there: a list, a map, a handle. A function that takes a pointer to const does not change it. An empty list
that an object gets from the function that allocates it is its zero, as those of calloc() are. The room's top folder,
which puts the parts together, does not count.
"""

import json
import shlex
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from .source import SOURCE

# The objects, and the room whose folders share them.
SHARED = {"Leader": "leader", "Host": "leader", "Node": "leader", "Unit": "leader", "UnitOnNode": "leader", "Ticket": "leader",
          "HttpCall": "http"}

# How many fields of each two folders or more still write. Who gives a field one owner lowers the number.
MOST = {"Leader": 0, "Host": 1, "Node": 3, "Unit": 2, "UnitOnNode": 1, "Ticket": 0, "HttpCall": 6}


def _arguments(command):
    return [word for word in shlex.split(command) if word.startswith(("-I", "-D", "-std"))]


def _unwrapped(cursor, kinds):
    while cursor.kind in (kinds.PAREN_EXPR, kinds.UNEXPOSED_EXPR, kinds.CSTYLE_CAST_EXPR):
        children = list(cursor.get_children())
        if not children:
            return cursor
        cursor = children[-1]
    return cursor


class _Reader:
    """The fields that one file writes: {(struct, field)}"""

    def __init__(self, kinds, types):
        self.kinds, self.types, self.found = kinds, types, set()
        self.allocates = False  # the function that is read does

    def _owner(self, member):
        base = next(iter(member.get_children()), None)
        if base is None:
            return None
        kind = base.type.get_canonical()
        if kind.kind == self.types.POINTER:
            kind = kind.get_pointee().get_canonical()
        return kind.spelling.removeprefix("const ").removeprefix("struct ")

    def _note(self, expression):
        """The shared object's field that an expression is, or lies in: of l->n_hosts.silent that is n_hosts."""
        cursor = _unwrapped(expression, self.kinds)
        while cursor.kind in (self.kinds.MEMBER_REF_EXPR, self.kinds.ARRAY_SUBSCRIPT_EXPR):
            base = next(iter(cursor.get_children()), None)
            if cursor.kind == self.kinds.MEMBER_REF_EXPR:
                owner = self._owner(cursor)
                if owner in SHARED:
                    self.found.add((owner, cursor.spelling))
                    return
                # Through a pointer it is another object's.
                if base is None or base.type.get_canonical().kind == self.types.POINTER:
                    return
            elif base is not None and _unwrapped(base, self.kinds).type.get_canonical().kind == self.types.POINTER:
                return
            if base is None:
                return
            cursor = _unwrapped(base, self.kinds)

    def _is_member(self, expression):
        return _unwrapped(expression, self.kinds).kind in (self.kinds.MEMBER_REF_EXPR, self.kinds.ARRAY_SUBSCRIPT_EXPR)

    def _call(self, cursor):
        if self.allocates and cursor.spelling == "list_init":
            return
        function = cursor.referenced
        typed = function and function.type.kind in (self.types.FUNCTIONPROTO, self.types.UNEXPOSED)
        kinds = list(function.type.get_canonical().argument_types()) if typed else []
        for i, argument in enumerate(cursor.get_arguments()):
            inner = _unwrapped(argument, self.kinds)
            if inner.kind != self.kinds.UNARY_OPERATOR or not self._is_member(next(iter(inner.get_children()))):
                continue
            first = next(iter(inner.get_tokens()), None)
            if first is None or first.spelling != "&":
                continue
            if i < len(kinds) and kinds[i].kind == self.types.POINTER and kinds[i].get_pointee().is_const_qualified():
                continue
            self._note(next(iter(inner.get_children())))

    def _assignment(self, cursor):
        children = list(cursor.get_children())
        if len(children) != 2 or not self._is_member(children[0]):
            return
        left = children[0]
        end = left.extent.end.offset
        for token in cursor.get_tokens():
            if token.extent.start.offset >= end:
                word = token.spelling
                if word.endswith("=") and word not in ("==", "!=", "<=", ">="):
                    self._note(left)
                if word not in (")",):
                    return

    def _is_call_of(self, cursor, name):
        return cursor.kind == self.kinds.CALL_EXPR and cursor.spelling == name

    def walk(self, cursor):
        kinds = self.kinds
        if cursor.kind == kinds.FUNCTION_DECL:
            self.allocates = any(self._is_call_of(inner, "calloc") for inner in cursor.walk_preorder())
        if cursor.kind in (kinds.BINARY_OPERATOR, kinds.COMPOUND_ASSIGNMENT_OPERATOR):
            self._assignment(cursor)
        elif cursor.kind == kinds.UNARY_OPERATOR:
            operand = next(iter(cursor.get_children()))
            words = [token.spelling for token in cursor.get_tokens()] if self._is_member(operand) else []
            if words and (words[0] in ("++", "--") or words[-1] in ("++", "--")):
                self._note(operand)
        elif cursor.kind == kinds.CALL_EXPR:
            self._call(cursor)
        for child in cursor.get_children():
            self.walk(child)


def _read(file, arguments):
    from clang import cindex

    unit = cindex.Index.create().parse(file, args=arguments)
    errors = [d.spelling for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    if errors:
        raise ValueError(f"{file}: {errors[0]}")
    reader = _Reader(cindex.CursorKind, cindex.TypeKind)
    for child in unit.cursor.get_children():
        if child.location.file and Path(child.location.file.name).suffix == ".c":
            reader.walk(child)
    return reader.found


def writers(build, room):
    """{struct: {field: {folder}}} of the structs that the room's folders share."""
    jobs, found = {}, defaultdict(lambda: defaultdict(set))
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = (Path(entry["directory"]) / entry["file"]).resolve()
        if path.suffix == ".c" and path.is_relative_to(SOURCE / "src" / room) and path.parent != SOURCE / "src" / room:
            includes = [word if not word.startswith("-I") or word[2:].startswith("/") else f"-I{build / word[2:]}"
                        for word in _arguments(entry["command"])]
            jobs[str(path)] = includes
    with ProcessPoolExecutor() as pool:
        for path, fields in zip(jobs, pool.map(_read, jobs.keys(), jobs.values())):
            folder = Path(path).parent.relative_to(SOURCE / "src").as_posix()
            for struct, field in fields:
                if SHARED[struct] == room:
                    found[struct][field].add(folder)
    return found


def report(build):
    """Prints them; returns what is wrong."""
    for room in dict.fromkeys(SHARED.values()):
        found = writers(build, room)
        for struct in [name for name, of in SHARED.items() if of == room]:
            shared = {field: folders for field, folders in found[struct].items() if len(folders) > 1}
            print(f"{struct}: {len(shared)} fields are written by two folders or more")
            for field, folders in sorted(shared.items()):
                print(f"    {field:<24} {' '.join(sorted(name.split('/')[-1] for name in folders))}")
            if len(shared) > MOST[struct]:
                yield (f"{struct}: {len(shared)} fields are written by more than one folder, "
                       f"and tools/lib/rooms/fields.py knows of {MOST[struct]}")
