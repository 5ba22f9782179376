// SPDX-License-Identifier: LGPL-2.1-or-later
// What a page knows of the cluster: by the worker that all pages share or, in a browser without such workers, by a stream of its own.

import { Copy } from "./copy.js";
import { Stream } from "./stream.js";

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
      Object.assign(this, { status: data.status, heard: data.heard });
      this.changed(data.events);
    };
    addEventListener("pagehide", (event) => event.persisted || worker.port.postMessage("leave"));
    this.retry = () => worker.port.postMessage("retry");
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
