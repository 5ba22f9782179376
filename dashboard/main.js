// SPDX-License-Identifier: LGPL-2.1-or-later
// The members of the cluster, once. What others have named goes into the page as text and as nothing else.

const said = document.getElementById("said");

function show(hosts) {
  said.textContent = `${hosts.length} hosts`;
  document.getElementById("hosts").replaceChildren(...hosts.map((host) => {
    const item = document.createElement("li");
    item.textContent = `${host.host}: ${host.state}, ${host.role}`;
    return item;
  }));
}

try {
  const answer = await fetch("/v1/hosts");
  const document_ = await answer.json();
  if (answer.ok) show(document_.hosts);
  else said.textContent = document_.detail ?? document_.title;
} catch (error) {
  said.textContent = `This host does not answer: ${error.message}`;
}
