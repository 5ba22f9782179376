// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads /v1/events for good: as lines of JSON, since those say what an EventSource keeps to itself: the status of a refusal, and the empty
// line that comes when nothing else has, by which a connection that is dead is known from one on which nothing happens.

import { eventsOf, KINDS } from "./copy.js";

const SILENT_MS = 35000; // an empty line comes every 15 s
const RETRY_MS = [250, 500, 1000, 2000, 5000];

// report({state, detail}): "live", "lost" (it is tried again), "login" (401), "refused" (403, and tried again); take(events) in their order.
export class Stream {
  constructor(copy, take, report) {
    Object.assign(this, { copy, take, report, failures: 0, stop: new AbortController() });
    this.#run();
  }

  // Now, not after a pause: somebody has logged in.
  retry() {
    this.failures = 0;
    this.wake?.();
    this.abort?.abort();
  }

  async #run() {
    for (;;) {
      let again = { state: "lost", detail: "the connection has ended" };
      try {
        again = await this.#once();
      } catch (error) {
        if (error.name !== "AbortError") again = { state: "lost", detail: "this host does not answer" };
      }
      this.report(again);
      const pause = again.state === "login" ? 60000 : RETRY_MS[Math.min(this.failures++, RETRY_MS.length - 1)];
      await new Promise((resolve) => {
        this.wake = resolve;
        setTimeout(resolve, pause);
      });
    }
  }

  async #once() {
    const abort = (this.abort = new AbortController());
    let timer;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(), SILENT_MS);
    };
    heard();
    try {
      if (this.copy.cursor === "0") await this.#readState(abort.signal);
      const query = `since=${encodeURIComponent(this.copy.cursor)}&${KINDS.map((kind) => `kind=${kind}`).join("&")}`;
      const answer = await fetch(`/v1/events?${query}`, {
        headers: { Accept: "application/x-ndjson" }, signal: abort.signal, cache: "no-store",
      });
      if (!answer.ok) return await this.#refused(answer);
      this.report({ state: "live" });
      return await this.#read(answer.body.getReader(), heard);
    } finally {
      clearTimeout(timer);
    }
  }

  // Everything first. There is no such document while nobody leads: then the stream begins with what is known.
  async #readState(signal) {
    const answer = await fetch("/v1/state", { signal, cache: "no-store" });
    if (answer.ok) this.take([...eventsOf(await answer.json())]);
    else await answer.body?.cancel();
  }

  async #refused(answer) {
    const problem = await answer.json().catch(() => ({}));
    const detail = problem.detail ?? problem.title ?? `the answer is ${answer.status}`;
    if (answer.status === 400 || answer.status === 410) this.copy.cursor = "0"; // a cursor of another cluster, or of another time
    return { state: answer.status === 401 ? "login" : answer.status === 403 ? "refused" : "lost", detail };
  }

  async #read(reader, heard) {
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return { state: "lost", detail: "the connection has ended" };
      heard();
      this.failures = 0;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop();
      const events = lines.filter((line) => line.trim()).map((line) => JSON.parse(line));
      const problem = events.find((event) => event.status);
      this.take(events.filter((event) => event.kind));
      if (problem) return { state: problem.status === 401 ? "login" : "lost", detail: problem.detail ?? problem.title };
      this.report({ state: "live" });
    }
  }
}
