"use strict";
// A button on each block of code that copies it. Without this script, or where a browser gives the page no clipboard
// (plain HTTP), the pages lack nothing else.

const SHOWN_MS = 2000;

function buttonFor(block) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(block.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => {
      button.textContent = "Copy";
    }, SHOWN_MS);
  });
  return button;
}

if (navigator.clipboard) {
  for (const block of document.querySelectorAll("article pre")) {
    const frame = document.createElement("div");
    frame.className = "block";
    block.replaceWith(frame);
    frame.append(block, buttonFor(block));
  }
}
