# SPDX-License-Identifier: LGPL-2.1-or-later
"""Of a fault in a function: the statement, or the condition, that it is in, and how both stand beside each other.

This reads C by lines, as the formatter has left them: a statement begins in a line of its own. What it does not know it leaves alone.
"""

import re
from dataclasses import dataclass
from functools import cache

LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/\*.*?\*/|//[^\n]*', re.DOTALL)
COMMENT = re.compile(r"\s*// .*$|^\s*//.*$")
HEADER = re.compile(r"(?P<before>(?:\} )?(?:else )?(?:if|while) )\((?P<condition>.*)\)(?P<after>(?: \{)?)")
HANGS = re.compile(r"(?:\} )?(?:else )?(?:if|for|while|switch|[A-Z_]+) ?\(.*\)|(?:\} )?else|do")
LABEL = re.compile(r"(?:case\b.*|default|\w+):")
DECLARATION = re.compile(r"(?P<before>(?:(?:const|static|unsigned|struct|enum|_cleanup_\w+)\s+)*[A-Za-z_]\w*(?:\s+const)?\s+\**\w+ = )(?P<value>.*);")
DECLARES = re.compile(r"(?:(?:const|static|unsigned|struct|enum|_cleanup_\w+)\s+)*(?!return\b|goto\b)[A-Za-z_]\w*(?:\s+const)?\s+(?:\*+(?:\s*const\s+)?)?\w+(?:\[.*\])?(?:\s*[=,;(])")
RETURN = re.compile(r"return (?P<value>.*);")
ASSIGNMENT = re.compile(r"(?P<to>[\w>.*\[\]-]+) = (?P<value>.*);")
NOTHING = re.compile(r";?|\(void\) [\w>.-]+;")
ENDS_AN_IF = re.compile(r"(?!if\b).*?[;}]\s*else\b")  # of which the beginning is another statement
DOES = re.compile(r"\+\+|--|(?<![=!<>])=(?!=)|\bva_arg\b|\{")
CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
FOLDERS = ["include", "src/base", "src/leader", "src/model", "src/placement"]  # of others a function may read or write files
NO_CALLS = {"sizeof", "MIN_OF", "MAX_OF", "ELEMENTSOF", "UINT64_C", "INT64_C", "streq", "strcmp", "memcmp", "strlen", "strncmp", "strchr", "strcspn"}


def bare(line):
    """Without its comment and the blanks around."""
    return COMMENT.sub("", line.rstrip("\n")).strip()


def depth(text):
    code = LITERAL.sub("", text)
    return code.count("(") + code.count("[") - code.count(")") - code.count("]")


def is_whole(text):
    """The parentheses are each other's, from the first one to the last."""
    level = 0
    for c in LITERAL.sub("", text):
        level += (c == "(") - (c == ")")
        if level < 0:
            return False
    return level == 0


def is_end(text):
    return depth(text) == 0 and (text.endswith((";", "{", "}")) or HANGS.fullmatch(text) or LABEL.fullmatch(text))


def extents(lines, body, end):
    """(first, the line behind, text) of each statement, header or brace of these lines."""
    first, text = None, ""
    for number in range(body, end):
        line = bare(lines[number])
        if not line or line.startswith("#"):
            if line:
                first, text = None, ""
            continue
        if first is None:
            first, text = number, line
        else:
            text = f"{text} {line}"
        if is_end(text):
            yield first, number + 1, text
            first, text = None, ""


@dataclass
class Change:
    kind: str  # condition, statement, declaration
    first: int
    end: int
    text: str
    before: str   # of a condition or a declaration: what stands before it, and behind
    after: str
    old: str
    new: str

    def differs(self, pure):
        """An expression without effects that is true if the fault matters; "1": none is known."""
        if self.kind == "condition":
            return f"!({self.old}) != !({self.new})" if pure(self.old) and pure(self.new) else "1"
        if self.kind == "declaration":
            return f"({self.old}) != ({self.new})" if pure(self.old) and pure(self.new) else "1"
        for pattern in (RETURN, ASSIGNMENT):
            old, new = pattern.fullmatch(self.old), pattern.fullmatch(self.new)
            if old and new and old.groupdict().get("to") == new.groupdict().get("to"):
                return f"({old['value']}) != ({new['value']})" if pure(old["value"]) and pure(new["value"]) else "1"
        old = ASSIGNMENT.fullmatch(self.old)
        if old and NOTHING.fullmatch(self.new) and pure(old["value"]) and pure(old["to"]):
            return f"({old['to']}) != ({old['value']})"
        return "1"


