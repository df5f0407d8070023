// The long-term memory as seed 000 knows it in a browser: a store with its functions, and the call behind the 🧠 button.
"use strict";

(() => {
  // a browser without scripts has the token in its pages, any other keeps it (gate.js)
  const formToken = () => document.querySelector('meta[name="form-token"]').content || localStorage.getItem("recalld-form-token");

  /** Return the JSON of an answer; an Error with its sentence and status where it is refused. */
  async function asked(method, address, body) {
    const headers = { Accept: "application/json", "X-Form-Token": formToken(), "Accept-Language": document.documentElement.lang };
    if (body) headers["Content-Type"] = "application/json";
    if (body && body.etag) headers["If-Match"] = body.etag;
    const sent = body && JSON.stringify(body.json);
    const answer = await fetch(address, { method, headers, body: sent });
    const found = await answer.json().catch(() => ({}));
    if (answer.ok) return { ...found, etag: answer.headers.get("ETag") };
    throw Object.assign(new Error(found.detail || found.title || document.body.dataset.failed), { status: answer.status, found });
  }

  const memoryAPI = {
    getLongTerm: () => asked("GET", "/api/memory/long-term"),
    putLongTerm: (content, etag) => asked("PUT", "/api/memory/long-term", { json: { content }, etag }),
  };

  const chatAPI = {
    /** Keep what is new in a session as one line: { success, summary, message }. */
    summarizeSessionToMemory: (sessionId) =>
      asked("POST", `/api/chat/sessions/${encodeURIComponent(sessionId)}/summarize`),
  };

  const store = {
    content: "",
    etag: null,

    /** Load the file; return its text. */
    async loadLongTermMemory() {
      const found = await memoryAPI.getLongTerm();
      store.content = found.content;
      store.etag = found.etag;
      return store.content;
    },

    /** Save the whole file; an Error of status 412 where it is no longer the one that was loaded. */
    async saveLongTermMemory(content) {
      const found = await memoryAPI.putLongTerm(content, store.etag);
      store.content = content;
      store.etag = found.etag;
      return found;
    },

    /** Return the lines that have one of the words: [{ line, content, type, date }]. No server is asked. */
    searchMemory(query) {
      const words = query.toLowerCase().split(/\s+/).filter(Boolean);
      if (!words.length) return [];
      return store.content
        .split(/\r\n|\r|\n/)
        .map((content, number) => ({ line: number + 1, content, type: "long-term", date: /^\d{4}-\d{2}-\d{2}(?=\|)/.exec(content)?.[0] ?? "" }))
        .filter((one) => one.content.trim() && words.some((word) => one.content.toLowerCase().includes(word)));
    },
  };

  // capture: before anything else reads the form
  addEventListener("submit", (event) => event.target.elements.form_token && (event.target.elements.form_token.value = formToken()), true);

  window.useMemoryStore = () => store;
  window.chatAPI = chatAPI;
})();
