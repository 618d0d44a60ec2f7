"use strict";

// Adds a copy button to each secret, command, and id, if the browser permits access to the clipboard.
for (const code of document.querySelectorAll(".secrets code, pre code, code.copied")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  (code.closest("pre") ?? code).after(" ", button); // the space separates a selected secret from the word
}
