// Keeps the page fresh: when the watch knows more, the content is fetched again at the same address and put in place.
// Everything works without it, but for the copying of commands.
"use strict";

const live = document.getElementById("live");
let waiting = false;
let typing = 0;

function replaceMain(html) {
  const next = new DOMParser().parseFromString(html, "text/html");
  const main = document.getElementById("main");
  const fresh = next.getElementById("main");
  if (!fresh) return;
  document.querySelector("footer").replaceWith(next.querySelector("footer"));
  if (fresh.innerHTML === main.innerHTML) return;
  const focused = document.activeElement;
  const field = focused && main.contains(focused) ? { name: focused.name, tag: focused.tagName, form: formNumber(focused) } : null;
  const caret = field && focused.tagName === "INPUT" ? focused.selectionStart : null;
  const typed = field && focused.tagName === "INPUT" ? focused.value : null;
  const scrolled = [...main.querySelectorAll(".wide")].map((each) => each.scrollLeft);
  main.replaceChildren(...fresh.childNodes);
  [...main.querySelectorAll(".wide")].forEach((each, number) => { each.scrollLeft = scrolled[number] || 0; });
  if (field && field.form >= 0 && field.name) {
    const again = document.querySelectorAll("main form")[field.form]?.elements[field.name];
    if (again) {
      if (typed !== null) again.value = typed;
      again.focus({ preventScroll: true });
      if (caret !== null) again.setSelectionRange(caret, caret);
    }
  }
}

function formNumber(element) {
  return [...document.querySelectorAll("main form")].indexOf(element.form);
}

async function refresh() {
  if (waiting) return;
  waiting = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.ok) replaceMain(await answer.text());
    live.textContent = answer.ok ? "" : "The page could not be fetched again.";
  } catch {
    live.textContent = "The watch does not answer: what is shown may be old.";
  } finally {
    waiting = false;
  }
}

const updates = document.body.dataset.updates;
if (updates) {
  const source = new EventSource(updates);
  source.addEventListener("findings", () => { if (Date.now() - typing > 600) refresh(); });
  source.onerror = () => { live.textContent = "The watch does not answer: what is shown may be old."; };
  source.onopen = () => { live.textContent = ""; };
}

function show(form) {
  const address = new URL(form.action);
  address.search = new URLSearchParams(new FormData(form)).toString();
  history.replaceState(null, "", address);
  refresh();
}

let later;
document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form || form.dataset.live === undefined) return;
  typing = Date.now();
  clearTimeout(later);
  later = setTimeout(() => show(form), 250);
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    live.textContent = "Copied.";
  } catch {
    const range = document.createRange();
    range.selectNodeContents(button.parentElement.querySelector("code"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    live.textContent = "Selected: copy it with the keyboard.";
  }
});
