"use strict";
// The pages are complete without this script. It adds a copy button, remembers the language of the samples, opens the
// target of a link, and redirects links of the former page.

const LANGUAGE = "reference-language";
const samples = document.querySelectorAll("details[data-language]");

function stored() {
  try {
    return window.localStorage.getItem(LANGUAGE);
  } catch {
    return null; // the browser stores nothing
  }
}

function open(language) {
  for (const sample of samples) if (sample.dataset.language === language) sample.open = true;
}

for (const sample of samples)
  sample.querySelector("summary").addEventListener("click", () => {
    if (sample.open) return;
    const top = sample.getBoundingClientRect().top;
    try {
      window.localStorage.setItem(LANGUAGE, sample.dataset.language);
    } catch {
      // the choice lasts for this page
    }
    window.requestAnimationFrame(() => {
      open(sample.dataset.language);
      window.scrollBy(0, sample.getBoundingClientRect().top - top);
    });
  });
if (stored()) open(stored());

for (const block of navigator.clipboard ? document.querySelectorAll(".samples pre") : []) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  block.before(button);
}

// Some browsers do not open a closed <details> element that contains the target of a link.
function openTarget() {
  const target = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
  const entry = target && target.closest("details.entry");
  if (!entry || entry.open) return;
  entry.open = true;
  target.scrollIntoView();
}
window.addEventListener("hashchange", openTarget);
openTarget();

const former = window.location.hash.match(/operation\/([\w.-]+)$/);
const link = former && document.querySelector(`.calls a[href$="#${former[1]}"]`);
if (link) window.location.replace(link.href);
