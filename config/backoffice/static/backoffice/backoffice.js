"use strict";

// Keys: n opens the next record, p the previous record, and u the list.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const link = document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
  if (link) {
    event.preventDefault();
    link.click();
  }
  if (event.key === "?") showKeys();
  const search = document.getElementById("console-search");
  if (event.key === "/" && search) {
    event.preventDefault();
    search.focus();
  }
});

// Display a dialog with the keys of this page.
function showKeys() {
  const dialog = document.createElement("dialog");
  dialog.className = "help-keys";
  dialog.setAttribute("aria-labelledby", "keys-heading");
  const list = document.createElement("dl");
  list.className = "keys";
  const links = [...document.querySelectorAll("a[data-key]")].map((link) => [link.dataset.key, link.textContent.trim()]);
  for (const [key, meaning] of [...links, ["/", "Search"], ["?", "These keys"], ["Esc", "Close"]]) {
    list.append(Object.assign(document.createElement("dt"), { textContent: key }));
    list.append(Object.assign(document.createElement("dd"), { textContent: meaning }));
  }
  const close = Object.assign(document.createElement("button"), { textContent: "Close", className: "button small" });
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  const heading = Object.assign(document.createElement("h2"), { textContent: "Keys of this page", id: "keys-heading" });
  dialog.append(heading, list, close);
  document.body.append(dialog);
  dialog.showModal();
}

// On a phone, move all buttons except the first into the menu.
const more = document.querySelector(".case-bar .more");
if (more) {
  const panel = more.querySelector(".buttons");
  const others = [...more.parentElement.children].slice(1).filter((item) => item !== more);
  const isEmpty = more.hidden;
  const phone = matchMedia("(max-width: 40rem)");
  const place = () => {
    if (phone.matches) panel.prepend(...others);
    else more.before(...others);
    more.hidden = isEmpty && !(phone.matches && others.length);
  };
  phone.addEventListener("change", place);
  place();
}

// Only one menu is open at a time, and Escape closes it.
const menus = [...document.querySelectorAll("details.menu")];
for (const menu of menus) {
  menu.addEventListener("toggle", () => {
    if (!menu.open) return;
    for (const other of menus) if (other !== menu) other.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}

// On a phone, each cell displays its column's name. A list that is too wide displays that it scrolls.
const list = document.getElementById("result_list");
if (list) {
  const names = [...list.tHead.rows[0].cells].map((cell) => cell.querySelector(".text").textContent.trim());
  for (const row of list.tBodies[0].rows) {
    [...row.cells].forEach((cell, at) => {
      cell.dataset.label = names[at];
      if (["", "—", "-"].includes(cell.textContent.trim()) && !cell.firstElementChild) cell.classList.add("nothing");
    });
  }
  list.classList.add("labelled");
  const frame = list.closest(".results");
  const look = () => {
    const wide = frame.scrollWidth > frame.clientWidth;
    frame.classList.toggle("wide", wide);
    frame.tabIndex = wide ? 0 : -1;
  };
  const resized = new ResizeObserver(look);
  resized.observe(frame);
  resized.observe(list);  // a wider column may leave the frame unchanged
}
