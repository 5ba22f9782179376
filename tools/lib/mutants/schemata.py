# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many faults in one program (mutant schemata): ARGOSY_PLANTED=NAME, read once at its start, says which one it is to have; without, it has none.

Of each function that has faults there is a copy for each of them, with `instead` in the place of `line`; the function itself begins with the
question whether one of them is to run in its place. Before the line the function notes that it came there, where a statement can be put (else
in its beginning): what comes there without the fault is all that the fault can change. ARGOSY_PLANTED_REACHED=FILE has the names appended where
a process ends.

What stands outside of functions (tables, constants, macros), and functions whose parameters cannot be handed on (variadic ones), are no part of
it (Misfit), nor is a fault whose copy does not compile (`misfits_of()` reads the compiler's words): those are built alone.
"""

import re
from collections import defaultdict
from dataclasses import dataclass

from .workshop import Misfit, position

MARK = "__planted_"
COPY = re.compile(rf"{MARK}(\w+)")
PREAMBLE = """#ifndef PLANTED
#define PLANTED
struct planted {
        _Bool on, reached;
};
#endif
"""
RUNTIME = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
        const char *name;
        struct planted *fault;
} planted_faults[] = {
@ROWS@};

static void planted_tell(void);

__attribute__((constructor)) static void planted_choose(void) {
        const char *name = getenv("ARGOSY_PLANTED");

        (void) at_quick_exit(planted_tell);
        for (size_t i = 0; name && i < sizeof(planted_faults) / sizeof(*planted_faults); i++)
                if (strcmp(planted_faults[i].name, name) == 0) {
                        planted_faults[i].fault->on = 1;
                        return;
                }
        if (name && *name) {
                fprintf(stderr, "no fault %s is planted here\\n", name);
                _exit(2);
        }
}

__attribute__((destructor)) static void planted_tell(void) {
        const char *path = getenv("ARGOSY_PLANTED_REACHED");
        FILE *f = path ? fopen(path, "ae") : NULL;

        for (size_t i = 0; f && i < sizeof(planted_faults) / sizeof(*planted_faults); i++)
                if (planted_faults[i].fault->reached)
                        fprintf(f, "%s\\n", planted_faults[i].name);
        if (f)
                fclose(f);
}
"""

SIGNATURE = re.compile(r"(?P<before>[\w\s*()]*?[\s*])(?P<name>\w+)\((?P<parameters>.*)\)\s*\{\s*", re.DOTALL)
PARAMETER = re.compile(r"\(\*(\w+)\)\s*\(|(\w+)(?:\[[^\]]*\])*\s*$")
STORAGE = re.compile(r"\b(?:static|inline|extern|_Noreturn|[A-Z_]+_INLINE)\b\s*")
LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/|//[^\n]*', re.DOTALL)
CONTINUES = ("else", "}", "case ", "default:", "#")  # no statement can stand before a line that begins so
BEGINS_A_STATEMENT = re.compile(r"(;|\}|\) \{|else \{|do \{)$")


def identifier(name):
    return re.sub(r"\W", "_", name)


@dataclass
class Function:
    first: int  # line of its signature
    body: int   # the line behind the brace
    end: int    # the line behind its last brace
    result: str
    name: str
    parameters: list
    signature: str  # without its brace

    def copy_name(self, fault):
        return f"{self.name}{MARK}{identifier(fault.name)}"


def split_parameters(text):
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts, part = [*parts, part], ""
        else:
            part += c
    return [part.strip() for part in [*parts, part]]


def parameter_names(text):
    parameters = split_parameters(text)
    if parameters in (["void"], [""]):
        return []
    names = []
    for parameter in parameters:
        found = PARAMETER.search(parameter)
        if not found or parameter == "...":
            raise Misfit(f"a parameter has no name: {parameter}")
        names.append(found.group(1) or found.group(2))
    return names


def begins_something(line):
    return bool(line.strip()) and not line[0].isspace() and not line.startswith(("#", "//", "}", "{"))


def function_around(lines, number):
    """The function whose body has this line."""
    first = number
    while first >= 0 and not begins_something(lines[first]):
        if lines[first].startswith(("}", "#define")) or (first < number and lines[first].endswith("\\\n")):
            raise Misfit("it is in no function")
        first -= 1
    text, body = "", first
    while body < number and not text.rstrip().endswith("{"):
        text += LITERAL.sub("", lines[body])
        body += 1
    found = SIGNATURE.fullmatch(text) if first >= 0 else None
    if not found or "=" in text:
        raise Misfit("it is in no function")
    end = number
    while end < len(lines) and not lines[end].startswith("}"):
        end += 1
    signature = text.rstrip().removesuffix("{").rstrip()
    result = STORAGE.sub("", found["before"]).strip()
    return Function(first, body, end + 1, result, found["name"], parameter_names(found["parameters"]), signature)


def can_have_a_statement(lines, function, first):
    """Before the line: it begins a statement of a block."""
    so_far = [LITERAL.sub("", line).strip() for line in lines[function.body:first]]
    before = [line for line in so_far if line]
    text = "".join(before)
    return (text.count("(") == text.count(")") and not lines[first].strip().startswith(CONTINUES)
            and (not before or (bool(BEGINS_A_STATEMENT.search(before[-1])) and not before[-1].startswith("#"))))


def copy_of(lines, function, fault, first, end):
    head = function.signature.replace(f"{function.name}(", f"{function.copy_name(fault)}(", 1)
    head = "static " + STORAGE.sub("", head)
    body = [*lines[function.body:first], f"{fault.instead}\n", *lines[end:function.end]]
    return [f"{head} {{\n", *body, "\n"]


def chosen_among(function, faults):
    call = ", ".join(function.parameters)
    for fault in faults:
        run = f"{function.copy_name(fault)}({call});"
        run = f"{{ {run} return; }}" if function.result == "void" else f"return {run}"
        yield f"if (planted_{identifier(fault.name)}.on) {run}\n"


def planted_text(source, faults):
    """The text of the file that all of them are in, with all of them."""
    lines, by_function, reached = None, {}, defaultdict(list)
    for fault in faults:
        _, lines, first, end = position(source, fault)
        function = function_around(lines, first)
        _, placed = by_function.setdefault(function.first, (function, []))
        placed.append((fault, first, end))
        at = first if can_have_a_statement(lines, function, first) else function.body
        reached[at].append(f"planted_{identifier(fault.name)}.reached = 1;\n")
    text = [PREAMBLE, *(f"extern struct planted planted_{identifier(fault.name)};\n" for fault in faults)]
    number = 0
    for function, placed in (by_function[first] for first in sorted(by_function)):
        text += lines[number:function.first] + [f"{function.signature};\n"]
        for fault, first, end in placed:
            text += copy_of(lines, function, fault, first, end)
        text += lines[function.first:function.body]
        text += chosen_among(function, [fault for fault, *_ in placed])
        for number in range(function.body, function.end):
            text += [*reached[number], lines[number]]
        number = function.end
    return "".join([*text, *lines[number:]])


def runtime_text(faults):
    names = [identifier(fault.name) for fault in faults]
    rows = "".join(f'        {{"{fault.name}", &planted_{name}}},\n' for fault, name in zip(faults, names))
    return PREAMBLE + "".join(f"struct planted planted_{name};\n" for name in names) + "#include <unistd.h>\n" + RUNTIME.replace("@ROWS@", rows)


def fitting(source, faults):
    """Those that can be chosen."""
    found = []
    for fault in faults:
        try:
            _, lines, first, _ = position(source, fault)
            function_around(lines, first)
            found.append(fault)
        except Misfit:
            pass
    return found


def misfits_of(words, faults):
    """Those whose copies the compiler complained of, by its words."""
    named, function = set(), ""
    lines = words.splitlines()
    for line, shown in zip(lines, [*lines[1:], ""]):
        if ": In function" in line or ": At top level" in line:
            function = line
        elif ": error: " in line:
            named.update(COPY.findall(function + line + shown))
    return [fault for fault in faults if identifier(fault.name) in named]


def plant(source, copy, faults, program):
    """All of them into a copy of the source; `program` is the file of it that gets what chooses among them. Files that are the same stay untouched."""
    by_file = defaultdict(list)
    for fault in faults:
        by_file[fault.file].append(fault)
    texts = {file: planted_text(source, of_file) for file, of_file in by_file.items()}
    texts[program] = (texts.get(program) or (source / program).read_text()) + runtime_text(faults)
    for file, text in texts.items():
        path = copy / file
        if path.read_text() != text:
            path.write_text(text)
    return set(texts)
