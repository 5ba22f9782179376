// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What cannot be, and is asked for all the same: by the manual alone, so that whoever answers it well is
// wrong (wrong_on_answer()). Root asks, who may do everything else.
#include "asks-private.h"

#include "macro.h"
#include "option-garbage.h"
#include "str.h"

// ----------------------------------------------------------------------------------------- keys and names

// Under the key of another one of the same author, which the log has.
static bool ask_under_used_key(Draw *d, void *message) {
        enum { BACK_MAX = 32 };
        Argosy__Request__Change *m = message;

        if (!ask_change(d, message))
                return false;
        m->preview = false;
        for (size_t i = asks.n_asked; i > 0 && i + BACK_MAX > asks.n_asked; i--) {
                const WorldAsked *a = &asks.asked[i - 1];
                const Argosy__Request__Change *of =
                        a->request->what_case == ARGOSY__REQUEST__WHAT_CHANGE ? a->request->change : NULL;

                if (!of || of->n_names == 0 || a->author != AUTHOR_ROOT || a->wrong ||
                    streq(of->names[0], m->names[0]) || asks.port->job(a) == 0 || a->again_of)
                        continue;
                m->id = of->id;
                asks_note_key_of(i);
                return true;
        }
        return false;
}

static void bring(Draw *d, Argosy__Request__Change *m, const char *name, Argosy__NamedFile *file) {
        m->id = asks_id();
        m->verb = draw_one_in(d, 2) ? ARGOSY__VERB__VERB_SUBMIT : ARGOSY__VERB__VERB_START;
        m->replace = true; // without, a unit that is there keeps its file
        m->names = asks_alloc(sizeof(*m->names));
        m->names[m->n_names++] = (char *) name;
        m->files = asks_alloc(sizeof(*m->files));
        m->files[m->n_files++] = file;
}

static bool ask_reserved(Draw *d, void *message) {
        static const char *const names[] = {"systemd-oomd.service", "dbus-org.example.service",
                                            "basic.target",         "argosyd.service",
                                            "user@1000.service",    "app-t0.slice",
                                            "system-t0.slice",      "probe-.service"};
        Argosy__Request__Change *m = message;
        const char *name = DRAW_PICK(d, names);

        bring(d, m, name, asks_file(d, world_unit_draw(d))); // its content is kept, and knows whose it is
        m->files[0]->name = m->files[0]->path = (char *) name;
        return true;
}

// ----------------------------------------------------------------------------------------------- contents

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define CONTAINER "[Container]\nImage=reg.example/box1:1\n"

// Whatever unit has it, on whatever node.
static const char *const contents[] = {
        SERVICE "[X-Argsoy]\nGlobal=yes\n",
        SERVICE "[X-Fleets]\nGlobal=true\n",
        SERVICE "[X-Argosy]\nColour=blue\n",
        "[Unit]\nRefuseManualStop=yes\n" SERVICE,
        SERVICE "[X-Argosy]\nGlobal=yes\nHost=n1\nMachineID=" ID "\n",
        SERVICE "[X-Argosy]\nNodeLost=keep\nNodeLostDelaySec=5\n",
        SERVICE "[X-Argosy]\nFile=lost.conf\n",
        SERVICE "[X-Argosy]\nFile=a:/etc/x b:/etc/x\n",
        "[Container]\nImage=box1:1\n",
        "[Container]\nImage=library/box1\n",
        "[Container]\nImage=docker://reg.example/box1:1\n",
        "[Container]\nExec=/bin/true\n",
        CONTAINER "Volume=./conf:/conf\n",
        CONTAINER "Volume=lost.volume:/data\n",
        CONTAINER "EnvironmentFile=box.env\n",
        CONTAINER "Network=lost.network\n",
        CONTAINER "Network=container:box2\n",
        CONTAINER "Pod=box.pod\n",
        CONTAINER "Secret=token\n",
        CONTAINER "ServiceName=other\n",
};

static const char *draw_wrong_content(Draw *d, const WorldUnit *u) {
        const OptionGarbage *g = &option_garbage[draw_below(d, ELEMENTSOF(option_garbage))];
        const char *bad;

        if (draw_one_in(d, 8))
                return asks_printf(SERVICE "\n# %s.d/~argosy.conf\n[Service]\nUser=root\n", u->file);
        if (draw_one_in(d, 2))
                return DRAW_PICK(d, contents);
        do
                bad = DRAW_PICK(d, g->bad);
        while (!bad);
        return asks_printf(SERVICE "[X-Argosy]\n%s=%s\n", g->option, bad);
}

