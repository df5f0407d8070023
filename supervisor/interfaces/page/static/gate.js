// The way in: the token comes in the fragment, which no server sees, and becomes a cookie by one POST.
"use strict";

(async () => {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (!found) return;
  history.replaceState(null, "", location.pathname + location.search);
  const answer = await fetch("/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token: decodeURIComponent(found[1]) }),
  });
  if (answer.ok) location.reload();
  else document.getElementById("wrong").hidden = false;
})();
