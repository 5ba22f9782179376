#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The dashboard in a browser, on a node of a cluster: it shows what argosyctl says, does what it says it will do, says when it is old,
and what others have named does no harm in it."""

import json
from contextlib import contextmanager

from browser import browser_on
from lib import QUICK, SLEEPER, Cluster, Running, eventually, main

PORT = 8443
PAGE = f"https://127.0.0.1:{PORT}/"
IMAGE = "<img src=x onerror=document.title=1>"
HOSTILE = "</title><script>document.title='gone'</script><img src=x onerror=document.title='gone'> \u202e"

# Modules of the page without the page.
RULES = """
const {Copy, eventsOf} = await import('/dashboard/copy.js'), derive = await import('/dashboard/derive.js'), {diff} = await import('/dashboard/diff.js');
const words = await import('/dashboard/words.js'), carried = await import('/dashboard/carried.js'), {splitImage} = await import('/dashboard/image.js'), failed = [];
const is = (what, seen, wanted) => JSON.stringify(seen) === JSON.stringify(wanted) || failed.push(`${what}: ${JSON.stringify(seen)}`);
const event = (kind, fields) => ({kind, time: 1e15, cursor: 'c', mark: '', gone: false, changed: [], ...fields});
const unit = (name, more) => event('unit', {unit: name, desired: 'launched', state: 'launched', node: '-', rev: 'a', revision: 1, description: '', set: '', ...more});
const state = (name, node, active, more) => event('state', {unit: name, node, load: 'loaded', active, sub: 'x', result: 'success', error: '', drift: false, stale: false, since: 5, ...more});
const word = (what, kinds) => event('stream', {word: what, kinds});
const copyOf = (...events) => { const copy = new Copy(); events.forEach((e) => copy.take(e)); return copy; };
const names = (copy, kind) => [...copy.rows[kind].keys()];

let copy = copyOf(word('begins', ''), unit('a.service'), unit('b.service'), state('a.service', 'n1', 'active'), word('complete', ''));
is('all is told', [copy.complete, names(copy, 'unit'), names(copy, 'state')], [true, ['a.service', 'b.service'], ['a.service\\nn1']]);
let again = copyOf(word('begins', ''), unit('a.service'), unit('b.service'), word('complete', ''), word('begins', ''), unit('a.service'), word('begins', 'job'), word('complete', ''));
is('jobs begin again before all is complete', names(again, 'unit'), ['a.service']);
copy.take(word('begins', 'state'));
is('what is told anew counts until then', [copy.complete, copy.rows.state.size], [false, 1]);
copy.take(state('b.service', 'n2', 'active'));
copy.take(word('complete', ''));
is('what was not told again is gone', [names(copy, 'state'), names(copy, 'unit').length], [['b.service\\nn2'], 2]);
copy.take(unit('b.service', {mark: 'missed'}));
is('a unit with a mark stands for its states', copy.rows.state.size, 0);
copy.take(event('unit', {unit: 'b.service', gone: true}));
is('gone', names(copy, 'unit'), ['a.service']);
is('told again it is the same', names(copyOf(...copy.told()), 'unit'), ['a.service']);
const whole = copyOf(...eventsOf({cursor: 'x', leader: {leader: 'n1', term: 1}, queue: {closed: false}, nodes: [{node: 'n1', state: 'online'}],
  unit_files: [{unit: 'a.service', desired: 'launched', node: 'n1'}], units: [{unit: 'a.service', node: 'n1', active: 'active', sub: 'running'}], jobs: []}));
is('a state document', [whole.cursor, whole.complete, whole.leader, names(whole, 'node'), derive.unitRows(whole).map((row) => row.level)], ['x', true, 'n1', ['n1'], ['good']]);
for (let i = 1; i <= 900; i++) copy.take(event('job', {job: i, state: i === 1 ? 'running' : 'done'}));
is('jobs that run are not forgotten', [copy.rows.job.has(1), copy.rows.job.has(2), copy.rows.job.has(900), copy.rows.job.size < 600], [true, false, true, true]);

const level = (...events) => derive.unitRows(copyOf(...events)).map((row) => row.level);
is('levels', [level(unit('a'), state('a', 'n', 'active')), level(unit('a'), state('a', 'n', 'failed')), level(unit('a'), state('a', 'n', 'activating')),
  level(unit('a'), state('a', 'n', 'unknown')), level(unit('a'), state('a', 'n', 'active', {stale: true})), level(unit('a'), state('a', 'n', 'inactive', {drift: true})), level(unit('a'), state('a', 'n', 'active', {error: 'x'})),
  level(unit('a')), level(unit('a', {node: 'n1'})), level(unit('a', {desired: 'inactive'})), level(unit('a@.service'))],
  [['good'], ['bad'], ['moves'], ['unsure'], ['good'], ['waits'], ['bad'], ['waits'], ['moves'], ['idle'], []]);
