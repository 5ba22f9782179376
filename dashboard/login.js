// SPDX-License-Identifier: LGPL-2.1-or-later
// Over TCP nobody knows who has connected: a token says it, once, and stays nowhere in this page.

import { post } from "./ask.js";
import { h } from "./dom.js";

// A button for those who have: on a local socket, and behind `argosyctl dashboard`, there are no sessions.
export const logout = (went) => location.protocol !== "https:" ? null : h("button", {
  type: "button", id: "logout",
  on: { click: async () => {
    await fetch("/v1/logout", { method: "POST", cache: "no-store" }).catch(() => {});
    went();
  } },
}, "Log out");

export function show(root, went) {
  const token = h("input", { type: "password", id: "token", autocomplete: "current-password", required: true, spellcheck: "false" });
  const said = h("p", { class: "said", role: "alert" });
  const send = async (event) => {
    event.preventDefault();
    said.textContent = "";
    try {
      const shown = token.value.trim();
      token.value = "";
      await post("/v1/login", { token: shown });
      went();
    } catch (error) {
      said.textContent = location.protocol === "https:" ? error.message : `${error.message} (a browser logs in over https alone)`;
      token.focus();
    }
  };
  root.append(h("form", { class: "login", on: { submit: send } }, h("h1", {}, "Log in"),
    h("p", {}, h("code", {}, "argosyctl token create"), " makes a token, and says what it is good for."),
    h("label", { for: "token" }, "Token"), token, said, h("p", { class: "buttons" }, h("button", { type: "submit", class: "go" }, "Log in"))));
  token.focus();
  return { update() {} };
}
