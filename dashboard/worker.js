// SPDX-License-Identifier: LGPL-2.1-or-later
// One stream of events for all pages of a browser: a SharedWorker, which lives as long as any of them.

import { Copy } from "./copy.js";
import { Stream } from "./stream.js";

const TOGETHER_MS = 200; // what comes meanwhile is told together: a page has better things to do than to draw

const copy = new Copy();
const ports = new Set();
let gathered = [], timer = null, status = { state: "lost", detail: "" }, heard = 0;

function tell(message) {
  for (const port of ports) port.postMessage(message);
}

function flush() {
  timer = null;
  const events = gathered;
  gathered = [];
  tell({ events, status, heard });
}

function soon() {
  timer ??= setTimeout(flush, TOGETHER_MS);
}

function take(events) {
  const told = copy.complete;
  for (const event of events) {
    copy.take(event);
    gathered.push(event);
  }
  if (copy.complete && !told) clearTimeout(timer), flush(); // somebody waits for that
  else if (copy.complete) soon();
}

function report(next) {
  if (next.state === "live") heard = Date.now();
  status = next;
  soon();
}

const stream = new Stream(copy, take, report);

self.onconnect = (connected) => {
  const [port] = connected.ports;
  port.onmessage = ({ data }) => {
    if (data === "retry") stream.retry();
    if (data === "leave") ports.delete(port);
  };
  if (gathered.length > 0) { // of these the copy knows already
    clearTimeout(timer);
    flush();
  }
  ports.add(port);
  port.postMessage({ events: [...copy.told()], status, heard });
};