is('a loop is wrong whatever it does at the moment', derive.unitRows(copyOf(unit('a'), state('a', 'n', 'active', {looping: true, restarts: 81, result: 'exit-code'}))).map((r) => [r.level, r.text]), [['bad', 'looping: restarted 81 times (exit-code)']]);
const lost = event('node', {node: 'n', state: 'lost', since: 5});
is('of a lost node', [level(lost, unit('a', {node: 'n'}), state('a', 'n', 'unknown')), level(lost, unit('a', {node: 'global'}), state('a', 'n', 'unknown')), level(lost, unit('a', {node: 'n2'}), state('a', 'n', 'unknown'))],
  [['waits'], ['unsure'], ['unsure']]);
is('since when', [derive.unitRows(copyOf(lost, unit('a', {node: 'n'}), state('a', 'n', 'unknown')))[0].since, derive.unitRows(copyOf(unit('a', {since: 7})))[0].since, derive.unitRows(copyOf(unit('a'), state('a', 'n', 'failed', {since: 9})))[0].since], [5, 7, 9]);
is('nodes', ['online', 'suspect', 'lost', 'offline', 'down', 'leaving', 'unknown'].map((now) => derive.nodeLevel({node: 'n', state: now, mode: ''}, copyOf())), ['good', 'waits', 'bad', 'bad', 'waits', 'moves', 'unsure']);
is('a row for each node', derive.unitRows(copyOf(unit('a'), state('a', 'n1', 'active'), state('a', 'n2', 'failed'))).map((row) => row.node), ['n1', 'n2']);
const rows = derive.sortRows(derive.unitRows(copyOf(unit('b'), state('b', 'n1', 'active'), unit('a'), state('a', 'n2', 'active'), unit('c'), state('c', 'n1', 'failed'))));
is('the worst first', rows.map((row) => row.unit), ['c', 'a', 'b']);
const found = (text) => rows.filter(derive.matcher(text)).map((row) => row.unit);
is('filters', [found(''), found('is:failed'), found('node:n1'), found('is:running n1'), found('nothing')], [['c', 'a', 'b'], ['c'], ['c', 'b'], ['b'], []]);
copy = copyOf(word('begins', ''), event('leader', {leader: '', term: 2}), event('node', {node: 'n1', state: 'lost', role: 'voter', mode: '', mode_reason: '', reason: ''}),
  event('drain', {node: 'n2', left: 3, stuck: 1}), event('node', {node: 'n2', state: 'online', role: 'voter', mode: 'draining', mode_reason: '', reason: ''}), event('queue', {closed: true, reason: 'tonight'}), word('complete', ''));
is('problems', derive.problems(copy, []).map((p) => [p.level, p.about]).sort(), [['bad', 'n1'], ['bad', 'the cluster'], ['waits', 'n2'], ['waits', 'the queue']]);
const digest = `sha256:${'a'.repeat(64)}`, pinned = `[Container]\\nImage=r.example/x:1\\n\\n# a.container.d/~0-image.conf\\n[X-Argosy]\\nImagePin=r.example/x:1@${digest}\\n`;
is('images', [splitImage(pinned), splitImage('[Service]\\n')], [{text: '[Container]\\nImage=r.example/x:1\\n', image: 'r.example/x:1', digest}, {text: '[Service]\\n', image: '', digest: ''}]);
copy = copyOf(word('begins', ''), event('leader', {leader: 'n1', term: 2}), unit('a'), state('a', 'n1', 'active'), word('complete', ''));
const place = copy.cursor;
copy.take({...event('leader', {leader: '', reason: 'n2 reaches no host that leads'}), mark: 'here', cursor: 'another', time: 5});
is('nobody leads', [copy.leader, copy.silence.reason, copy.cursor === place, Math.abs(copy.now - 1e15) < 1e9, derive.problems(copy, []).map((p) => [p.level, p.about])],
  ['', 'n2 reaches no host that leads', true, true, [['bad', 'the cluster']]]);