def change_of(lines, body, end, first, behind, instead):  # pylint: disable=too-many-arguments
    """Of a fault in these lines; None: nothing is known of what it is in."""
    for begin, stop, old in extents(lines, body, end):
        if begin <= first and behind <= stop:
            new = " ".join(filter(None, [*map(bare, lines[begin:first]), instead.strip(), *map(bare, lines[behind:stop])]))
            return make_change(begin, stop, old, new)
    return None


def make_change(first, end, old, new):
    a, b = HEADER.fullmatch(old), HEADER.fullmatch(new)
    if a and b:
        same = a["before"] == b["before"] and a["after"] == b["after"] and is_whole(a["condition"]) and is_whole(b["condition"])
        return Change("condition", first, end, old, a["before"], a["after"], a["condition"], b["condition"]) if same else None
    if not old.endswith(";") or (new and not new.endswith(";")) or depth(new) != 0 or LABEL.match(old) or LABEL.match(new):
        return None
    if not is_closed(old) or not is_closed(new) or ENDS_AN_IF.match(new):
        return None
    a, b = DECLARATION.fullmatch(old), DECLARATION.fullmatch(new)
    if a and b and not old.startswith("return "):
        same = a["before"] == b["before"] and not a["value"].startswith("{") and not b["value"].startswith("{") and ";" not in a["value"] + b["value"]
        return Change("declaration", first, end, old, a["before"], ";", a["value"], b["value"]) if same and is_one(a["value"]) and is_one(b["value"]) else None
    if DECLARES.match(old) or DECLARES.match(new) or re.match(r"\}|(if|for|while|do|switch|else)\b", old):
        return None
    return Change("statement", first, end, old, "", "", old, new or ";")


def is_closed(text):
    """Its braces are each other's: it is no part of what is set up in several lines."""
    code = LITERAL.sub("", text)
    return code.count("{") == code.count("}")


def is_one(value):
    """No other variable is declared behind it."""
    level = 0
    for c in LITERAL.sub("", value):
        level += (c in "([{") - (c in ")]}")
        if c == "," and level == 0:
            return False
    return True


def text_of(changes):
    """One line. `changes`: [(Change, what asks whether it is to be)], of one statement."""
    change, _ = changes[0]
    if change.kind == "condition":
        chosen = "".join(f"{asked} ? !!({c.new}) : " for c, asked in changes)
        return f"{change.before}({chosen}!!({change.old})){change.after}\n"
    if change.kind == "declaration":
        chosen = "".join(f"{asked} ? ({c.new}) : " for c, asked in changes)
        return f"{change.before}{chosen}({change.old});\n"
    chosen = "".join(f"if ({asked}) {{ {c.new} }} else " for c, asked in changes)
    return f"{chosen}{{ {change.old} }}\n"


FUNCTION = re.compile(r"^(?P<result>[A-Za-z_][\w ]*?[ *]+)(?P<name>\w+)\((?P<parameters>[^;{}()]*)\)(?: \{|;)", re.MULTILINE)


@cache
def readers(source):
    """Names of functions that say something and can change nothing: what they are given is a number, or const."""
    found, others = set(), set()
    for path in [path for folder in FOLDERS for path in sorted((source / folder).rglob("*.[ch]"))]:
        for f in FUNCTION.finditer(path.read_text()):
            reads = all("*" not in p or p.strip().startswith("const ") for p in f["parameters"].split(","))
            is_void = re.search(r"\bvoid\s*$", f["result"]) or f["result"].strip() in ("else", "return")
            (found if reads and not is_void and f["parameters"].strip() not in ("", "void") else others).add(f["name"])
    return found - others


def is_pure(source):
    known = readers(source) | NO_CALLS

    def pure(expression):
        code = LITERAL.sub("", expression)
        return not DOES.search(code.replace("<=", "<").replace(">=", ">").replace("!=", "!").replace("==", "!")) and set(CALL.findall(code)) <= known

    return pure
