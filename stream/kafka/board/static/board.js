// Puts the page in place again whenever it has changed, and says when the server does not answer.
"use strict";

(() => {
  const PATIENCE_MS = 20000;
  const AGAIN_MS = 2000;
  const MOST_SAID = 5;
  const view = document.getElementById("view");
  const link = document.getElementById("link");
  const news = document.getElementById("news");
  const state = document.getElementById("state");
  let shown = "";

  const firing = () => new Map([...view.querySelectorAll("[data-mark]")].map((one) => [one.dataset.mark, one]));

  function show(html) {
    const before = firing();
    const known = view.querySelector("[data-firing]") !== null;
    const open = [...view.querySelectorAll("details[open]")].map((one) => one.id);
    const focused = view.contains(document.activeElement) ? document.activeElement.id : "";
    const next = new DOMParser().parseFromString(html, "text/html").body; // runs no script in it
    view.replaceChildren(...next.childNodes);
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    if (known) announce([...firing()].filter(([mark]) => !before.has(mark)).map(([, one]) => one));
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
    const firings = view.querySelector("[data-firing]")?.dataset.firing ?? "0";
    document.title = firings === "0" ? "Tocsin board" : `(${firings}) Tocsin board`;
  }

  async function look() {
    try {
      const answer = await fetch(`view?shown=${shown}`, { signal: AbortSignal.timeout(PATIENCE_MS) });
      if (!answer.ok) throw new Error(answer.statusText);
      if (answer.status === 200) {
        const html = await answer.text();
        shown = answer.headers.get("Tocsin-View");
        show(html);
      }
      link.hidden = true;
    } catch {
      link.hidden = false;
    }
    setTimeout(look, AGAIN_MS);
  }

  title();
  look();
})();
