"use strict";

// Adds a print button. Without this script, the page refers to the browser's own print function.
for (const button of document.querySelectorAll("button.print")) {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
}
