"use strict";
// Replaces the parts of the page that the server has written again; no part is drawn here.
const status = document.getElementById("status");
const dialog = document.getElementById("dialog");
const main = document.querySelector("main");
let source = null;

function connect() {
  source = new EventSource("live");
  source.onmessage = (event) => {
    for (const [id, html] of Object.entries(JSON.parse(event.data))) {
      const part = document.getElementById(id);
      if (part) part.innerHTML = html; // the server has escaped every name in it
    }
    show("live", `live, ${new Date().toLocaleTimeString("en-GB")}`);
  };
  source.onerror = () => show("gone", "not connected, trying again");
}

function show(kind, text) {
  status.className = kind;
  status.textContent = text;
}

// A page that cannot be seen costs the server nothing.
document.addEventListener("visibilitychange", () => {
  source.close();
  if (!document.hidden) connect();
});

for (const button of document.querySelectorAll("button[data-span]"))
  button.addEventListener("click", () => {
    main.dataset.span = button.dataset.span;
    for (const one of document.querySelectorAll("button[data-span]"))
      one.setAttribute("aria-pressed", String(one === button));
  });

main.addEventListener("click", async (event) => {
  const link = event.target.closest("a.explain");
  if (!link) return;
  event.preventDefault();
  const answer = await fetch(link.href, { headers: { Accept: "text/html" } });
  document.getElementById("explanation").innerHTML = await answer.text();
  dialog.showModal();
});

connect();
