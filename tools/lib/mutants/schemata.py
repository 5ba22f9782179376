# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many faults in one program (mutant schemata): ARGOSY_PLANTED=NAME, read once at its start, says which one it is to have; without, it has none.

A fault in a whole statement, or in a condition, stands beside what it takes the place of, and `planted_try()` says which of them is carried
out (statements.py). Any other one is in a copy of its function, and the function begins with the question whether that is to run in its place.

What comes there without a fault is all that the fault can change (*reached*); where both values can be worked out without doing anything, only
what finds them different (*differs*). ARGOSY_PLANTED_REACHED=FILE has both appended where a process ends.

ARGOSY_PLANTED_TRY=NAME,NAME,...: where a story comes to one of them for the first time, and it differs, the process is forked. In the other one
the story goes on with the fault; what became of it is appended to ARGOSY_PLANTED_TRIED=FILE. So what all faults of a story have in common is
played once. Where a story forks by itself (trials.c) that is tried in both processes; if one of these tells the other one something, both
have the fault from there on.

What stands outside of functions (tables, constants, macros), and functions whose parameters cannot be handed on (variadic ones), are no part of
it (Misfit), nor is a fault that does not compile (`misfits_of()` reads the compiler's words): those are built alone.
"""

import re
from collections import defaultdict
from dataclasses import dataclass

from . import statements
from .workshop import Misfit, position

MARK = "__planted_"
NAMED = re.compile(rf"{MARK}(\w+)|planted_try\(&planted_(\w+?),")
PLACE = re.compile(r"(\S+?):(\d+):\d+: ")
PREAMBLE = """#ifndef PLANTED
#define PLANTED
struct planted {
        _Bool on, tried, reached, differs;
};
void planted_fork(struct planted *f);
static inline __attribute__((unused)) _Bool planted_try(struct planted *f, _Bool differs) {
        f->reached = 1;
        f->differs |= differs;
        if (differs && f->tried)
                planted_fork(f);
        return f->on;
}
#endif
"""
RUNTIME = """
static const struct {
        const char *name;
        struct planted *fault;
} planted_faults[] = {
@ROWS@};
enum { N_PLANTED = sizeof(planted_faults) / sizeof(*planted_faults) };

static bool *planted_red; // of this story, by fault, in all of its processes
static bool *planted_told; // likewise: it matters in a process that tells another one what came of it
static bool is_planted_play; // a process with a fault

static void planted_tell(void);
static bool planted_is_told_again(void);

static struct planted *planted_find(const char *name, size_t len) {
        for (size_t i = 0; i < N_PLANTED; i++)
                if (strlen(planted_faults[i].name) == len && memcmp(planted_faults[i].name, name, len) == 0)
                        return planted_faults[i].fault;
        fprintf(stderr, "no fault %.*s is planted here\\n", (int) len, name);
        _exit(2);
}

__attribute__((constructor)) static void planted_choose(void) {
        const char *name = getenv("ARGOSY_PLANTED"), *tried = getenv("ARGOSY_PLANTED_TRY");

        (void) at_quick_exit(planted_tell);
        if (name && *name)
                planted_find(name, strlen(name))->on = 1;
        planted_red = mmap(NULL, 2 * N_PLANTED, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        planted_told = planted_red + N_PLANTED;
        world_is_told_again = planted_is_told_again;
        for (size_t len; tried && *tried; tried += len + (tried[len] == ',')) {
                len = strcspn(tried, ",");
                planted_find(tried, len)->tried = 1;
        }
}

__attribute__((destructor)) static void planted_tell(void) {
        const char *path = getenv("ARGOSY_PLANTED_REACHED");
        FILE *f = path && !is_planted_play ? fopen(path, "ae") : NULL;

        for (size_t i = 0; f && i < N_PLANTED; i++)
                if (planted_faults[i].fault->reached)
                        fprintf(f, "%s %d\\n", planted_faults[i].name, planted_faults[i].fault->differs);
        if (f)
                fclose(f);
}

// What other processes tell each other is none of this one's business.
static void planted_share_nothing(void) {
        for (size_t i = 0; i < world_n_shared; i++) {
                WorldShared *shared = &world_shared[i];
                void *copy = malloc(shared->size);

                if (!copy)
                        _exit(3);
                memcpy(copy, shared->data, shared->size);
                if (mmap(shared->data, shared->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != shared->data)
                        _exit(3);
                memcpy(shared->data, copy, shared->size);
                free(copy);
        }
}

static void planted_on_wake(uv_async_t *wake) {
        uv_close((uv_handle_t *) wake, NULL);
}

// uv_loop_fork() forgets who was to be woken, and these ask for it no more: all of them are looked at once something wakes the loop.
static void planted_wake(void) {
        static uv_async_t wake;

        if (uv_loop_fork(&world.rig.loop) != 0 || uv_async_init(&world.rig.loop, &wake, planted_on_wake) != 0 || uv_async_send(&wake) != 0)
                _exit(3);
}

static void planted_begin(struct planted *f) {
        struct itimerval limit = {.it_value.tv_sec = STORY_CPU_MAX_S};
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

        is_planted_play = true;
        for (size_t i = 0; i < N_PLANTED; i++)
                planted_faults[i].fault->tried = 0;
        f->on = 1;
        (void) dup2(null, 1);
        (void) dup2(null, 2);
        close(null);
        (void) setitimer(ITIMER_PROF, &limit, NULL);
        planted_share_nothing();
        planted_wake();
}

static void planted_note(const char *name, int status, uint64_t digest) {
        FILE *f = fopen(getenv("ARGOSY_PLANTED_TRIED"), "ae");

        if (!f)
                _exit(3);
        fprintf(f, "%s %d %016" PRIx64 " %s\\n", name, status, digest, status ? tally->red.sign : "");
        fclose(f);
}

// True: this is the process that has the fault.
static bool planted_go_on_with(size_t i) {
        uint64_t *digest = &tally->digests[plan.seed - options.first], at = tally->at;
        pid_t pid;
        int status;

        planted_faults[i].fault->tried = 0;
        if (planted_red[i])
                return false;
        *digest = 0; // of a trial: there is none
        snprintf(tally->red.sign, sizeof(tally->red.sign), "it ended");
        fflush(NULL);
        pid = fork();
        if (pid == 0) {
                planted_begin(planted_faults[i].fault);
                return true;
        }
        if (pid < 0 || waitpid(pid, &status, 0) < 0)
                _exit(3);
        planted_red[i] = status != 0;
        planted_note(planted_faults[i].name, status, *digest);
        tally->at = at;
        *digest = 0;
        tally->red.sign[0] = 0;
        return false;
}

void planted_fork(struct planted *f) {
        size_t i = 0;

        while (planted_faults[i].fault != f)
                i++;
        if (!is_playing)
                return;
        if (!world.is_telling) {
                (void) planted_go_on_with(i);
                return;
        }
        f->tried = 0;
        planted_told[i] = true;
}

static bool planted_is_told_again(void) {
        for (size_t i = 0; i < N_PLANTED; i++) {
                if (!planted_told[i])
                        continue;
                planted_told[i] = false;
                if (planted_go_on_with(i))
                        return true;
        }
        return false;
}
"""
INCLUDES = "#include <fcntl.h>\n"

SIGNATURE = re.compile(r"(?P<before>[\w\s*()]*?[\s*])(?P<name>\w+)\((?P<parameters>.*)\)\s*\{\s*", re.DOTALL)
PARAMETER = re.compile(r"\(\*(\w+)\)\s*\(|(\w+)(?:\[[^\]]*\])*\s*$")
STORAGE = re.compile(r"\b(?:static|inline|extern|_Noreturn|[A-Z_]+_INLINE)\b\s*")


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
        text += statements.LITERAL.sub("", lines[body])
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


def copy_of(lines, function, fault, first, end):
    head = function.signature.replace(f"{function.name}(", f"{function.copy_name(fault)}(", 1)
    head = "static " + STORAGE.sub("", head)
    body = [*lines[function.body:first], f"{fault.instead}\n", *lines[end:function.end]]
    return [f"{head} {{\n", *body, "\n"]


def asked(fault, differs="1"):
    return f"planted_try(&planted_{identifier(fault.name)}, {differs})"


def chosen_among(function, faults):
    call = ", ".join(function.parameters)
    for fault in faults:
        run = f"{function.copy_name(fault)}({call});"
        run = f"{{ {run} return; }}" if function.result == "void" else f"return {run}"
        yield f"if ({asked(fault)}) {run}\n"


class Planting:
    """How each fault is planted: by what it takes the place of, if that is known, or by a copy of its function."""

    def __init__(self, pure, unequal=(), copied=()):
        """Names of those whose values cannot be compared, and that need a copy, as far as that is known."""
        self._pure, self.unequal, self.copied = pure, set(unequal), set(copied)

    def give_way(self, fault):
        """It did not compile so. False: there is no other way."""
        for tried in (self.unequal, self.copied):
            if fault.name not in tried:
                tried.add(fault.name)
                return True
        return False

    def edits(self, lines, function, placed):
        """({first line of a statement: (the line behind it, its text with the faults)}, those that need a copy)"""
        by_statement, copies = defaultdict(list), []
        for fault, first, end in placed:
            change = None if fault.name in self.copied else statements.change_of(lines, function.body, function.end, first, end, fault.instead)
            if not change or any(change.kind != other.kind for other, _ in by_statement[change.first, change.end]):
                copies.append((fault, first, end))
                continue
            by_statement[change.first, change.end].append((change, fault))
        texts = {}
        for (first, end), changes in by_statement.items():
            if changes:
                texts[first] = (end, statements.text_of([(change, asked(fault, self._differs(change, fault))) for change, fault in changes]))
        return texts, copies

    def _differs(self, change, fault):
        return "1" if fault.name in self.unequal else change.differs(self._pure)


def planted_text(source, faults, planting):
    """The text of the file that all of them are in, with all of them."""
    lines, by_function = None, {}
    for fault in faults:
        _, lines, first, end = position(source, fault)
        function = function_around(lines, first)
        _, placed = by_function.setdefault(function.first, (function, []))
        placed.append((fault, first, end))
    text = [PREAMBLE, *(f"extern struct planted planted_{identifier(fault.name)};\n" for fault in faults)]
    number = 0
    for function, placed in (by_function[first] for first in sorted(by_function)):
        edits, copies = planting.edits(lines, function, placed)
        text += lines[number:function.first] + [f"{function.signature};\n"]
        for fault, first, end in copies:
            text += copy_of(lines, function, fault, first, end)
        text += lines[function.first:function.body]
        text += chosen_among(function, [fault for fault, *_ in copies])
        number = function.body
        while number < function.end:
            end, line = edits.get(number, (number + 1, lines[number]))
            text.append(line)
            number = end
    return "".join([*text, *lines[number:]])


def runtime_text(faults):
    names = [identifier(fault.name) for fault in faults]
    rows = "".join(f'        {{"{fault.name}", &planted_{name}}},\n' for fault, name in zip(faults, names))
    return INCLUDES + PREAMBLE + "".join(f"struct planted planted_{name};\n" for name in names) + RUNTIME.replace("@ROWS@", rows)


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


def misfits_of(words, faults, build):
    """Those that the compiler complained of, by its words: where they lead, and what it says of the function. It ran in that directory."""
    named, function, is_error = set(), "", False
    for line in words.splitlines():
        place = PLACE.match(line)
        if ": In function" in line or ": At top level" in line:
            function, is_error = line, False
        elif place and (": error: " in line or ": warning: " in line):
            is_error = ": error: " in line
        if is_error and place:
            text = (build / place[1]).read_text().splitlines()[int(place[2]) - 1]
            named.update(a or b for a, b in NAMED.findall(function + text))
    return [fault for fault in faults if identifier(fault.name) in named]


def plant(source, copy, faults, program, planting):
    """All of them into a copy of the source; `program` is the file of it that gets what chooses among them. Files that are the same stay untouched."""
    by_file = defaultdict(list)
    for fault in faults:
        by_file[fault.file].append(fault)
    texts = {file: planted_text(source, of_file, planting) for file, of_file in by_file.items()}
    texts[program] = (texts.get(program) or (source / program).read_text()) + runtime_text(faults)
    for file, text in texts.items():
        path = copy / file
        if path.read_text() != text:
            path.write_text(text)
    return set(texts)
