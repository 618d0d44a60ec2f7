"use strict";

// Going through a queue with the keyboard: n is the next record, p the one before, u is up to the list.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const way = document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
  if (way) {
    event.preventDefault();
    way.click();
  }
});

// A list: each cell knows its column's name, which a phone shows beside it; a list that is cut says that it scrolls.
const list = document.getElementById("result_list");
if (list) {
  const names = [...list.tHead.rows[0].cells].map((cell) => cell.querySelector(".text").textContent.trim());
  for (const row of list.tBodies[0].rows) {
    [...row.cells].forEach((cell, at) => { cell.dataset.label = names[at]; });
  }
  list.classList.add("labelled");
  const frame = list.closest(".results");
  const look = () => {
    const wide = frame.scrollWidth > frame.clientWidth;
    frame.classList.toggle("wide", wide);
    frame.tabIndex = wide ? 0 : -1;
  };
  new ResizeObserver(look).observe(frame);
}
