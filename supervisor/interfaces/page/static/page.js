// What makes the pages live: the stream of changes, the 🧠 button, the editor, the local search, copying. Without it all is there, too.
"use strict";

(() => {
  const say = document.body.dataset;
  const $ = (id) => document.getElementById(id);
  document.documentElement.classList.add("scripted");

  // ── toasts ────────────────────────────────────────────────────────────────
  function toast(text, isBad = false) {
    const made = document.createElement("p");
    made.className = isBad ? "toast bad" : "toast";
    made.textContent = text;
    $("toasts").append(made);
    setTimeout(() => made.remove(), 8000);
  }

  // ── live ──────────────────────────────────────────────────────────────────
  function state(name) {
    const live = $("live");
    if (live.dataset.state === name) return;
    const was = live.dataset.state;
    live.dataset.state = name;
    live.firstElementChild.textContent = say[name];
    if (name === "on" && was === "gone") document.body.dispatchEvent(new CustomEvent("recalld:event"));
  }

  const stream = new EventSource("/events");
  stream.addEventListener("open", () => state("on"));
  stream.addEventListener("error", async () => {
    const isRefused = stream.readyState === EventSource.CLOSED;
    const answer = isRefused && (await fetch(location.href, { method: "HEAD" }).catch(() => null));
    state(answer?.status === 401 ? "ended" : "gone");
  });
  stream.addEventListener("change", (event) => {
    const change = JSON.parse(event.data);
    document.body.dispatchEvent(new CustomEvent(`recalld:${change.kind}`, { detail: change }));
  });
  addEventListener("pagehide", () => stream.close());

  // a region that is fetched again keeps the focus and what is unfolded; one in which something is being done waits for the next change
  const places = (region) => [...region.querySelectorAll("a, button, summary, [tabindex]")];
  const kept = new Map();
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const region = event.detail.target;
    if (!/^recalld:/.test(event.detail.requestConfig?.triggeringEvent?.type ?? "")) return;
    if (region.querySelector(".spinning") || $("confirm")?.open) event.detail.shouldSwap = false;
    const unfolded = [...region.querySelectorAll("details")].map((one) => one.open);
    kept.set(region.id, { focus: places(region).indexOf(document.activeElement), unfolded });
  });
  document.body.addEventListener("htmx:afterSwap", () => {
    for (const [id, { focus, unfolded }] of kept) {
      const region = $(id);
      region?.querySelectorAll("details").forEach((one, number) => (one.open = unfolded[number] ?? one.open));
      if (region && focus >= 0) places(region)[focus]?.focus({ preventScroll: true });
    }
    kept.clear();
  });

  // ── copying a command ─────────────────────────────────────────────────────
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      toast(say.copied);
    } catch {
      toast(button.dataset.copy);
    }
  });

  // ── sessions: 🧠 ──────────────────────────────────────────────────────────
  let summarizingSessionId = null;

  function confirmed(session) {
    const dialog = $("confirm");
    const name = $("confirm-session");
    name.textContent = session || name.dataset.none;
    dialog.returnValue = "no";
    dialog.showModal();
    return new Promise((resolve) => {
      dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
    });
  }

  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("[data-summarize]");
    if (!form) return;
    event.preventDefault();
    if (summarizingSessionId !== null || $("confirm").open) return;
    const session = form.dataset.summarize;
    const button = form.querySelector("button");
    if (!(await confirmed(session)) || summarizingSessionId !== null) return;
    summarizingSessionId = session;
    button.setAttribute("aria-disabled", "true");
    button.setAttribute("aria-busy", "true");
    const glyph = button.querySelector(".glyph");
    glyph.classList.add("spinning");
    try {
      const answer = await window.chatAPI.summarizeSessionToMemory(session);
      // the sentence of 000 is Chinese
      const isChinese = document.documentElement.lang.startsWith("zh");
      if (!answer.summary) toast(say.nothingNew);
      else toast(isChinese ? answer.message : `${say.kept} ${answer.summary}`);
    } catch (error) {
      toast(error.message || say.failed, true);
    } finally {
      glyph.classList.remove("spinning");
      button.removeAttribute("aria-disabled");
      button.removeAttribute("aria-busy");
      summarizingSessionId = null;
      button.focus();
    }
  });

  // ── long-term: search and editor ──────────────────────────────────────────
  const local = $("local");
  if (local) {
    const store = window.useMemoryStore();
    let loaded = null;
    document.body.addEventListener("recalld:long-term", () => (loaded = null));
    local.addEventListener("input", async () => {
      loaded ??= store.loadLongTermMemory();
      await loaded.catch((error) => toast(error.message, true));
      const found = store.searchMemory(local.value);
      const list = $("local-hits");
      list.replaceChildren(...found.slice(-200).reverse().map(entry));
      list.hidden = !found.length;
      $("local-count").textContent = local.value.trim() ? say.matches.replace("{count}", found.length) : "";
    });
  }

  function entry(one) {
    const made = document.createElement("li");
    made.className = "entry";
    const [, date = "", source = "", content = one.content] = /^(\d{4}-\d{2}-\d{2})\|([^|]*)\|([^]*)$/.exec(one.content) ?? [];
    for (const [name, text] of [["no", one.line], ["when", date], ["words", content.slice(0, 4000)], ["chip", source]]) {
      if (name === "chip" && !text) continue;
      const part = document.createElement("span");
      part.className = name;
      if (name === "words") part.dir = "auto";
      part.textContent = text;
      made.append(part);
    }
    return made;
  }

  const editor = document.querySelector("[data-memory-editor]");
  if (editor) {
    const store = window.useMemoryStore();
    const mine = $("content");
    const etag = editor.elements.etag;
    let known = mine.value;
    let isSaving = false;

    /** Show what is in the file beside what is being written. */
    function showBoth(text, newEtag) {
      $("changed").hidden = false;
      $("other").hidden = false;
      $("sides").className = "both";
      $("take-theirs").hidden = false;
      $("theirs").value = text;
      $("save").textContent = $("save").dataset.mine;
      etag.value = newEtag.replaceAll('"', "");
      known = text;
    }

    async function look() {
      if (isSaving) return;
      const text = await store.loadLongTermMemory();
      if (text !== known && text !== mine.value) {
        showBoth(text, store.etag);
        toast(say.changed);
      } else if (text !== known) {
        known = text;
        etag.value = store.etag.replaceAll('"', "");
      }
    }

    if (!$("other").hidden) {
      known = $("theirs").value;
      $("take-theirs").hidden = false;
    }
    document.body.addEventListener("recalld:long-term", () => look().catch(() => {}));
    $("take-theirs").addEventListener("click", () => {
      mine.value = $("theirs").value;
      mine.focus();
    });
    editor.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (isSaving) return;
      isSaving = true;
      $("save").setAttribute("aria-disabled", "true");
      try {
        store.etag = `"${etag.value}"`;
        await store.saveLongTermMemory(mine.value);
        location.assign("/long-term?saved=1");
      } catch (error) {
        isSaving = false;
        $("save").removeAttribute("aria-disabled");
        if (error.status === 412) {
          await look();
          toast(error.message, true);
        } else toast(error.message || say.failed, true);
      }
    });
  }

  // ── a line of a summary points at its words ───────────────────────────────
  for (const kind of ["mouseover", "focusin"]) {
    document.addEventListener(kind, (event) => {
      const line = event.target.closest?.("[data-sources]");
      document.querySelectorAll(".talk .hint").forEach((one) => one.classList.remove("hint"));
      for (const number of line?.dataset.sources.split(" ") ?? []) $(`m${number}`)?.classList.add("hint");
    });
  }

  // ── the calendar by arrow keys: one stop of the Tab key in place of hundreds ──────────────────────────────────────
  function calendar() {
    const days = [...document.querySelectorAll("[data-calendar] .cal a")];
    days.forEach((day, number) => (day.tabIndex = number ? -1 : 0));
  }
  calendar();
  document.body.addEventListener("htmx:afterSettle", calendar);
  document.addEventListener("keydown", (event) => {
    const day = event.target.closest?.("[data-calendar] .cal a");
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 7, ArrowUp: -7 }[event.key];
    if (!day || !step) return;
    // a week up or down is a row; days on which nothing was said are passed by
    const days = [...document.querySelectorAll("[data-calendar] .cal a")].sort((a, b) => (a.href < b.href ? -1 : 1));
    const at = (one) => Date.parse(one.pathname.slice(-10)) / 86_400_000;
    const wanted = at(day) + step;
    const next = step > 0 ? (days.find((one) => at(one) >= wanted) ?? days.at(-1)) : (days.findLast((one) => at(one) <= wanted) ?? days[0]);
    days.forEach((one) => (one.tabIndex = -1));
    next.tabIndex = 0;
    next.focus();
    event.preventDefault();
  });
})();
