# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many faults in one program (mutant schemata): ARGOSY_PLANTED=NAME, read once at its start, says which one it is to have; without, it has none.
Each file registers its faults itself (a section of the program), so any program that such a file is in can be told.

A fault in a whole statement, or in a condition, stands beside what it takes the place of, and `planted_try()` says which of them is carried
out (statements.py). Any other one is in a copy of its function, and the function begins with the question whether that is to run in its place.

What comes there without a fault is all that the fault can change (*reached*); where both values can be worked out without doing anything, only
what finds them different (*differs*). ARGOSY_PLANTED_REACHED=FILE has both appended where a process ends.

ARGOSY_PLANTED_TRY=NAME,NAME,...: where a story comes to one of them for the first time, and it differs, the process is forked. In the other one
the story goes on with the fault; what became of it is appended to ARGOSY_PLANTED_TRIED=FILE. So what all faults of a story have in common is
played once (TRYING, in leader-sim alone). Where a story forks by itself (trials.c) that is tried in both processes; if one of these tells the other one something, both
have the fault from there on.

What stands outside of functions (tables, constants, macros), and functions whose parameters cannot be handed on (variadic ones), are no part of
it (Misfit), nor is a fault that does not compile (`misfits_of()` reads the compiler's words): those are built alone (many.py).
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
        const char *name;
        _Bool on, tried, reached, differs;
};
extern struct planted *__start_planted[], *__stop_planted[]; // of this program, by the linker
char *getenv(const char *name);
void planted_choose(void) __attribute__((weak, constructor(101)));
void planted_fork(struct planted *f) __attribute__((weak));
void planted_choose(void) {
        const char *name = getenv("ARGOSY_PLANTED");

        for (struct planted **f = __start_planted; f < __stop_planted; f++)
                (*f)->on = name && __builtin_strcmp((*f)->name, name) == 0;
}
static inline __attribute__((unused)) _Bool planted_try(struct planted *f, _Bool differs) {
        f->reached = 1;
        f->differs |= differs;
        if (differs && f->tried)
                planted_fork(f);
        return f->on;
}
#define PLANTED_FAULT(id, called) \\
        __attribute__((weak)) struct planted planted_##id = {.name = called}; \\
        __attribute__((section("planted"), used)) static struct planted *planted_entry_##id = &planted_##id
#endif
"""
TRYING = """#include <fcntl.h>

static bool *planted_red; // of this story, by fault, in all of its processes
static bool *planted_told; // likewise: it matters in a process that tells another one what came of it
static bool is_planted_play; // a process with a fault

static void planted_tell(void);
static bool planted_is_told_again(void);

static size_t planted_n(void) {
        return (size_t) (__stop_planted - __start_planted);
}

static struct planted *planted_find(const char *name, size_t len) {
        for (size_t i = 0; i < planted_n(); i++)
                if (strlen(__start_planted[i]->name) == len && memcmp(__start_planted[i]->name, name, len) == 0)
                        return __start_planted[i];
        fprintf(stderr, "no fault %.*s is planted here\\n", (int) len, name);
        _exit(2);
}

__attribute__((constructor)) static void planted_begin_to_try(void) {
        const char *name = getenv("ARGOSY_PLANTED"), *tried = getenv("ARGOSY_PLANTED_TRY");

        (void) at_quick_exit(planted_tell);
        if (name && *name)
                (void) planted_find(name, strlen(name));
        planted_red = mmap(NULL, 2 * planted_n(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        planted_told = planted_red + planted_n();
        world_is_told_again = planted_is_told_again;
        for (size_t len; tried && *tried; tried += len + (tried[len] == ',')) {
                len = strcspn(tried, ",");
                planted_find(tried, len)->tried = 1;
        }
}

__attribute__((destructor)) static void planted_tell(void) {
        const char *path = getenv("ARGOSY_PLANTED_REACHED");
        FILE *f = path && !is_planted_play ? fopen(path, "ae") : NULL;

        for (size_t i = 0; f && i < planted_n(); i++)
                if (__start_planted[i]->reached)
                        fprintf(f, "%s %d\\n", __start_planted[i]->name, __start_planted[i]->differs);
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
        for (size_t i = 0; i < planted_n(); i++)
                __start_planted[i]->tried = 0;
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

        __start_planted[i]->tried = 0;
        if (planted_red[i])
                return false;
        *digest = 0; // of a trial: there is none
        snprintf(tally->red.sign, sizeof(tally->red.sign), "it ended");
        fflush(NULL);
        pid = fork();
        if (pid == 0) {
                planted_begin(__start_planted[i]);
                return true;
        }
        if (pid < 0 || waitpid(pid, &status, 0) < 0)
                _exit(3);
        planted_red[i] = status != 0;
        planted_note(__start_planted[i]->name, status, *digest);
        tally->at = at;
        *digest = 0;
        tally->red.sign[0] = 0;
        return false;
}

void planted_fork(struct planted *f) {
        size_t i = 0;

        while (__start_planted[i] != f)
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
        for (size_t i = 0; i < planted_n(); i++) {
                if (!planted_told[i])
                        continue;
                planted_told[i] = false;
                if (planted_go_on_with(i))
                        return true;
        }
        return false;
}
"""
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
    text = [PREAMBLE, *(f'PLANTED_FAULT({identifier(fault.name)}, "{fault.name}");\n' for fault in faults)]
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
    """Those that the compiler complained of, by its words: where they lead, and what it says of the function; if that is none, all of the files that
    it complained of. It ran in that directory."""
    named, files, function, is_error = set(), set(), "", False
    for line in words.splitlines():
        place = PLACE.match(line)
        if ": In function" in line or ": At top level" in line:
            function, is_error = line, False
        elif place and (": error: " in line or ": warning: " in line):
            is_error = ": error: " in line
        if is_error and place:
            text = (build / place[1]).read_text().splitlines()[int(place[2]) - 1]
            named.update(a or b for a, b in NAMED.findall(function + text))
            files.add((build / place[1]).resolve())
    found = [fault for fault in faults if identifier(fault.name) in named]
    return found or [fault for fault in faults if any(file.match(fault.file) for file in files)]


def plant(source, copy, faults, files, planting, trying=None):
    """All of them into those files of a copy of the source; `trying` is the file that gets what tries faults in stories. Files that are the same
    stay untouched."""
    by_file = {file: [] for file in files}
    for fault in faults:
        by_file[fault.file].append(fault)
    for file, of_file in by_file.items():
        text = planted_text(source, of_file, planting) if of_file else (source / file).read_text()
        text += PREAMBLE + TRYING if file == trying else ""
        if (copy / file).read_text() != text:
            (copy / file).write_text(text)
