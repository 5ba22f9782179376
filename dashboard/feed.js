// SPDX-License-Identifier: LGPL-2.1-or-later
// What a page knows of the cluster: by the worker that all pages share or, in a browser without such workers, by a stream of its own.

import { Copy } from "./copy.js";
import { Stream } from "./stream.js";

const LOOK_MS = 4000; // without a word on the stream, until the host is asked whether it is there
const PATIENCE_MS = 3000;

// changed(events) after each change of `copy`, `status` or `heard`; events may be none.
export class Feed {
  constructor(changed) {
    this.copy = new Copy();
    this.status = { state: "lost", detail: "" };
    this.heard = 0; // when the stream was last heard, in milliseconds of this browser
    this.changed = changed;
    if (typeof SharedWorker === "function") this.#share();
    else this.#read();
  }

  #share() {
    const worker = new SharedWorker("/dashboard/worker.js", { type: "module", name: "argosy" });
    worker.port.onmessage = ({ data }) => {
      for (const event of data.events) this.copy.take(event);
      Object.assign(this, { status: data.status, heard: Math.max(this.heard, data.heard) });
      this.changed(data.events);
    };
    addEventListener("pagehide", (event) => event.persisted || worker.port.postMessage("leave"));
    this.retry = () => worker.port.postMessage("retry");
  }

  // A stream is silent while nothing happens, and when its host has lost its power. Whoever looks at the page is not to wait for the difference.
  async look() {
    if (this.looking || this.status.state !== "live" || Date.now() - this.heard < LOOK_MS) return;
    this.looking = true;
    try {
      const answer = await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
      if (!answer.ok) throw new Error(answer.status);
      this.heard = Date.now();
    } catch {
      this.status = { state: "lost", detail: "this host does not answer" };
      this.retry();
    }
    this.looking = false;
    this.changed([]);
  }

  #read() {
    const take = (events) => {
      for (const event of events) this.copy.take(event);
      this.changed(events);
    };
    const stream = new Stream(this.copy, take, (status) => {
      if (status.state === "live") this.heard = Date.now();
      this.status = status;
      this.changed([]);
    });
    this.retry = () => stream.retry();
  }
}
