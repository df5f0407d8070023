// The way in: the token comes in the fragment, which no server sees, or is typed. By one POST it becomes a cookie and a token for forms,
// which is kept where no other port of this machine gets it.
"use strict";

(() => {
  const form = document.querySelector(".gate form");

  async function enter(token) {
    const body = JSON.stringify({ token, keeps: true });
    const answer = await fetch("/session", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    if (!answer.ok) return document.getElementById("wrong")?.removeAttribute("hidden");
    localStorage.setItem("recalld-form-token", answer.headers.get("X-Form-Token"));
    location.assign(location.pathname + location.search);
  }

  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    enter(form.elements.token.value);
  });
  const found = /^#token=(.+)$/.exec(location.hash);
  if (!found) return;
  history.replaceState(null, "", location.pathname + location.search);
  enter(decodeURIComponent(found[1]));
})();
