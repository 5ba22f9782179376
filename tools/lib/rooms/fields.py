# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which folders write which fields of the objects that a room shares, and who goes into what a folder keeps in these for itself,
read from the source by libclang.

A field is written by an assignment to it or into it, by ++ and --, and by whoever is given its address to change
what is there: a list, a map, a handle. A function that takes a pointer to const does not change it. An empty list
that an object gets from the function that allocates it is its zero, as those of calloc() are. The room's top folder,
which puts the parts together, does not count.

A header FOLDER-state.h in src/ROOM/FOLDER defines what this folder keeps in an object of another folder, as a struct in that
object. Only files of FOLDER may name a member of these structs, read or write; the top folder's is ROOM-state.h. A function in such a
header is the folder's, whoever calls it.
"""

import json
import shlex
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

from .source import SOURCE

# The objects, and the room whose folders share them.
SHARED = {"Leader": "leader", "Host": "leader", "Node": "leader", "Unit": "leader", "UnitOnNode": "leader", "PendingRequest": "leader",
          "HttpCall": "http"}

# How many fields of each two folders or more still write. Who gives a field one owner lowers the number.
MOST = {"Leader": 0, "Host": 0, "Node": 2, "Unit": 2, "UnitOnNode": 1, "PendingRequest": 0, "HttpCall": 1}


def _arguments(command):
    return [word for word in shlex.split(command) if word.startswith(("-I", "-D", "-std"))]


def _unwrapped(cursor, kinds):
    while cursor.kind in (kinds.PAREN_EXPR, kinds.UNEXPOSED_EXPR, kinds.CSTYLE_CAST_EXPR):
        children = list(cursor.get_children())
        if not children:
            return cursor
        cursor = children[-1]
    return cursor


def _keeper(field):
    """The folder, as a path below src/, whose FOLDER-state.h has this field; None: no such header has it."""
    file = field and field.location.file
    return _state_folder(file.name) if file else None


@cache
def _state_folder(file):
    """The folder whose FOLDER-state.h this is; None: it is none."""
    path = Path(file).resolve()
    if path.name != f"{path.parent.name}-state.h" or not path.is_relative_to(SOURCE / "src"):
        return None
    return path.parent.relative_to(SOURCE / "src").as_posix()


class _Reader:
    """The fields that one file writes: {(struct, field)}, and what it names of other folders: {(line, field, folder)}"""

    def __init__(self, kinds, types, folder, text):
        self.kinds, self.types, self.folder, self.text = kinds, types, folder, text
        self.found, self.foreign = set(), set()
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
        if _keeper(function):  # it is the folder's own that has the field
            return
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

    def _member(self, cursor):
        keeper = _keeper(cursor.referenced)
        if keeper and keeper != self.folder:
            self.foreign.add((cursor.location.line, cursor.spelling, keeper))

    def walk(self, cursor):
        kinds = self.kinds
        if cursor.kind in (kinds.MEMBER_REF_EXPR, kinds.MEMBER_REF):
            self._member(cursor)
        if cursor.kind == kinds.FUNCTION_DECL:
            self.allocates = b"calloc" in self.text[cursor.extent.start.offset:cursor.extent.end.offset]
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


def _folder(path):
    return Path(path).parent.relative_to(SOURCE / "src").as_posix()


def _read(file, arguments):
    from clang import cindex

    unit = cindex.Index.create().parse(file, args=arguments)
    errors = [d.spelling for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    if errors:
        raise ValueError(f"{file}: {errors[0]}")
    reader = _Reader(cindex.CursorKind, cindex.TypeKind, _folder(file), Path(file).read_bytes())
    is_own = cindex.conf.lib.clang_Location_isFromMainFile  # most is of headers: to ask each for its file's name takes a third of all the time
    for child in unit.cursor.get_children():
        if is_own(child.location):
            reader.walk(child)
    return reader.found, reader.foreign


def read(build, room):
    """{struct: {field: {folder}}} of the structs that the room's folders share, and who names what another folder keeps."""
    jobs, found, foreign = {}, defaultdict(lambda: defaultdict(set)), []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = (Path(entry["directory"]) / entry["file"]).resolve()
        if path.suffix == ".c" and path.is_relative_to(SOURCE / "src" / room):
            includes = [word if not word.startswith("-I") or word[2:].startswith("/") else f"-I{build / word[2:]}"
                        for word in _arguments(entry["command"])]
            jobs[str(path)] = includes
    with ProcessPoolExecutor() as pool:
        for path, (fields, named) in zip(jobs, pool.map(_read, jobs.keys(), jobs.values())):
            for struct, field in fields if _folder(path) != room else ():
                if SHARED[struct] == room:
                    found[struct][field].add(_folder(path))
            foreign += [(path, line, field, keeper) for line, field, keeper in sorted(named)]
    return found, foreign


def report(build):
    """Prints them; returns what is wrong."""
    for room in dict.fromkeys(SHARED.values()):
        found, foreign = read(build, room)
        for struct in [name for name, of in SHARED.items() if of == room]:
            shared = {field: folders for field, folders in found[struct].items() if len(folders) > 1}
            print(f"{struct}: {len(shared)} fields are written by two folders or more")
            for field, folders in sorted(shared.items()):
                print(f"    {field:<24} {' '.join(sorted(name.split('/')[-1] for name in folders))}")
            if len(shared) > MOST[struct]:
                yield (f"{struct}: {len(shared)} fields are written by more than one folder, "
                       f"and tools/lib/rooms/fields.py knows of {MOST[struct]}")
        for path, line, field, keeper in foreign:
            yield (f"{Path(path).relative_to(SOURCE)}:{line}: {_folder(path)} may not name {field}, which {keeper} keeps for itself "
                   f"({keeper.split('/')[-1]}-state.h)")