is('a page that comes later is told so', copyOf(...copy.told()).silence, copy.silence);
copy.take({...event('leader', {leader: 'n1'}), mark: 'here'});
is('and leads again', [copy.leader, copy.silence, derive.problems(copy, []).length], ['n1', null, 0]);
copy = copyOf(event('node', {node: 'n', state: 'unknown', role: 'voter', mode: '', mode_reason: '', reason: ''}), unit('a'), state('a', 'n', 'unknown'));
is('what is not known is not well', derive.problems(copy, derive.unitRows(copy)).map((p) => [p.level, p.text]), [['unsure', '2 units and nodes: nothing is heard of them']]);
const job = (more) => ({job: 7, author: 'anna@n1', verb: 'start', targets: ['web@1.service', 'web@2.service'], state: 'done', reason: 'release', message: '', time: 20, ended: 30, ...more});
is('targets', [derive.targetsText(job()), derive.targetsText(job({'more-targets': 8})), derive.targetsText(job(), 10), derive.targetsText(job({targets: 'a b'})), derive.targetsText(job({targets: []}))],
  ['web@1.service web@2.service', 'web@1.service web@2.service and 8 more', 'web@1.service and 1 more', 'a b', '']);
const jobs = [job(), job({author: 'root@n2', verb: 'stop', state: 'failed'})], foundJobs = (text) => jobs.filter(derive.jobMatcher(text)).length;
is('filters of jobs', [foundJobs(''), foundJobs('author:anna'), foundJobs('verb:stop state:failed'), foundJobs('unit:web@2'), foundJobs('unit:mail'), foundJobs('release root')], [2, 1, 1, 2, 0, 1]);
copy = copyOf(unit('a'), state('a', 'n1', 'failed', {since: 25, result: 'exit-code'}), state('b', 'n1', 'active', {since: 5}), event('node', {node: 'n2', state: 'lost', since: 35, reason: ''}));
is('what happened lately', derive.recent(copy, 20, [job(), job({ended: 10})]).map((e) => [e.kind, e.time, derive.eventText(e)]),
  [['state', 25, 'failed (x), exit-code'], ['job', 30, 'done: start web@1.service web@2.service, by anna@n1 (release)'], ['node', 35, 'lost']]);
