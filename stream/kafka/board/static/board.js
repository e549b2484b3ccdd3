// Puts the page in place again whenever the server sends it, and says when it does not.
"use strict";

(() => {
  const SILENT_MS = 45000; // three of the server's beats
  const AGAIN_MS = 3000;
  const MOST_SAID = 5;
  const view = document.getElementById("view");
  const link = document.getElementById("link");
  const news = document.getElementById("news");
  const state = document.getElementById("state");
  let source = null;
  let heardAt = Date.now();

  const rings = () => new Map([...view.querySelectorAll("[data-mark]")].map((one) => [one.dataset.mark, one]));

  function show(html) {
    const before = rings();
    const known = view.querySelector("[data-rings]") !== null;
    const open = [...view.querySelectorAll("details[open]")].map((one) => one.id);
    const focused = view.contains(document.activeElement) ? document.activeElement.id : "";
    const next = new DOMParser().parseFromString(html, "text/html").body; // runs no script in it
    view.replaceChildren(...next.childNodes);
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    if (known) announce([...rings()].filter(([mark]) => !before.has(mark)).map(([, one]) => one));
    const warnings = [...view.querySelectorAll(".fresh .warn")].map((one) => one.textContent).join(" ");
    if (state.textContent !== warnings) state.textContent = warnings;
    title();
  }

  function announce(fresh) {
    for (const one of fresh) one.classList.add("fresh");
    if (fresh.length === 0) return;
    const said = fresh.slice(0, MOST_SAID).map((one) => one.textContent.replace(/\s+/g, " ").trim());
    const more = fresh.length - said.length;
    news.textContent = `Firing: ${said.join("; ")}${more > 0 ? `; and ${more} more` : ""}.`;
  }

  function title() {
    const ringing = view.querySelector("[data-rings]")?.dataset.rings ?? "0";
    document.title = ringing === "0" ? "Tocsin board" : `(${ringing}) Tocsin board`;
  }

  function heard() {
    heardAt = Date.now();
    link.hidden = true;
  }

  function connect() {
    source?.close();
    source = new EventSource("events");
    source.addEventListener("open", heard);
    source.addEventListener("beat", heard);
    source.addEventListener("view", (event) => {
      heard();
      show(JSON.parse(event.data));
    });
    source.addEventListener("error", () => {
      link.hidden = false;
    });
  }

  setInterval(() => {
    const closed = source.readyState === EventSource.CLOSED; // an answer other than 200: it gave up
    if (!closed && Date.now() - heardAt < SILENT_MS) return;
    link.hidden = false;
    heardAt = Date.now();
    connect();
  }, AGAIN_MS);
  title();
  connect();
})();
