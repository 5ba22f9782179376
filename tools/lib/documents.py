# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tools/names asks of the documents (*.md): links lead somewhere, functions exist, documents stay short, and every table that
"What to touch" of ARCHITECTURE.md names is there and has the newest member of its kind; and of argosy.conf(5), that it says which keys
count from a restart.

The grammar of "What to touch": under a heading (### A request) each line that begins with "- " names files and, right behind a file,
tables, types or functions in it, all in backticks: `src/model/request-kind.c` `kinds`. A line with (*as MEMBER*) is about some members
only, and MEMBER is one of them; every other line is about all members of the kind. A member is looked for in the text of the
table, or of the file if no table is named, without regard to case and punctuation: secret_rotate_key is SECRET_ROTATE_KEY is "secret
rotate-key".
"""

import re
from pathlib import Path

LIMITS = {"ARCHITECTURE.md": 16_000, "src/leader/README.md": 12_000}  # bytes: what is read in a quarter of an hour
ROOMS_LIMIT = 55_000  # of the README.md of all rooms

LINK = re.compile(r"\]\(([^)\s]+)\)")
FUNCTION = re.compile(r"`(\w+)\(\)`")
PLACE = re.compile(r"`((?:src|include|proto|man|tests|tools|data|debian|dashboard)/[\w./-]+)`((?: (?:or )?`\w+`)*)")
EXAMPLE = re.compile(r"\(\*as ([^*]+)\*\)")
# Functions of others that documents name.
FOREIGN = {"main"}


def read(path):
    """The one way to what stands in a file."""
    return path.read_text()


def documents(source):
    """All of them, outside of what is built or hidden."""
    folders = [path for path in source.iterdir() if path.is_dir() and not path.name.startswith((".", "build"))]
    return sorted([*source.glob("*.md"), *(path for folder in folders for path in folder.rglob("*.md"))])


def slug(heading):
    """As a link names it."""
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


def anchors(path):
    return {slug(line.lstrip("#")) for line in read(path).splitlines() if line.startswith("#")}


def bad_links(source):
    for path in documents(source):
        for number, line in enumerate(read(path).splitlines(), 1):
            for target in LINK.findall(line):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                to = path.parent / name if name else path
                where = f"{path.relative_to(source)}:{number}"
                if not to.exists():
                    yield f"{where}: the link {target} leads nowhere"
                elif anchor and to.suffix == ".md" and anchor not in anchors(to):
                    yield f"{where}: {to.name} has no heading #{anchor}"


def missing_functions(source):
    text = "\n".join(read(path) for tree in ("src", "include", "tests") for path in (source / tree).rglob("*.[ch]"))
    known = set(re.findall(r"\b(\w+)\(", text)) | FOREIGN
    for path in documents(source):
        for number, line in enumerate(read(path).splitlines(), 1):
            for name in FUNCTION.findall(line):
                if name not in known:
                    yield f"{path.relative_to(source)}:{number}: there is no function {name}()"


def too_long(source):
    rooms = [*source.glob("src/*/README.md"), *source.glob("dashboard/README.md")]
    sizes = [(name, len(read(source / name).encode()), limit) for name, limit in LIMITS.items()]
    sizes.append(("README.md of all rooms", sum(len(read(path).encode()) for path in rooms), ROOMS_LIMIT))
    for name, size, limit in sizes:
        if size > limit:
            yield f"{name}: {size} bytes, {size - limit} more than there may be"


# ---- what to touch


def body(text, symbol):
    """From where a table, type or function begins to its end; None: it is not there."""
    macro = re.search(rf"^#define {symbol}\b(?:.*\\\n)*.*$", text, re.MULTILINE)
    if macro:
        return macro[0]
    begin = next(filter(None, (re.search(pattern, text, re.MULTILINE) for pattern in (
        rf"^[^\n/]*\b{symbol}(?:\[\w*\])? = \{{",  # a table
        rf"^(?:typedef )?(?:enum|struct|union|message) {symbol} \{{",
        rf"^[^\n/;]*\b{symbol}\([^;{{}}]*\{{",  # a function
        rf"^\s*{symbol} = .*$",  # a number
    ))), None)
    if not begin:
        return None
    end = text.find("\n}", begin.start())
    return text[begin.start():end if end >= 0 else len(text)]


def plain(text):
    return re.sub(r"[^a-z0-9]", "", text.lower())


def highest(text):
    """The name of the field or value with the highest number."""
    return max(re.findall(r"(\w+) = (\d+);", text), key=lambda pair: int(pair[1]))[0]


def of_file(source, path, symbol=None):
    text = read(source / path)
    return (body(text, symbol) or "") if symbol else text


def newest(source):
    """For each heading the members that all tables have which are about all of the kind."""
    options = re.findall(r'X\(\w+, "(\w+)", OPTION_(?:ARGOSY|FLEET)', of_file(source, "src/model/unit-options-private.h"))
    verbs = re.findall(r'^(?:VERB|CHANGE)\("([^"]+)"(?!.*GROUP_HIDDEN)', of_file(source, "src/ctl/verbs/verb-rows.h"), re.MULTILINE)
    request = of_file(source, "proto/argosy.proto", "Request")
    resources = re.findall(r"^RESOURCE\((\w+),", of_file(source, "src/http/target/http-resource-rows.h"), re.MULTILINE)
    keys = re.findall(r'^\s+\{"\w+", "(\w+)", KEY_', of_file(source, "src/daemon/core/config.c", "config_keys"), re.MULTILINE)
    return {
        "An option of `[X-Argosy]`": options[-1:],
        "A verb of `argosyctl`": verbs,
        "A request": [highest(request[request.rindex("oneof what"):].split("}")[0])],
        "A kind of event": [highest(of_file(source, "proto/argosy.proto", "EventKind"))],
        "A counter": counters(source),
        "A resource of HTTP": resources[-1:],
        "A key of `argosy.conf`": keys,
    }


COUNTERS = re.compile(r"\b(?:COUNTER|GAUGE)\((\w+),")


def counters(source):
    headers = [read(path) for tree in ("src", "include") for path in (source / tree).rglob("*.h")]
    return [name for text in headers if "_COUNTERS(" in text for table in re.findall(r"^#define \w+_COUNTERS\((?:.*\\\n)*.*", text, re.MULTILINE)
            for name in COUNTERS.findall(table)]


def lines_to_touch(source):
    """(number, heading, line) of each line of the section."""
    heading, inside = None, False
    for number, line in enumerate(read(source / "ARCHITECTURE.md").splitlines(), 1):
        if line.startswith("## "):
            inside = line == "## What to touch"
        elif inside and line.startswith("### "):
            heading = line[4:]
        elif inside and line.startswith("- "):
            yield number, heading, line


def untouchable(source):
    members, seen = newest(source), set()
    for heading, names in members.items():
        if not names:
            yield f"tools/lib/documents.py: no member is found of: {heading}"
    for number, heading, line in lines_to_touch(source):
        example = EXAMPLE.search(line)
        wanted = [example[1]] if example else members.get(heading, [])
        seen.add(heading)
        for path, symbols in PLACE.findall(line):
            where = f"ARCHITECTURE.md:{number}"
            if not (source / path).is_file():
                yield f"{where}: there is no {path}"
                continue
            for symbol in re.findall(r"`(\w+)`", symbols) or [None]:
                text = of_file(source, path, symbol)
                if not text:
                    yield f"{where}: {path} has no {symbol}"
                elif symbol and symbol.endswith("_COUNTERS"):
                    if not COUNTERS.search(text):
                        yield f"{where}: {symbol} in {path} is no table of counters"
                elif not text.lstrip().startswith(f"{symbol} ="):  # a number has no members
                    has = plain(text)
                    for name in wanted:
                        if plain(name) not in has:
                            yield f"{where}: {symbol} in {path} has no {name}" if symbol else f"{where}: nothing in {path} has {name}"
    for heading in members.keys() - seen:
        yield f"ARCHITECTURE.md: What to touch does not say: {heading}"
    if not members.keys() <= seen:
        yield "ARCHITECTURE.md: the headings of What to touch are those of tools/lib/documents.py"


def restarts_unsaid(source):
    """argosy.conf(5) has in one sentence the keys that count from a restart of argosyd: those, and no other ones."""
    table = of_file(source, "src/daemon/core/config.c", "config_keys")
    wanted = set(re.findall(r'^\s+\{"\w+", "(\w+)", KEY_\w+, FROM_RESTART,', table, re.MULTILINE))
    sentence = re.search(r"From the next restart of [^;]*;", read(source / "man/argosy.conf.5.scd"))
    said = set(re.findall(r"\*(\w+)=\*", sentence[0])) if sentence else set()
    for key in sorted(wanted ^ said):
        yield f"man/argosy.conf.5.scd: whether {key}= counts from a restart is not as src/daemon/core/config.c has it"


def complaints(source, functions=True):
    """All that is wrong. To look for functions means to read the whole source."""
    source = Path(source)
    return [*bad_links(source), *(missing_functions(source) if functions else []), *too_long(source), *untouchable(source), *restarts_unsaid(source)]