is('filter of events', derive.recent(copy, 0, []).filter(derive.eventMatcher('state n1 exit')).map((e) => e.unit), ['a']);
const listed = (...lines) => `[Service]\\n\\n# a.service.d/~argosy.conf\\n[Service]\\n\\n# mode, bytes, SHA-256 and name of each file\\n${lines.join('\\n')}\\n`, A = 'a'.repeat(64), B = 'b'.repeat(64);
const old = carried.carriedOf(listed(`# 0444 3 ${A} conf/a`, `# 0444 4 ${A} same`)), fresh = carried.carriedOf(listed(`# 0555 5 ${B} conf/a`, `# 0444 6 ${B} new`, `# 0444 4 ${A} same`));
is('files that come with a unit', [carried.carriedOf('[Service]\\n'), old.map((file) => [file.name, file.mode, file.bytes, file.hash === A])], [[], [['conf/a', '0444', 3, true], ['same', '0444', 4, true]]]);
is('and what differs of them', carried.carriedDiff(old, fresh).map(({name, before, after}) => [name, before?.bytes ?? null, after?.bytes ?? null]), [['conf/a', 3, 5], ['new', null, 6]]);
is('diff', diff('a\\nb\\nc', 'a\\nx\\nc\\nd').map((line) => line.join('')), [' a', '-b', '+x', ' c', '+d']);
is('words', [words.span(5), words.span(7200), words.bytes(1536), words.bytes(null), words.count(1, 'unit'), words.count(2000, 'unit')], ['5 s', '2 h', '1.5 KiB', '', '1 unit', '2,000 units']);
return failed;
"""


def make_token(c, name, right="operate"):
    return c.ctl(f"token create --right {right} --name {name}").strip()


@contextmanager
def dashboard(c, on=0, right="admin"):
    """Logged in."""
    node = c.nodes[on]
    token = make_token(c, f"page-{on}-{len(c.json('token list'))}", right)
    with browser_on(node) as page:
        page.looks_like(1280, 900)
        page.go(PAGE)
        eventually(lambda: "Log in" in page.text("main"), what="the login is shown")
        page.type("#token", token)
        page.click(".login button")
        shows(page, "#fresh", "live")
        yield page
        assert page.complaints() == []


def shows(page, selector, *texts, within=30):
    try:
        eventually(lambda: all(text in page.text(selector) for text in texts), within)
    except AssertionError:
        raise AssertionError(f"{selector} shows {texts}, not within {within} s; at last: {page.text(selector)!r}") from None


def view(page, path):
    page.run("location.hash = given[0]", path)


def units_shown(page):
    """(unit, node) of each row that is in the page."""
    return {tuple(row) for row in page.run("return [...document.querySelectorAll('.list-row')].map(r => [r.querySelector('.name').textContent, r.querySelector('.node').textContent])")}


def test_the_rules_of_the_page(c: Cluster):
    with browser_on(c.nodes[0]) as page:
        page.go(PAGE)
        assert page.run(RULES) == []


def test_who_is_not_known_logs_in(c: Cluster):
    with browser_on(c.nodes[0]) as page:
        page.go(PAGE)
        eventually(lambda: "Log in" in page.text("main"))
        page.type("#token", "argosy_" + 43 * "A")
        page.click(".login button")
        eventually(lambda: page.text(".login .said") != "", what="a token that is none is refused")
        token = make_token(c, "somebody")
        page.type("#token", token)
        page.click(".login button")
        shows(page, "#fresh", "live")
        assert page.run("return document.cookie") == "" and token not in page.run("return document.documentElement.outerHTML + location.href")
        page.go(PAGE + "#/units")
        shows(page, "#fresh", "live")  # a page that is opened anew is still logged in
        page.click("#logout")
        eventually(lambda: "Log in" in page.text("main"), what="who logs out is asked for a token again")
        page.type("#token", token)
        page.click(".login button")
        shows(page, "#fresh", "live")
        c.ctl("token revoke somebody")
        eventually(lambda: "Log in" in page.text("main"), what="a token that was revoked ends the page, too")


def test_it_shows_what_argosyctl_says(c: Cluster):
    c.start("web@{1..6}")
    c.submit("breaks.service", "[Service]\nExecStart=/bin/false\n")
    c.ctl("start --no-block breaks")
    eventually(lambda: [row["active"] for row in c.json("list-units breaks")] == ["failed"])
    with dashboard(c) as page:
        shows(page, "#health", "1 wrong")
        shows(page, "#wrong", "breaks.service failed (exit-code)")
        shows(page, "#counts", "3 nodes", "7 units", "1 failed", "6 running")
        shows(page, "#leader", f"{c.leader_name(c.nodes[0])} leads")
        view(page, "#/units")
        wanted = {(row["unit"], row["node"]) for row in c.json("list-units")}
        eventually(lambda: units_shown(page) == wanted, what="all units are in the list")
        page.keys("/")
        page.type("#filter", "is:failed")
        eventually(lambda: {unit for unit, _ in units_shown(page)} == {"breaks.service"})
        page.keys("\ue007")  # Enter: to the list
        page.keys("\ue007")  # and to the unit
        eventually(lambda: page.run("return location.hash") == "#/unit/breaks.service")
        shows(page, "#why", json.loads(c.ctl_result("why breaks --json=short").out)[0]["why"])
        shows(page, ".journal", "breaks.service: Failed with result 'exit-code'.")
        shows(page, "main", "ExecStart=/bin/false", "submit", "start")
        view(page, "#/nodes")
        shows(page, "main", *(node.name for node in c.nodes), "up to date")
        view(page, "#/jobs")
        shows(page, "main", f"job {c.json('list-jobs --limit=1')[0]['job']}")
        asked = page.run("return performance.getEntriesByType('resource').map(entry => new URL(entry.name).origin)")
        assert set(asked) == {PAGE[:-1]}


def test_files_that_come_with_a_unit_are_shown_and_what_has_changed_in_them(c: Cluster):
    n1, folder = c.node("n1"), "/root/files"
    n1.write(f"{folder}/filed.service", SLEEPER + "[X-Argosy]\nFile=conf\n")
    n1.write(f"{folder}/conf/a.conf", "colour red\n")
    n1.run(f"printf 'x\\0y' >{folder}/conf/image")
    c.ctl(f"submit {folder}/filed.service")
    n1.write(f"{folder}/conf/a.conf", "colour blue\n")
    c.ctl(f"submit --replace {folder}/filed.service")
    with dashboard(c) as page:
        view(page, "#/unit/filed.service")
        shows(page, "[aria-labelledby=h-files]", "conf/a.conf", "0444", "conf/image")
        page.click("[aria-labelledby=h-files] tbody tr:nth-child(1) button")
        shows(page, "[aria-labelledby=h-files]", "colour blue")
        page.click("[aria-labelledby=h-files] tbody tr:nth-child(2) button")
        shows(page, "[aria-labelledby=h-files]", "It is no text: 3")
        page.click("[aria-labelledby=h-jobs] tbody tr:nth-child(1) button")
        shows(page, "[aria-labelledby=h-jobs]", "- colour red", "+ colour blue")


def test_what_it_does_it_says_before(c: Cluster):
    c.start("web@1")
    with dashboard(c) as page:
        view(page, "#/unit/web%401.service")
        shows(page, ".journal", "Started")
        eventually(lambda: buttons(page), what="the cluster has said what may be done")
        page.click(".buttons .harm")
        shows(page, "dialog", "Stop web@1.service?", "running on")
        page.keys("\ue00c")  # Escape: nothing
        assert c.json("list-unit-files web@1.service")[0]["desired"] == "launched"
        page.click(".buttons .harm")
        page.type("#reason", "it is late")
        page.click("dialog button[type=submit]")
        eventually(lambda: page.run("return location.hash").startswith("#/job/"))
        shows(page, "main", "stop", "it is late", "done")
        assert c.json("list-units web@1.service")[0]["active"] == "inactive"
        page.do("POST", "/refresh", {})  # the story is the cluster's, not the page's
        shows(page, "main", "stop", "it is late", "done")
        page.click(".buttons .harm")  # Undo
        shows(page, "dialog", "Undo job", "web@1.service")
        page.click("dialog button[type=submit]")
        eventually(lambda: c.json("list-units web@1.service")[0]["active"] == "active")
        shows(page, "main", "undo")
        view(page, "#/units")
        eventually(lambda: page.run("return document.querySelectorAll('.list-row').length") > 0)
        page.click(".list-row input")
        shows(page, "#selected", "1 selected")
        page.click(".selection .harm")
        shows(page, "dialog", "Stop 1 unit?", "web@1.service")
        page.click("dialog button[type=submit]")
        eventually(lambda: c.json("list-units web@1.service")[0]["active"] == "inactive", what="what was selected is stopped")
        view(page, "#/unit/nothing.service")
        shows(page, "main", "There is no unit nothing.service in this cluster.")
        assert buttons(page) == []
        view(page, "#/node/nowhere")
        shows(page, "main", "There is no node nowhere in this cluster.")
        assert buttons(page) == []
        view(page, "#/events")
        shows(page, ".events", "stop web@1.service", "done")
        page.type("#filter", "is.nothing.like.this")
        shows(page, ".events", "No event is like that.")
        view(page, f"#/node/{c.nodes[1].name}")
        eventually(lambda: buttons(page), what="the node is there")
        page.click(".buttons button")
        shows(page, "dialog", f"Cordon {c.nodes[1].name}?", "No unit is placed here")
        page.click("dialog button[type=submit]")
        eventually(lambda: [row["mode"] for row in c.json("list-nodes") if row["node"] == c.nodes[1].name] == ["cordoned"])
    c.ctl(f"uncordon {c.nodes[1].name}")


def buttons(page):
    return page.run("return [...document.querySelectorAll('[data-needs]')].filter(b => b.checkVisibility()).map(b => b.textContent)")


def test_who_may_not_is_not_asked_to(c: Cluster):
    c.start("web@1")
    job = c.json("list-jobs --limit=1")[0]["job"]
    pages = [("#/unit/web%401.service", "web@1.service", ["Start", "Restart", "Stop"]), (f"#/job/{job}", f"Job {job}", ["Undo"]),
             (f"#/node/{c.nodes[1].name}", c.nodes[1].name, ["Cordon", "Drain", "Uncordon"])]
    for right, there in ("view", []), ("operate", pages[:1]), ("deploy", pages[:2]), ("admin", pages):
        with dashboard(c, right=right) as page:
            eventually(lambda: page.run("return document.documentElement.dataset.own") == right)
            for path, title, names in pages:
                view(page, path)
                shows(page, "main h1", title)
                eventually(lambda: page.run("return document.querySelector('[data-needs]')") is not None, what=f"{path} is shown")
                assert buttons(page) == (names if (path, title, names) in there else []), (right, path)


def test_a_page_that_is_opened_anew_shows_a_job_go_on(c: Cluster):
    c.submit("slow.service", "[Service]\nType=notify\nTimeoutStartSec=infinity\nExecStart=/bin/sleep infinity\n")
    c.ctl("start --no-block slow")
    job = c.json("list-jobs --limit=1")[0]["job"]
    with dashboard(c) as page:
        view(page, f"#/job/{job}")
        shows(page, "main", "running", "slow.service")
        page.do("POST", "/refresh", {})
        shows(page, "main", "running", "slow.service")
        c.ctl("stop slow")
        shows(page, "main", "overtaken")


def rows_of_units(page):
    """Of the table of units in a job: what each row says, cell by cell."""
    return page.run("return [...document.querySelectorAll('section[aria-labelledby=h-units] tbody tr')].map(r => [...r.cells].map(c => c.textContent))")


def test_a_job_shows_what_became_of_each_unit(c: Cluster):
    c.submit("a-good.service", SLEEPER)
    c.submit("bad.service", f"[Unit]\nDescription={HOSTILE}\n[Service]\nType=oneshot\nExecStart=/bin/false\n")
    c.submit("slow.service", "[Service]\nType=notify\nTimeoutStartSec=infinity\nExecStart=/bin/sleep infinity\n")
    c.ctl_fails("start a-good bad", saying="exit-code")
    job = c.json("list-jobs --limit=1")[0]["job"]
    c.ctl_fails(f"job wait {job}", saying="bad.service")
    [told] = c.json(f"job show {job}")
    [bad] = [unit for unit in told["units"] if unit["end"] == "failed"]
    with dashboard(c) as page:
        view(page, f"#/job/{job}")
        shows(page, "main", "failed", "1 unit failed")
        eventually(lambda: rows_of_units(page), what="the units are shown")
        first, second = rows_of_units(page)  # what went wrong stands first
        assert first[0] == "bad.service" and first[1].strip() == f"failed on {bad['node']}: {bad['end_message']}" and "failed" in first[2], first
        assert second[0] == "a-good.service" and second[1].strip().startswith("ok") and "running on" in second[2], second
        c.ctl("stop a-good")
        eventually(lambda: "running" not in rows_of_units(page)[1][2], what="how it is now is told, and what was is kept")
        assert rows_of_units(page)[1][1].strip().startswith("ok")
        for width in 1280, 400:
            page.looks_like(width, 800, "dark")
            assert page.run("return document.documentElement.scrollWidth <= innerWidth"), width
            assert page.run(FAINT) == [], width
        page.looks_like(1280, 900)
        c.ctl("start --no-block slow")
        job = c.json("list-jobs --limit=1")[0]["job"]
        view(page, f"#/job/{job}")
        eventually(lambda: "not yet" in rows_of_units(page)[0][1], what="it has not ended")
        c.ctl("stop slow")
        by = c.json("list-jobs --limit=1")[0]["job"]
        eventually(lambda: rows_of_units(page)[0][1].strip() == f"overtaken by job {by}", what="another job has overtaken it")
        page.click("section[aria-labelledby=h-units] tbody td:nth-child(2) a")
        eventually(lambda: page.run("return location.hash") == f"#/job/{by}")
        c.submit("many@.service", SLEEPER)
        c.ctl("submit many@{1..210}")
        view(page, f"#/job/{c.json('list-jobs --limit=1')[0]['job']}")
        shows(page, "main", "And 10 more units.")
        assert len(rows_of_units(page)) == 200


def test_two_tabs_read_one_stream(c: Cluster):
    node = c.nodes[0]

    def open_requests():
        return c.json("counters", node)["http_requests_open"]

    with dashboard(c) as page:
        first = page.do("GET", "/window")
        eventually(lambda: open_requests() == 1, what="one stream")
        second = page.do("POST", "/window/new", {"type": "tab"})["handle"]
        page.do("POST", "/window", {"handle": second})
        page.go(PAGE + "#/units")
        shows(page, "#fresh", "live")
        eventually(lambda: open_requests() == 1, what="one stream for both")
        page.do("DELETE", "/window")
        page.do("POST", "/window", {"handle": first})
        c.start("late")
        view(page, "#/units")
        eventually(lambda: "late.service" in page.text("main"), what="the other goes on")


def test_what_others_have_named_does_no_harm(c: Cluster):
    c.submit("named.service", f"[Unit]\nDescription={HOSTILE}\n[Service]\nExecStart=/bin/echo {HOSTILE.split()[0]}<b>bold</b>\n# <script>alert(1)</script>\n")
    c.ctl(f"start named --reason '{HOSTILE[:9]}'")
    node = c.nodes[2].name
    c.ctl(f"cordon {node} --reason '{IMAGE}'")
    with dashboard(c) as page:
        c.ctl(f"queue close --reason '{IMAGE}'")
        shows(page, "#wrong", IMAGE)
        view(page, f"#/node/{node}")
        shows(page, "main", f"cordoned ({IMAGE})")
        page.click(".buttons button")  # what is about to be done is said in a dialog
        shows(page, "dialog", f"Cordon {node}?")
        page.keys("\ue00c")
        for path in "#/", "#/nodes", "#/units", "#/unit/named.service", "#/jobs", "#/job/%3Cscript%3E", "#/unit/%E0%A4%A", "#/nothing/at/all", "#/unit/nobody.service":
            view(page, path)
            shows(page, "#fresh", "live")
            if path == "#/unit/named.service":
                shows(page, "main", "<script>document.title='gone'</script>", "<b>bold</b>", "# <script>alert(1)</script>")
        assert page.run("return [document.title.includes('argosy'), document.querySelectorAll('script').length, document.querySelectorAll('main b, main img').length]") == [True, 1, 0]
    c.ctl("queue open")


def states_are_shown(page, states):
    shown = page.run("return [...document.querySelectorAll('.list-row')].map(r => [r.querySelector('.name').textContent, r.querySelector('.node').textContent, r.textContent])")
    return all(states[unit, node] in text for unit, node, text in shown)


def same_as_argosyctl(c, page, on):
    """Units with their states, nodes and the newest jobs: the page shows what argosyctl says on that node."""
    view(page, "#/units")
    eventually(lambda: units_shown(page) == {(row["unit"], row["node"]) for row in c.json("list-units", on)}, what="the units are those of list-units")
    eventually(lambda: states_are_shown(page, {(row["unit"], row["node"]): row["sub"] for row in c.json("list-units", on)}), what="their states, too")
    view(page, "#/nodes")
    for row in c.json("list-nodes", on):
        lines = lambda: page.run("return [...document.querySelectorAll('main table tr')].map(r => r.innerText.trim())")
        eventually(lambda: any(line.startswith(row["node"]) and row["state"] in line for line in lines()), what=f"{row['node']} is {row['state']}")
    view(page, "#/jobs")
    shows(page, "main", *(f"job {row['job']}" for row in c.json("list-jobs --limit=3", on)))
    view(page, "#/")


def test_it_goes_on_when_nodes_are_lost_and_says_when_it_is_old(c: Cluster):
    c.start("web@{1..6}")
    leader = c.leader()
    on, other = [i for i, node in enumerate(c.nodes) if node.name != leader.name]
    with dashboard(c, on=on) as page:
        shows(page, "#health", "All is well")
        same_as_argosyctl(c, page, c.nodes[on])
        c.nodes[other].kill()
        shows(page, "#wrong", f"{c.nodes[other].name} is lost", within=60)
        assert page.run("return document.querySelector('#wrong li .since').textContent").endswith(" s")
        shows(page, "#counts", "6 running", within=60)
        view(page, f"#/node/{c.nodes[other].name}")
        shows(page, "main", "2 units left it when it was lost", "No unit is placed on this node any more")
        same_as_argosyctl(c, page, c.nodes[on])
        c.nodes[other].boot()
        shows(page, "#health", "All is well", within=60)
        leader.kill()
        shows(page, "#wrong", f"{leader.name} is lost", within=60)
        eventually(lambda: c.leader_name(c.nodes[on]) not in (None, leader.name))
        shows(page, "#leader", f"{c.leader_name(c.nodes[on])} leads")
        shows(page, "#counts", "6 running", within=60)
        same_as_argosyctl(c, page, c.nodes[on])
        leader.boot()
        shows(page, "#health", "All is well", within=60)
        c.nodes[on].run("systemctl stop argosyd.socket argosyd.service")
        shows(page, "#banner", "This is as it was", "tried again")
        assert page.text("#health") == "unknown" and page.text("#fresh") == ""
        c.nodes[on].run("systemctl start argosyd.socket argosyd.service")
        eventually(lambda: "Log in" in page.text("main"), 60, "a session ends with argosyd: who is there?")


def test_it_says_that_nobody_leads(c: Cluster):
    c.start("web@1")
    leader = c.leader()
    on = next(i for i, node in enumerate(c.nodes) if node.name != leader.name)
    others = [node for i, node in enumerate(c.nodes) if i != on]
    with dashboard(c, on=on) as page:
        shows(page, "#health", "All is well")
        for node in others:
            node.run("systemctl kill --signal=STOP argosyd")
        shows(page, "#health", "Nobody leads", within=4)
        assert page.text("#leader") == "", "said once is enough"
        shows(page, "#banner", "Nobody leads the cluster", f"{leader.name} leads, and does not answer {c.nodes[on].name}")
        assert page.text("#fresh") == "live", "it is this host that says so"
        view(page, "#/nodes")
        shows(page, "main", *(node.name for node in c.nodes))
        assert "up to date" not in page.text("main"), "whose log is where is known by who leads"
        with browser_on(c.nodes[on], port=9516) as other:
            other.go(PAGE)
            eventually(lambda: "Log in" in other.text("main"), what="the login is shown")
            health = "return [document.body.className, getComputedStyle(document.getElementById('health')).display]"
            eventually(lambda: other.run(health) == ["asks", "none"], what="the login is not dimmed, and says nothing of the cluster")
        for node in others:
            node.run("systemctl kill --signal=CONT argosyd")
        shows(page, "#health", "All is well")
        shows(page, "#leader", "leads")


# Of each text that is shown: its colour before what is behind it, as WCAG 2 counts; those that are too faint.
FAINT = """
const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
const light = (c) => { const [x, y, z] = c.map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * x + 0.7152 * y + 0.0722 * z; };
const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
const faint = [];
for (const e of document.querySelectorAll('body *')) {
  if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility() || e.matches('script, style, .skip, :disabled')) continue;
  const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) faint.push(`${e.tagName}.${e.className} "${e.textContent.trim().slice(0, 30)}" ${ratio.toFixed(2)}`);
}
return [...new Set(faint)];
"""
TAB, ENTER, ESCAPE = "\ue004", "\ue007", "\ue00c"


def test_it_is_used_by_keys_alone_and_read_in_any_light(c: Cluster):
    c.start("web@{1..3}")
    c.submit("breaks.service", "[Service]\nExecStart=/bin/false\n")
    c.ctl("start --no-block breaks")
    with dashboard(c) as page:
        focused = lambda: page.run("return document.activeElement.textContent.trim()")
        eventually(lambda: page.run("return document.documentElement.dataset.own") == "admin")
        page.keys("2")
        eventually(lambda: page.run("return document.querySelector('nav [aria-current=page]')?.textContent") == "Units")
        eventually(lambda: len(units_shown(page)) == 4)
        page.keys("/")
        eventually(lambda: page.run("return document.activeElement.id") == "filter")
        page.keys(*"web@2", ENTER)
        eventually(lambda: page.run("return [...document.querySelectorAll('[role=option]')].map(e => e.getAttribute('aria-setsize'))") == ["1"])
        page.keys(ENTER)
        eventually(lambda: page.run("return location.hash") == "#/unit/web%402.service")
        shows(page, ".journal", "Started")
        for _ in range(4):
            if focused() != "Stop":
                page.keys(TAB)
        assert focused() == "Stop"
        page.keys(ENTER)
        shows(page, "dialog", "Stop web@2.service?")
        assert page.run("return document.querySelector('dialog').contains(document.activeElement)")
        page.keys(ESCAPE)
        eventually(lambda: focused() == "Stop", what="the focus is where it was")
        page.keys(ESCAPE)
        eventually(lambda: page.run("return location.hash").startswith("#/units"), what="back to the list")
        page.keys(ESCAPE, ESCAPE, ESCAPE)
        eventually(lambda: page.run("return location.hash") in ("", "#/"), what="and never off the page")
        shows(page, "#wrong", "breaks.service failed")
        for scheme in "light", "dark":
            page.looks_like(1280, 900, scheme)
            for path in "#/", "#/units", "#/nodes", "#/jobs", "#/unit/breaks.service", f"#/node/{c.nodes[0].name}":
                view(page, path)
                eventually(lambda: page.run("return document.querySelector('main').childElementCount > 1"))
                assert page.run(FAINT) == [], (scheme, path)


def test_a_journal_goes_on_after_argosyd(c: Cluster):
    c.submit("ticks.service", "[Service]\nExecStart=/bin/sh -c 'i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.5; done'\n[X-Argosy]\nNodeLost=keep\n")
    c.ctl("start ticks")
    node = c.nodes[0]
    running = Running(node, ["argosyctl", "dashboard"])
    try:
        with browser_on(node) as page:
            page.go(running.line().strip())
            shows(page, "#fresh", "live")
            view(page, "#/unit/ticks.service")
            shows(page, ".journal", "tick 3")
            newest = lambda: int(page.text(".journal").split("tick ")[-1].split()[0])
            node.run("systemctl restart argosyd")
            then = newest()
            eventually(lambda: newest() > then + 10, 60, "its lines come again")
            numbers = [int(line.split("tick ")[1]) for line in page.text(".journal").splitlines() if "]: tick " in line]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), numbers
    finally:
        running.kill()


def test_it_is_used_at_any_width(c: Cluster):
    c.start("web@{1..30}", SLEEPER)
    with dashboard(c) as page:
        for width in 1280, 400:
            page.looks_like(width, 800, "dark")
            for path in "#/", "#/units", "#/nodes", "#/jobs", "#/events", "#/unit/web%401.service":
                view(page, path)
                shows(page, "#fresh", "live")
                eventually(lambda: page.run("return document.querySelector('main').childElementCount > 1"))
                assert page.run("return document.documentElement.scrollWidth <= innerWidth"), (width, path)
        unnamed = page.run("""return [...document.querySelectorAll('button, input, select, a')].filter(e =>
            !(e.textContent.trim() || e.getAttribute('aria-label') || (e.id && document.querySelector(`label[for=${e.id}]`)))).map(e => e.outerHTML)""")
        assert unnamed == []


if __name__ == "__main__":
    main(conf=[*QUICK, f"Http.Listen=0.0.0.0:{PORT}"])
