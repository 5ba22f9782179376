// SPDX-License-Identifier: LGPL-2.1-or-later
// Questions to argosyd, beside the stream. What it refuses is an Error whose message is its own sentence.

export class Refusal extends Error {
  constructor(problem, status) {
    super(problem.detail ?? problem.title ?? `the answer is ${status}`);
    Object.assign(this, { status, problem });
  }
}

export async function ask(target, options = {}) {
  let answer;
  try {
    answer = await fetch(target, { cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal({ detail: "this host does not answer" }, 0);
  }
  const document = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refusal(document, answer.status);
  return document;
}

export function post(target, body, headers = {}) {
  return ask(target, { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) });
}

// Sent again under the same key it is done once.
export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Lines of JSON as they come, until the signal.
export async function follow(target, signal, take) {
  const answer = await fetch(target, { headers: { Accept: "application/x-ndjson" }, signal, cache: "no-store" });
  if (!answer.ok) throw new Refusal(await answer.json().catch(() => ({})), answer.status);
  const reader = answer.body.getReader(), decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop();
    take(lines.filter((line) => line.trim()).map((line) => JSON.parse(line)));
  }
}