static bool ask_wrong_content(Draw *d, void *message) {
        const WorldUnit *u = world_unit_draw(d);
        Argosy__NamedFile *file = ASKS_NEW(Argosy__NamedFile, argosy__named_file__init);
        const char *text = draw_wrong_content(d, u);

        file->name = file->path = (char *) u->file;
        file->content = (ProtobufCBinaryData){strlen(text), (uint8_t *) text};
        bring(d, message, u->name, file);
        return true;
}

// -------------------------------------------------------------------------------------------------- words

static const char escape[] = "\033[2J";

static bool ask_wrong_reason(Draw *d, void *message) {
        Argosy__Request__NodeChange *m = message;

        (void) ask_node_change(d, m);
        m->reason = (char *) escape;
        return true;
}

static bool ask_wrong_label(Draw *d, void *message) {
        static const char *const keys[] = {"", "a b", "a=b", escape};
        Argosy__Request__LabelChange *m = message;

        m->node = asks_printf("n%u", asks_host(d));
        m->set = asks_alloc(sizeof(*m->set));
        m->set[m->n_set] = asks_label(d);
        m->set[m->n_set++]->key = (char *) DRAW_PICK(d, keys);
        return true;
}

static bool ask_wrong_role(Draw *d, void *message) {
        static const char *const names[] = {"", "a b", "a,b"};
        Argosy__Request__RoleChange *m = message;

        (void) ask_role_change(d, m);
        m->name = (char *) DRAW_PICK(d, names);
        return true;
}

static bool ask_wrong_pool(Draw *d, void *message) {
        static const char *const names[] = {"", "a b", "!a"};
        Argosy__Request__PoolChange *m = message;

        (void) ask_pool_change(d, m);
        m->name = (char *) DRAW_PICK(d, names);
        return true;
}

static bool ask_wrong_user(Draw *d, void *message) {
        Argosy__Request__AccessChange *m = message;

        (void) ask_access_change(d, m);
        m->group = (char *) "";
        m->user = (char *) escape;
        return true;
}

static bool ask_wrong_token(Draw *d, void *message) {
        static const char *const names[] = {"", "a\nb", escape};
        Argosy__Request__TokenCreate *m = message;

        (void) ask_token_create(d, m);
        m->name = (char *) DRAW_PICK(d, names);
        return true;
}

static bool ask_wrong_secret(Draw *d, void *message) {
        static const char *const names[] = {"", "-a", ".a", "a/b", LONG64 "0"};
        Argosy__Request__SecretSet *m = message;

        (void) ask_secret_set(d, m);
        m->name = (char *) DRAW_PICK(d, names);
        return true;
}

static bool ask_wrong_set(Draw *d, void *message) {
        Argosy__Request__Apply *m = message;

        if (!ask_apply(d, m))
                return false;
        m->set = (char *) "a/b";
        return true;
}

#define WORD(kind, make) \
        { ARGOSY__REQUEST__WHAT_##kind, _LOADS, 0, ask_wrong_##make }
static const AskKind words[] = {
        WORD(NODE_CHANGE, reason), WORD(LABEL_CHANGE, label), WORD(ROLE_CHANGE, role),
        WORD(POOL_CHANGE, pool),   WORD(ACCESS_CHANGE, user), WORD(TOKEN_CREATE, token),
        WORD(SECRET_SET, secret),  WORD(APPLY, set),
};

// ---------------------------------------------------------------------------------------------------------

void asks_wrong(Draw *d) {
        static const AskKind used_key = {ARGOSY__REQUEST__WHAT_CHANGE, _LOADS, 0, ask_under_used_key},
                             reserved = {ARGOSY__REQUEST__WHAT_CHANGE, _LOADS, 0, ask_reserved},
                             content = {ARGOSY__REQUEST__WHAT_CHANGE, _LOADS, 0, ask_wrong_content};
        WorldAsked by = {.author = AUTHOR_TOKEN, .wrong = WRONG_PROOF};

        switch (draw_below(d, 8)) {
        case 0:
                asks_make_and_ask(d, &reserved, (WorldAsked){.wrong = WRONG_NAME});
                break;
        case 1:
                if (asks.n_tokens == 0 || asks.port->no_tokens)
                        return;
                by.token = 1 + draw_below(d, asks.n_tokens);
                asks_make_and_ask(d, asks_draw_kind(d), by);
                break;
        case 2 ... 3:
                asks_make_and_ask(d, &used_key, (WorldAsked){.wrong = WRONG_KEY});
                break;
        case 4 ... 5:
                asks_make_and_ask(d, &DRAW_PICK(d, words), (WorldAsked){.wrong = WRONG_WORD});
                break;
        default:
                asks_make_and_ask(d, &content, (WorldAsked){.wrong = WRONG_CONTENT});
        }
}
