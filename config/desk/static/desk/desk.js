// Going through a queue with the keyboard: n is the next record, p the one before, u is up to the list.
"use strict";
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const way = document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
  if (way) {
    event.preventDefault();
    way.click();
  }
});
